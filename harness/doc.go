// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package harness defines the vocabulary of the toolkit: the client under test
// ([Subject]), what it is given ([Env]), what the mock servers saw ([Exchange],
// [ToolExchange]), what the client reports ([Transcript]), and how a trial can
// end ([Outcome]). Package trials has the findings of the checks.
//
// It imports nothing but the standard library and the error object of
// internal/jsonrpc, and does no I/O.
//
// The smallest subject is a function:
//
//	subject := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
//		return myclient.New(env.Endpoint.BaseURL, env.Servers), nil
//	})
//
// Terms: a scenario is one YAML file; a turn is one user message with what is
// expected of its answer; a reply is one scripted answer of the mock model,
// one per model call; a trial is one run of one scenario by one subject with
// one model. The journal is what the mocks saw, the transcript what the
// subject reports; the trajectory is the list of tool calls in the model's
// order, joined from both sides of the journal.
package harness
