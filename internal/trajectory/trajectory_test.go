// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }

// reply is a whole answer whose request came at a second; calls are written
// "name {args}".
func reply(turn, n, second int, calls ...string) harness.Exchange {
	x := harness.Exchange{
		Seq: second, Kind: harness.KindReply, Turn: turn, Reply: n, Attempt: 1, Status: 200, Delivered: true, Start: at(second),
	}
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		x.Answer.Calls = append(x.Answer.Calls, harness.ToolCall{ID: fmt.Sprintf("c%d%d", second, i), Name: name, Arguments: args})
	}
	return x
}

func exec(seq, second int, tool, args, result string) harness.ToolExchange {
	return harness.ToolExchange{Seq: seq, Server: "s", Tool: tool, Args: json.RawMessage(args), Result: json.RawMessage(result), Start: at(second)}
}

func onServer(offered string) (server, tool string, ok bool) {
	return "s", offered, offered != "unknown"
}

// show writes a call as "turn.reply.index tool args -> result #exec".
func show(calls []harness.Call) []string {
	var out []string
	for _, c := range calls {
		args := string(c.Args)
		if c.Args == nil {
			args = "text:" + c.ArgsText
		}
		s := fmt.Sprintf("%d.%d.%d %s %s", c.Turn, c.Reply, c.Index, c.Name(), args)
		if c.Executed {
			s += fmt.Sprintf(" -> %s #%d", c.Result, c.Exec)
		}
		if c.Retried {
			s += " retried"
		}
		out = append(out, s)
	}
	return out
}

// TestLanes has two conversations whose turns and replies have the same
// numbers, and which make equal calls.
func TestLanes(t *testing.T) {
	in := func(lane string, x harness.Exchange) harness.Exchange {
		x.Lane = lane
		return x
	}
	calls := trajectory.Join([]harness.Exchange{
		reply(1, 1, 1, `a {"x":1}`, `b {"x":2}`),
		in("worker", reply(1, 1, 3, `a {"x":1}`)),
		in("worker", reply(1, 2, 5)),
		reply(1, 2, 7),
		in("worker/2", reply(1, 1, 8, `a {"x":9}`)),
	}, []harness.ToolExchange{
		exec(1, 2, "a", `{"x":1}`, `"lead"`), exec(2, 4, "a", `{"x":1}`, `"worker"`), exec(3, 6, "b", `{"x":3}`, `"late"`), exec(4, 9, "a", `{"x":8}`, `"other"`),
	}, onServer)
	var got []string
	for i, line := range show(calls) {
		got = append(got, calls[i].Lane+" "+line)
	}
	want := []string{
		` 1.1.0 s.a {"x":1} -> "lead" #1`, ` 1.1.1 s.b {"x":2} -> "late" #3`,
		`worker 1.1.0 s.a {"x":1} -> "worker" #2`, `worker/2 1.1.0 s.a {"x":9} -> "other" #4`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestUndelivered has an answer that broke off at the end of a turn: it made no
// calls, whatever comes in the next turn.
func TestUndelivered(t *testing.T) {
	broken := reply(1, 1, 1, `a {"x":1}`)
	broken.Delivered = false
	calls := trajectory.Join([]harness.Exchange{broken, reply(2, 1, 3, `a {"x":2}`)}, nil, onServer)
	if d := cmp.Diff([]string{`2.1.0 s.a {"x":2}`}, show(calls)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRepeatedLive has what counts of the answers of a real endpoint that was
// asked the same again: those that the client acted on, else the last whole
// one.
func TestRepeatedLive(t *testing.T) {
	live := func(n, second int, delivered bool, calls ...string) harness.Exchange {
		x := reply(1, n, second, calls...)
		x.Kind, x.Delivered = harness.KindLive, delivered
		return x
	}
	const did = `{"a":1}`
	tests := []struct {
		name       string
		exchanges  []harness.Exchange
		executions []harness.ToolExchange
		want       []string
	}{
		{
			"broke off and was repeated",
			[]harness.Exchange{live(1, 0, false, `f {"a":`), live(1, 2, true, "f "+did), live(2, 4, true)},
			[]harness.ToolExchange{exec(1, 3, "f", did, "1")},
			[]string{`1.1.0 s.f {"a":1} -> 1 #1`},
		},
		{
			"broke off, repeated, and answered otherwise",
			[]harness.Exchange{live(1, 0, false, "f "+did), live(1, 2, true)},
			nil, nil,
		},
		{
			"whole, and repeated by a client that cannot read it",
			[]harness.Exchange{live(1, 0, true, "f "+did), live(1, 2, true)},
			nil, nil,
		},
		{
			"executed, and asked again as if it had not been",
			[]harness.Exchange{live(1, 0, true, "f "+did), live(1, 2, true)},
			[]harness.ToolExchange{exec(1, 1, "f", did, "1")},
			[]string{`1.1.0 s.f {"a":1} -> 1 #1`},
		},
		{
			"broke off, executed all the same, and asked again",
			[]harness.Exchange{live(1, 0, false, "f "+did), live(1, 2, true, "g {}")},
			[]harness.ToolExchange{exec(1, 1, "f", did, "1"), exec(2, 3, "g", "{}", "2")},
			[]string{`1.1.0 s.f {"a":1} -> 1 #1`, "1.2.0 s.g {} -> 2 #2"},
		},
		{
			"broke off at the end, and executed",
			[]harness.Exchange{live(1, 0, false, "f "+did)},
			[]harness.ToolExchange{exec(1, 1, "f", did, "1")},
			[]string{`1.1.0 s.f {"a":1} -> 1 #1`},
		},
		{
			"broke off at the end",
			[]harness.Exchange{live(1, 0, false, "f "+did)},
			nil, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := show(trajectory.Join(tt.exchanges, tt.executions, onServer))
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("trajectory (-want +got):\n%s", d)
			}
		})
	}
}

func TestJoin(t *testing.T) {
	undelivered := reply(1, 1, 1, `a {"x":1}`)
	undelivered.Delivered = false
	faulted := reply(1, 1, 1)
	faulted.Status, faulted.Fault = 429, "rate_limit"
	again := reply(1, 1, 2, `a {"x":1}`)
	again.Attempt = 2
	rule := reply(1, 0, 3, `a {"x":9}`)
	rule.Kind = harness.KindRule
	later := rule
	later.Seq, later.Start = 4, at(4)
	moved := reply(1, 2, 1, `a {"x":3}`)
	moved.Status = 300
	aside := reply(0, 0, 1, `a {"x":1}`)
	aside.Kind = harness.KindAside

	tests := []struct {
		name      string
		exchanges []harness.Exchange
		execs     []harness.ToolExchange
		want      []string
	}{
		{name: "nothing"},
		{
			name:      "one call",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {"x":1}`), reply(1, 2, 3)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{"x":1}`, `5`)},
			want:      []string{`1.1.0 s.a {"x":1} -> 5 #1`},
		},
		{
			name:      "executed in another order than called",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {"x":1}`, `a {"x":2}`, `b {}`)},
			execs:     []harness.ToolExchange{exec(1, 2, "b", `null`, `"b"`), exec(2, 2, "a", `{"x":2}`, `2`), exec(3, 3, "a", `{"x":1.0}`, `1`)},
			want:      []string{`1.1.0 s.a {"x":1} -> 1 #3`, `1.1.1 s.a {"x":2} -> 2 #2`, `1.1.2 s.b {} -> "b" #1`},
		},
		{
			name:      "arguments that the client altered go with the nearest call",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {"x":1,"y":1}`, `a {"x":2,"y":2}`)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{"x":2,"y":0}`, `2`), exec(2, 2, "a", `{"x":1,"y":0}`, `1`)},
			want:      []string{`1.1.0 s.a {"x":1,"y":1} -> 1 #2`, `1.1.1 s.a {"x":2,"y":2} -> 2 #1`},
		},
		{
			name:      "the same call in two replies",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {}`), reply(1, 2, 3, `a {}`), reply(1, 3, 5)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{}`, `1`), exec(2, 4, "a", `{}`, `2`)},
			want:      []string{`1.1.0 s.a {} -> 1 #1`, `1.2.0 s.a {} -> 2 #2`},
		},
		{
			name:      "only the second was executed",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {}`), reply(1, 2, 3, `a {}`), reply(1, 3, 5)},
			execs:     []harness.ToolExchange{exec(1, 4, "a", `{}`, `2`)},
			want:      []string{`1.1.0 s.a {}`, `1.2.0 s.a {} -> 2 #1`},
		},
		{
			name:      "executed at the very time of the next request, which asked for it",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {"x":1}`), reply(1, 2, 3, `a {"x":2}`), reply(1, 3, 5)},
			execs:     []harness.ToolExchange{exec(1, 3, "a", `{"x":2}`, `2`)},
			want:      []string{`1.1.0 s.a {"x":1}`, `1.2.0 s.a {"x":2} -> 2 #1`},
		},
		{
			name:      "executed late",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {}`), reply(1, 2, 3)},
			execs:     []harness.ToolExchange{exec(1, 4, "a", `{}`, `2`)},
			want:      []string{`1.1.0 s.a {} -> 2 #1`},
		},
		{
			name:      "executed twice",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {}`)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{}`, `1`), exec(2, 3, "a", `{}`, `2`)},
			want:      []string{`1.1.0 s.a {} -> 2 #2 retried`},
		},
		{
			name:      "executed before it was called",
			exchanges: []harness.Exchange{reply(1, 1, 3, `a {}`)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{}`, `1`)},
			want:      []string{`1.1.0 s.a {}`},
		},
		{
			name:      "a repetition belongs to the reply in whose time it came",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {}`), reply(1, 2, 5, `a {}`)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{}`, `1`), exec(2, 3, "a", `{}`, `2`), exec(3, 6, "a", `{}`, `3`)},
			want:      []string{`1.1.0 s.a {} -> 2 #2 retried`, `1.2.0 s.a {} -> 3 #3`},
		},
		{
			name:      "of equal calls of one reply the last was repeated",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {}`, `a {}`)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{}`, `1`), exec(2, 3, "a", `{}`, `2`), exec(3, 4, "a", `{}`, `3`)},
			want:      []string{`1.1.0 s.a {} -> 1 #1`, `1.1.1 s.a {} -> 3 #3 retried`},
		},
		{
			name:      "executed but never called",
			exchanges: []harness.Exchange{reply(1, 1, 1, `a {}`)},
			execs:     []harness.ToolExchange{exec(1, 2, "b", `{}`, `1`)},
			want:      []string{`1.1.0 s.a {}`},
		},
		{
			name:      "an unknown tool, and arguments that are no JSON",
			exchanges: []harness.Exchange{reply(1, 1, 1, `unknown {}`, `a {"x":`, `a`)},
			execs:     []harness.ToolExchange{exec(1, 2, "a", `{}`, `1`)},
			want:      []string{`1.1.0 unknown {}`, `1.1.1 s.a text:{"x":`, `1.1.2 s.a {} -> 1 #1`},
		},
		{
			name:      "a fault and its repetition are one reply",
			exchanges: []harness.Exchange{faulted, again, reply(1, 2, 4)},
			execs:     []harness.ToolExchange{exec(1, 3, "a", `{"x":1}`, `1`)},
			want:      []string{`1.1.0 s.a {"x":1} -> 1 #1`},
		},
		{
			name:      "an answer that broke off is none",
			exchanges: []harness.Exchange{undelivered},
			execs:     []harness.ToolExchange{},
		},
		{
			name:      "an answer that broke off and came again",
			exchanges: []harness.Exchange{undelivered, again},
			execs:     []harness.ToolExchange{exec(1, 3, "a", `{"x":1}`, `1`)},
			want:      []string{`1.1.0 s.a {"x":1} -> 1 #1`},
		},
		{
			name:      "rules count, asides do not",
			exchanges: []harness.Exchange{aside, reply(1, 1, 2, `a {"x":1}`), rule},
			want:      []string{`1.1.0 s.a {"x":1}`, `1.2.0 s.a {"x":9}`},
		},
		{
			name:      "each answer of a rule counts",
			exchanges: []harness.Exchange{rule, later},
			want:      []string{`1.1.0 s.a {"x":9}`, `1.2.0 s.a {"x":9}`},
		},
		{
			name:      "a redirect is no answer",
			exchanges: []harness.Exchange{moved, again},
			want:      []string{`1.1.0 s.a {"x":1}`},
		},
		{
			name:  "without a model journal",
			execs: []harness.ToolExchange{exec(1, 3, "b", ``, `2`), exec(2, 2, "a", `{"x":1}`, `1`)},
			want:  []string{`1.1.0 s.a {"x":1} -> 1 #2`, `1.2.0 s.b {} -> 2 #1`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := show(trajectory.Join(tt.exchanges, tt.execs, onServer))
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("trajectory (-want +got):\n%s", d)
			}
		})
	}
}

// TestJoinWithoutTime makes sure that a clock that stands still, as under
// testing/synctest, joins the same.
func TestJoinWithoutTime(t *testing.T) {
	exchanges := []harness.Exchange{reply(1, 1, 0, `a {"x":1}`, `b {}`), reply(1, 2, 0, `a {"x":2}`), reply(2, 1, 0, `a {"x":1}`)}
	execs := []harness.ToolExchange{
		exec(1, 0, "b", `{}`, `"b"`), exec(2, 0, "a", `{"x":1}`, `1`), exec(3, 0, "a", `{"x":2}`, `2`), exec(4, 0, "a", `{"x":1}`, `3`),
	}
	want := []string{`1.1.0 s.a {"x":1} -> 1 #2`, `1.1.1 s.b {} -> "b" #1`, `1.2.0 s.a {"x":2} -> 2 #3`, `2.1.0 s.a {"x":1} -> 3 #4`}
	if d := cmp.Diff(want, show(trajectory.Join(exchanges, execs, onServer))); d != "" {
		t.Errorf("trajectory (-want +got):\n%s", d)
	}
}

func TestFill(t *testing.T) {
	issued := []harness.Call{
		{Server: "s", Tool: "a", Turn: 1, Reply: 1, Args: json.RawMessage(`{"x":1}`)},
		{Server: "", Tool: "b", Offered: "b", Turn: 1, Reply: 1, Index: 1, Args: json.RawMessage(`{}`)},
		{Server: "s", Tool: "a", Turn: 1, Reply: 2, Args: json.RawMessage(`{"x":2}`)},
	}
	got := trajectory.Fill(issued, nil, []harness.ToolExchange{exec(1, 1, "b", `{}`, `"b"`), exec(2, 2, "a", `{"x":2}`, `2`)})
	want := []string{`1.1.0 s.a {"x":1}`, `1.1.1 s.b {} -> "b" #1`, `1.2.0 s.a {"x":2} -> 2 #2`}
	if d := cmp.Diff(want, show(got)); d != "" {
		t.Errorf("filled (-want +got):\n%s", d)
	}
	if issued[1].Executed {
		t.Error("Fill changed the calls it was given")
	}
}

// TestAssign compares with trying all assignments.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "cols")
		cost := make([][]float64, rows)
		for r := range cost {
			for range cols {
				c := float64(rapid.IntRange(0, 9).Draw(t, "cost"))
				if c == 9 {
					c = math.Inf(1)
				}
				cost[r] = append(cost[r], c)
			}
		}
		pairs, total := 0, 0.0
		used := map[int]bool{}
		for r, c := range trajectory.Assign(cost) {
			if c < 0 {
				continue
			}
			if used[c] || math.IsInf(cost[r][c], 1) {
				t.Fatalf("row %d got column %d, which is taken or forbidden", r, c)
			}
			used[c] = true
			pairs++
			total += cost[r][c]
		}
		if wantPairs, want := best(cost, 0, map[int]bool{}); pairs != wantPairs || total != want {
			t.Fatalf("%d pairs at %v, want %d at %v", pairs, total, wantPairs, want)
		}
	})
	if got := trajectory.Assign(nil); got != nil {
		t.Errorf("assigning nothing gives %v", got)
	}
}

func best(cost [][]float64, r int, used map[int]bool) (pairs int, total float64) {
	if r == len(cost) {
		return 0, 0
	}
	pairs, total = best(cost, r+1, used) // r stays unpaired
	for c := range cost[r] {
		if used[c] || math.IsInf(cost[r][c], 1) {
			continue
		}
		used[c] = true
		n, sum := best(cost, r+1, used)
		delete(used, c)
		if n++; n > pairs || n == pairs && sum+cost[r][c] < total {
			pairs, total = n, sum+cost[r][c]
		}
	}
	return pairs, total
}

func ExampleJoin() {
	exchanges := []harness.Exchange{{
		Seq: 1, Kind: harness.KindReply, Turn: 1, Reply: 1, Status: 200, Delivered: true,
		Answer: harness.Message{Calls: []harness.ToolCall{
			{ID: "c1", Name: "get_weather", Arguments: `{"city": "Paris"}`},
			{ID: "c2", Name: "get_weather", Arguments: `{"city": "Oslo"}`},
		}},
	}}
	// The client ran both at the same time, and Oslo came first.
	executions := []harness.ToolExchange{
		{Seq: 1, Server: "weather", Tool: "get_weather", Args: json.RawMessage(`{"city":"Oslo"}`), Result: json.RawMessage(`-3`)},
		{Seq: 2, Server: "weather", Tool: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`), Result: json.RawMessage(`21`)},
	}
	calls := trajectory.Join(exchanges, executions, func(offered string) (server, tool string, ok bool) {
		return "weather", offered, true
	})
	for _, c := range calls {
		fmt.Println(c.ID, c.Name(), string(c.Args), string(c.Result))
	}
	// Output:
	// c1 weather.get_weather {"city": "Paris"} 21
	// c2 weather.get_weather {"city": "Oslo"} -3
}

// TestWhole has executions that no reply asks for: at the start of a turn,
// between the calls of it, and after its answer.
func TestWhole(t *testing.T) {
	exchanges := []harness.Exchange{
		reply(1, 1, 1, `a {}`, `b {}`), reply(1, 2, 4),
		reply(2, 1, 11, `a {"n":2}`), reply(2, 2, 14),
	}
	executions := []harness.ToolExchange{
		exec(1, 2, "a", `{}`, `1`), exec(2, 2, "b", `{}`, `1`), exec(3, 3, "b", `{}`, `2`), // asked for, one twice
		exec(4, 3, "wipe", `{}`, `1`), exec(5, 5, "wipe", `{}`, `2`),
		exec(6, 10, "wipe", ``, `3`), exec(7, 12, "a", `{"n":2}`, `4`), exec(8, 15, "wipe", `{}`, `5`),
	}
	turn := func(x harness.ToolExchange) int {
		if x.Seq < 6 {
			return 1
		}
		return 2
	}
	calls := trajectory.Whole(exchanges, executions, onServer, turn)
	for i, c := range calls {
		if c.Unasked != (c.Tool == "wipe") {
			t.Errorf("call %d is asked for: %v", i+1, !c.Unasked)
		}
	}
	want := []string{
		"1.1.0 s.a {} -> 1 #1", "1.1.1 s.b {} -> 2 #3 retried", "1.1.0 s.wipe {} -> 1 #4", "1.2.0 s.wipe {} -> 2 #5",
		"2.0.0 s.wipe {} -> 3 #6", `2.1.0 s.a {"n":2} -> 4 #7`, "2.2.0 s.wipe {} -> 5 #8",
	}
	if diff := cmp.Diff(want, show(calls)); diff != "" {
		t.Errorf("trajectory (-want +got):\n%s", diff)
	}
	for _, c := range trajectory.Whole(nil, executions, onServer, turn) {
		if c.Unasked {
			t.Errorf("without the model's side, %s is said to be unasked for", c.Name())
		}
	}
}
