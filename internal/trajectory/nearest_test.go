// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
)

// TestWhichExecution has clients that change arguments, run calls in another
// order, or run them while the clock stands still: each call still gets the
// execution that it led to.
func TestWhichExecution(t *testing.T) {
	tests := []struct {
		name  string
		calls []string // of one reply at second 1
		execs []harness.ToolExchange
		want  []string
	}{
		{
			"calls that are all equally far go in order",
			[]string{`a {"x":1}`, `a {"x":2}`},
			[]harness.ToolExchange{exec(1, 2, "a", `{"x":8}`, `"first"`), exec(2, 3, "a", `{"x":9}`, `"second"`)},
			[]string{`1.1.0 s.a {"x":1} -> "first" #1`, `1.1.1 s.a {"x":2} -> "second" #2`},
		},
		{
			"the sum of the differences counts, not that of the first call",
			[]string{`a {"x":1,"y":1}`, `a {"x":1,"y":1,"z":1}`},
			[]harness.ToolExchange{exec(1, 2, "a", `{"x":1,"y":1,"z":2}`, `"three"`), exec(2, 3, "a", `{"x":1,"w":1}`, `"two"`)},
			[]string{`1.1.0 s.a {"x":1,"y":1} -> "two" #2`, `1.1.1 s.a {"x":1,"y":1,"z":1} -> "three" #1`},
		},
		{
			"an argument left out is a difference",
			[]string{`a {"x":1,"y":1}`},
			[]harness.ToolExchange{exec(1, 2, "a", `{"x":1}`, `"less"`), exec(2, 3, "a", `{"x":1,"y":1,"z":1}`, `"more"`)},
			[]string{`1.1.0 s.a {"x":1,"y":1} -> "more" #2`},
		},
		{
			"arguments that cannot be read are nearest to none",
			[]string{`a {"x":`},
			[]harness.ToolExchange{exec(1, 2, "a", `{"x":1}`, `1`), exec(2, 3, "a", `{}`, `2`)},
			[]string{`1.1.0 s.a text:{"x": -> 2 #2`},
		},
		{
			"a journal in another order than time",
			[]string{`a {}`, `a {}`},
			[]harness.ToolExchange{exec(2, 3, "a", `{}`, `"later"`), exec(1, 2, "a", `{}`, `"earlier"`)},
			[]string{`1.1.0 s.a {} -> "earlier" #1`, `1.1.1 s.a {} -> "later" #2`},
		},
		{
			"a clock that stands still leaves the numbers of the journal",
			[]string{`a {}`, `a {}`},
			[]harness.ToolExchange{exec(2, 2, "a", `{}`, `"later"`), exec(1, 2, "a", `{}`, `"earlier"`)},
			[]string{`1.1.0 s.a {} -> "earlier" #1`, `1.1.1 s.a {} -> "later" #2`},
		},
		{
			"an execution without a result had null",
			[]string{`a {}`},
			[]harness.ToolExchange{{Seq: 1, Server: "s", Tool: "a", Start: at(2)}},
			[]string{`1.1.0 s.a {} -> null #1`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := show(trajectory.Join([]harness.Exchange{reply(1, 1, 1, tt.calls...)}, tt.execs, onServer))
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("trajectory (-want +got):\n%s", d)
			}
			// What a call led to was asked for, whatever the client changed.
			for _, c := range trajectory.Whole([]harness.Exchange{reply(1, 1, 1, tt.calls...)}, tt.execs[:1], onServer, func(harness.ToolExchange) int { return 1 }) {
				if c.Unasked {
					t.Errorf("execution %d is said to be unasked for", c.Exec)
				}
			}
		})
	}
}

// TestFillWithoutServer: a call of a script whose server is not known is the
// one of that tool, by its own name or by the one that was offered.
func TestFillWithoutServer(t *testing.T) {
	for name, call := range map[string]harness.Call{
		"by the tool's name":    {Tool: "a", Offered: "weather_a"},
		"by the name offered":   {Tool: "weather_a", Offered: "a"},
		"with the server known": {Server: "s", Tool: "a", Offered: "weather_a"},
	} {
		call.Args = json.RawMessage(`{}`)
		if got := trajectory.Fill([]harness.Call{call}, nil, []harness.ToolExchange{exec(1, 1, "a", `{}`, `1`)}); !got[0].Executed {
			t.Errorf("%s: it was not found", name)
		}
	}
	call := harness.Call{Tool: "b", Offered: "c", Args: json.RawMessage(`{}`)}
	if got := trajectory.Fill([]harness.Call{call}, nil, []harness.ToolExchange{exec(1, 1, "a", `{}`, `1`)}); got[0].Executed {
		t.Error("the execution of another tool was taken for it")
	}
}

// TestWholeBeforeTheCalls has an execution that came before any call.
func TestWholeBeforeTheCalls(t *testing.T) {
	executions := []harness.ToolExchange{exec(1, 1, "wipe", `{}`, `1`), exec(2, 5, "a", `{}`, `2`)}
	calls := trajectory.Whole([]harness.Exchange{reply(2, 1, 4, `a {}`)}, executions, onServer, func(x harness.ToolExchange) int { return x.Seq })
	want := []string{"1.0.0 s.wipe {} -> 1 #1", "2.1.0 s.a {} -> 2 #2"}
	if d := cmp.Diff(want, show(calls)); d != "" {
		t.Errorf("trajectory (-want +got):\n%s", d)
	}
	// Without the model's side both are there, in order of arrival.
	slices.Reverse(executions)
	want = []string{"1.1.0 s.wipe {} -> 1 #1", "1.2.0 s.a {} -> 2 #2"}
	if d := cmp.Diff(want, show(trajectory.Whole(nil, executions, onServer, nil))); d != "" {
		t.Errorf("without the model's side (-want +got):\n%s", d)
	}
}

// TestFillAsJoined: a script sees the executions of equal calls as expectations do,
// whatever the client has given as their results, each execution once.
func TestFillAsJoined(t *testing.T) {
	issued := func(reply, index int, given string) harness.Call { // as the client answered it
		return harness.Call{Server: "s", Tool: "a", Turn: 1, Reply: reply, Index: index, Args: json.RawMessage(`{}`), Executed: true, Failed: given == "", Result: json.RawMessage(given)}
	}
	exchanges := []harness.Exchange{reply(1, 1, 1, `a {}`, `a {}`, `a {}`), reply(1, 2, 9, `a {}`)}
	executions := []harness.ToolExchange{exec(1, 2, "a", `{}`, `1`), exec(2, 3, "a", `{}`, `2`), exec(3, 4, "a", `{}`, `3`), exec(4, 10, "a", `{}`, `4`)}
	for name, tt := range map[string]struct {
		executions []harness.ToolExchange
		want       []string
	}{
		"executed in another order":       {executions, []string{`1.1.0 s.a {} -> 1 #1`, `1.1.1 s.a {} -> 2 #2`, `1.1.2 s.a {} -> 3 #3`, `1.2.0 s.a {} -> 4 #4`}},
		"one of the first reply left out": {slices.Concat(executions[:2], executions[3:]), []string{`1.1.0 s.a {} -> 1 #1`, `1.1.1 s.a {} -> 2 #2`, `1.1.2 s.a {} -> "given" #0`, `1.2.0 s.a {} -> 4 #4`}},
	} {
		got := show(trajectory.Fill([]harness.Call{issued(1, 0, `3`), issued(1, 1, `2`), issued(1, 2, `"given"`), issued(2, 0, `4`)}, exchanges, tt.executions))
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		joined := show(trajectory.Join(exchanges, tt.executions, onServer))
		for i := range joined {
			if tt.want[i] != joined[i] && !strings.Contains(tt.want[i], "given") {
				t.Errorf("%s: Join has %q, Fill %q", name, joined[i], tt.want[i])
			}
		}
	}
}
