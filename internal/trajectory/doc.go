// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package trajectory joins the two sides of the journal into one list: the tool
// calls in the order in which the model made them, each with its outcome.
//
//	calls := trajectory.Join(exchanges, executions, func(offered string) (string, string, bool) {
//		return "gemflux", offered, true
//	})
//
// MCP carries no call id, so nothing on the wire says which execution belongs
// to which call of the model. They are joined by an optimal assignment:
//
//  1. calls and executions of one tool with equal arguments, in order, among
//     the executions that started between the request that the calls answer
//     and the next one;
//  2. what is left of one reply, by how many arguments differ;
//  3. what is left over, with equal arguments, whenever it was executed.
//
// A second execution that equals one already joined is a repetition of it
// ([harness.Call.Retried]). An execution that no call asked for belongs to no
// entry of [Join]; [Whole] makes it one of its own, and the conduct checks
// report it. Where the model has no journal the
// executions themselves are the trajectory, in order of arrival.
package trajectory
