// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
)

// Whole returns the trajectory as [Join] does, with the executions that no call
// of it asked for ([harness.Call.Unasked]). turn tells the turn in which
// something was executed.
func Whole(exchanges []harness.Exchange, executions []harness.ToolExchange, of func(offered string) (server, tool string, ok bool), turn func(harness.ToolExchange) int) []harness.Call {
	if len(exchanges) == 0 {
		return arrivals(executions) // nobody can say what was asked for
	}
	calls, replies, left := asked(exchanges, executions, of)
	for _, x := range left {
		c := harness.Call{Args: arguments(x.Args), Turn: turn(x), Unasked: true}
		execute(&c, x)
		for _, r := range replies {
			if r.Lane == "" && r.Turn == c.Turn && !x.Start.Before(r.Start) {
				c.Reply = max(c.Reply, r.Reply)
			}
		}
		at := slices.IndexFunc(calls, func(other harness.Call) bool {
			return other.Lane == "" && cmp.Or(cmp.Compare(other.Turn, c.Turn), cmp.Compare(other.Reply, c.Reply)) > 0
		})
		if at < 0 {
			at = len(calls)
		}
		calls = slices.Insert(calls, at, c)
	}
	return calls
}
