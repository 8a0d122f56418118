// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Join returns the trajectory of a trial. exchanges are the model's side in
// order of arrival, executions the tool side of all servers. of tells the
// server and tool behind a name that was offered to the model.
func Join(exchanges []harness.Exchange, executions []harness.ToolExchange, of func(offered string) (server, tool string, ok bool)) []harness.Call {
	if len(exchanges) == 0 {
		return arrivals(executions)
	}
	calls, _, _ := asked(exchanges, executions, of)
	return calls
}

// asked are the calls of the model's replies, joined, and the executions that
// are left.
func asked(exchanges []harness.Exchange, executions []harness.ToolExchange, of func(offered string) (server, tool string, ok bool)) (calls []harness.Call, replies []harness.Exchange, left []harness.ToolExchange) {
	replies = Replies(exchanges, executions)
	var windows []window
	for i, x := range replies {
		w := opened(replies, i)
		for k, tc := range x.Answer.Calls {
			calls = append(calls, newCall(x, k, tc, of))
			windows = append(windows, w)
		}
	}
	return calls, replies, join(calls, windows, executions)
}

// Fill returns issued, the calls of a script in its order, with their outcomes
// from the tool side, joined as [Join] does. exchanges are the model's side so far.
// What issued has of a call stays where that was not executed.
func Fill(issued []harness.Call, exchanges []harness.Exchange, executions []harness.ToolExchange) []harness.Call {
	calls := slices.Clone(issued)
	replies := Replies(exchanges, executions)
	windows := make([]window, len(calls))
	for i := range calls {
		c := &calls[i]
		c.Executed, c.Result, c.Failed = false, nil, false
		if k := slices.IndexFunc(replies, func(x harness.Exchange) bool {
			return x.Lane == c.Lane && x.Turn == c.Turn && x.Reply == c.Reply
		}); k >= 0 {
			windows[i] = opened(replies, k)
		}
	}
	join(calls, windows, executions)
	for i := range calls {
		if !calls[i].Executed {
			calls[i] = issued[i]
		}
	}
	return calls
}

// opened is the window of a reply: until the next one of its conversation.
func opened(replies []harness.Exchange, i int) window {
	w := window{from: replies[i].Start}
	if k := slices.IndexFunc(replies[i+1:], func(y harness.Exchange) bool { return y.Lane == replies[i].Lane }); k >= 0 {
		w.until = replies[i+1+k].Start
	}
	return w
}

// Replies returns the exchanges in which the model really answered: one for
// each position of the conversation, the last whole answer; rules count as
// they come. Each has its turn and reply numbered.
//
// A real endpoint may give another answer when it is asked again. Of its
// answers at one position, each that the client acted on counts: one after
// which a tool was executed.
func Replies(exchanges []harness.Exchange, executions []harness.ToolExchange) []harness.Exchange {
	type position struct {
		lane        string
		turn, reply int
	}
	var out []harness.Exchange
	at := map[position]int{}
	for _, x := range exchanges {
		if x.Kind != harness.KindReply && x.Kind != harness.KindRule && x.Kind != harness.KindLive {
			continue
		}
		if x.Status >= 300 {
			continue // a fault that never became an answer
		}
		p := position{x.Lane, x.Turn, x.Reply}
		i, ok := at[p]
		if ok && x.Reply > 0 && !(x.Kind == harness.KindLive && acted(out[i], x.Start, executions)) {
			if x.Delivered || !out[i].Delivered {
				x.Start = out[i].Start // its calls may have run since then
				out[i] = x
			}
			continue
		}
		at[p] = len(out)
		out = append(out, x)
	}
	// An answer that never arrived whole does not count, unless the turn
	// continued from it or its calls were executed.
	for i := len(out) - 1; i >= 0; i-- {
		x := out[i]
		wentOn := slices.ContainsFunc(out[i+1:], func(y harness.Exchange) bool { return y.Lane == x.Lane && y.Turn == x.Turn })
		if !x.Delivered && !wentOn && !(x.Kind == harness.KindLive && acted(x, time.Time{}, executions)) {
			out = slices.Delete(out, i, i+1)
		}
	}
	last := map[position]int{}
	for i := range out {
		turn := position{lane: out[i].Lane, turn: out[i].Turn}
		if out[i].Reply == 0 || out[i].Kind == harness.KindLive {
			out[i].Reply = last[turn] + 1
		}
		last[turn] = out[i].Reply
	}
	return out
}

// acted reports whether a tool was executed after the request of x and before
// until, where x has calls. A zero time is the end of the trial.
func acted(x harness.Exchange, until time.Time, executions []harness.ToolExchange) bool {
	return len(x.Answer.Calls) > 0 && slices.ContainsFunc(executions, func(e harness.ToolExchange) bool {
		return !e.Start.Before(x.Start) && (until.IsZero() || e.Start.Before(until))
	})
}

func newCall(x harness.Exchange, index int, tc harness.ToolCall, of func(string) (string, string, bool)) harness.Call {
	c := harness.Call{
		Tool: tc.Name, Offered: tc.Name, ID: tc.ID,
		Lane: x.Lane, Turn: x.Turn, Reply: x.Reply, Index: index,
	}
	if server, tool, ok := of(tc.Name); ok {
		c.Server, c.Tool = server, tool
	}
	text := strings.TrimSpace(tc.Arguments)
	switch {
	case text == "":
		c.Args = json.RawMessage("{}")
	case json.Valid([]byte(text)):
		c.Args = json.RawMessage(text)
	default:
		c.ArgsText = tc.Arguments
	}
	return c
}

// arrivals is the trajectory where only the tool side has a journal.
func arrivals(executions []harness.ToolExchange) []harness.Call {
	sorted := slices.Clone(executions)
	slices.SortStableFunc(sorted, func(a, b harness.ToolExchange) int { return a.Start.Compare(b.Start) })
	calls := make([]harness.Call, len(sorted))
	for i, x := range sorted {
		calls[i] = harness.Call{Server: x.Server, Tool: x.Tool, Args: arguments(x.Args), Turn: 1, Reply: i + 1}
		execute(&calls[i], x)
	}
	return calls
}

// execute fills what came of a call.
func execute(c *harness.Call, x harness.ToolExchange) {
	c.Executed = true
	c.Server, c.Tool = x.Server, x.Tool
	c.Result, c.Failed = x.Result, x.Failed
	if c.Result == nil {
		c.Result = json.RawMessage("null")
	}
	c.Exec, c.Duration = x.Seq, x.Duration
}

// window is the time in which the calls of a reply are executed; zero times
// say nothing.
type window struct{ from, until time.Time }

func (w window) has(t time.Time) bool {
	return !t.Before(w.from) && (w.until.IsZero() || !t.After(w.until))
}

// join fills calls from executions, as the package comment says, and returns
// the executions that are left.
func join(calls []harness.Call, windows []window, executions []harness.ToolExchange) (left []harness.ToolExchange) {
	j := newJoiner(calls, windows, executions)
	j.exact(true)
	for start := 0; start < len(calls); {
		end := start + 1
		for end < len(calls) && sameReply(&calls[end], &calls[start]) {
			end++
		}
		j.nearest(start, end)
		start = end
	}
	j.exact(false)
	j.repetitions()
	for k, x := range j.execs {
		if !j.taken[k] {
			left = append(left, x)
		}
	}
	return left
}

func sameReply(a, b *harness.Call) bool {
	return a.Lane == b.Lane && a.Turn == b.Turn && a.Reply == b.Reply
}

type joiner struct {
	calls   []harness.Call
	windows []window
	args    []value.Value // of calls
	execs   []harness.ToolExchange
	execArg []value.Value
	taken   []bool // of execs
}

func newJoiner(calls []harness.Call, windows []window, executions []harness.ToolExchange) *joiner {
	execs := slices.Clone(executions)
	slices.SortStableFunc(execs, func(a, b harness.ToolExchange) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Seq, b.Seq))
	})
	j := &joiner{
		calls: calls, windows: windows, execs: execs,
		args: make([]value.Value, len(calls)), execArg: make([]value.Value, len(execs)),
		taken: make([]bool, len(execs)),
	}
	for i := range calls {
		j.args[i] = parse(calls[i].Args)
	}
	for i := range execs {
		j.execArg[i] = parse(execs[i].Args)
	}
	return j
}

// exact joins calls with executions of equal arguments, in order.
func (j *joiner) exact(within bool) {
	for i := range j.calls {
		c := &j.calls[i]
		if c.Executed || c.Args == nil {
			continue
		}
		for k := range j.execs {
			if j.taken[k] || !sameTool(c, &j.execs[k]) || j.execs[k].Start.Before(j.windows[i].from) {
				continue
			}
			if within && !j.windows[i].has(j.execs[k].Start) || !value.Equal(j.args[i], j.execArg[k]) {
				continue
			}
			j.taken[k] = true
			execute(c, j.execs[k])
			break
		}
	}
}

// nearest joins what is left of the calls of one reply with what is left of
// the executions, so that the fewest arguments differ.
func (j *joiner) nearest(start, end int) {
	var rows, cols []int
	for i := start; i < end; i++ {
		if !j.calls[i].Executed {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return
	}
	for k := range j.execs {
		if !j.taken[k] && j.windows[start].has(j.execs[k].Start) {
			cols = append(cols, k)
		}
	}
	cost := make([][]float64, len(rows))
	for r, i := range rows {
		cost[r] = make([]float64, len(cols))
		for c, k := range cols {
			cost[r][c] = math.Inf(1)
			if sameTool(&j.calls[i], &j.execs[k]) {
				cost[r][c] = difference(j.args[i], j.execArg[k])
			}
		}
	}
	for r, c := range Assign(cost) {
		if c >= 0 {
			j.taken[cols[c]] = true
			execute(&j.calls[rows[r]], j.execs[cols[c]])
		}
	}
}

// repetitions gives what is left to the last call that it equals: the
// subject executed it more than once, and the last result counts.
func (j *joiner) repetitions() {
	for k := range j.execs {
		if j.taken[k] {
			continue
		}
		for i := len(j.calls) - 1; i >= 0; i-- {
			c := &j.calls[i]
			if c.Executed && sameTool(c, &j.execs[k]) && j.windows[i].has(j.execs[k].Start) && value.Equal(j.args[i], j.execArg[k]) {
				j.taken[k] = true
				c.Retried = true
				execute(c, j.execs[k])
				break
			}
		}
	}
}

func sameTool(c *harness.Call, x *harness.ToolExchange) bool {
	if c.Server == "" {
		return c.Tool == x.Tool || c.Offered == x.Tool
	}
	return c.Server == x.Server && c.Tool == x.Tool
}

// difference is the share of top-level members that differ, from 0 to 1.
// Anything that is not an object has no members.
func difference(a, b value.Value) float64 {
	same, all := 0, len(b.Members())
	for _, m := range a.Members() {
		v, ok := b.Get(m.Key)
		switch {
		case !ok:
			all++
		case value.Equal(m.Value, v):
			same++
		}
	}
	if all == 0 {
		return 0
	}
	return 1 - float64(same)/float64(all)
}

// arguments gives absent arguments the value that they have on the wire.
func arguments(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

func parse(raw json.RawMessage) value.Value {
	v, err := value.Parse(arguments(raw))
	if err != nil { // the journals hold valid JSON only
		return value.Value{}
	}
	return v
}
