// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// This file settles which execution belongs to which of several equal calls.
// The trajectory joins those in order of arrival, since nothing on the wire of
// MCP says which is which. A client that runs them at the same time knows
// better: its requests arrive in any order, and each result goes to the call
// that waited for it. So any assignment of the results to the calls is right.

// rival is a call that has the same tool and arguments as another one.
type rival struct {
	of   *checker
	in   *answered
	at   int       // its index in calls
	from time.Time // when it could be executed; until is zero where no request followed
	till time.Time
}

func (r *rival) call() *harness.Call { return &r.in.calls[r.at] }

// mayHave reports whether a rival can have led to an execution that began at t.
func (r *rival) mayHave(t time.Time) bool {
	return !t.Before(r.from) && (r.till.IsZero() || !t.After(r.till))
}

// meets reports whether two rivals could have been executed at the same time:
// those of one reply, and those of conversations beside each other.
func (r *rival) meets(other *rival) bool {
	if r.of == other.of {
		return r.in == other.in
	}
	return (r.till.IsZero() || other.from.Before(r.till)) && (other.till.IsZero() || r.from.Before(other.till))
}

// settle gives equal calls the executions whose results they were answered
// with, where those of the trajectory do not fit.
func (c conversations) settle() {
	groups := map[string][]*rival{}
	for _, lane := range c {
		for i := range lane.answers {
			a := &lane.answers[i]
			for k := range a.calls {
				key := sameKey(&a.calls[k])
				if key == "" {
					continue
				}
				r := &rival{of: lane, in: a, at: k, from: a.reply.Start}
				if a.next != nil {
					r.till = a.next.Start
				}
				groups[key] = append(groups[key], r)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		for _, together := range clusters(groups[key]) {
			assign(together)
		}
	}
}

// sameKey is equal for calls of one tool with the same arguments, and empty for
// a call that has no equal.
func sameKey(call *harness.Call) string {
	args, err := parseArgs(call.Args)
	if call.Args == nil || err != nil {
		return ""
	}
	name := value.ArrayOf(value.StringOf(call.Server), value.StringOf(call.Tool), args)
	return string(name.AppendCanonical(nil))
}

// clusters splits equal calls into those that could be confused.
func clusters(rivals []*rival) (out [][]*rival) {
	for _, r := range rivals {
		joined := []*rival{r}
		rest := out[:0:0]
		for _, cluster := range out {
			if slices.ContainsFunc(cluster, r.meets) {
				joined = append(cluster, joined...)
			} else {
				rest = append(rest, cluster)
			}
		}
		out = append(rest, joined)
	}
	return out
}

// The costs of giving a call an execution. One that a fault kept from the client
// is better than one whose result it did not tell. What the trajectory has is
// better than another that is as good.
const (
	costTold    = 0
	costSpoiled = 1
	costUntold  = 2
	costOther   = 1e-6
)

func assign(rivals []*rival) {
	if len(rivals) < 2 || !slices.ContainsFunc(rivals, func(r *rival) bool { return !r.told() }) {
		return
	}
	var executions []harness.ToolExchange
	for _, r := range rivals {
		for _, x := range r.of.executions(*r.call()) {
			if !slices.ContainsFunc(executions, func(y harness.ToolExchange) bool { return y.Seq == x.Seq }) {
				executions = append(executions, x)
			}
		}
	}
	if len(executions) == 0 {
		return
	}
	cost := make([][]float64, len(rivals))
	for i, r := range rivals {
		for _, x := range executions {
			cost[i] = append(cost[i], r.cost(x))
		}
	}
	for i, k := range trajectory.Assign(cost) {
		if k < 0 {
			rivals[i].take(nil)
		} else {
			rivals[i].take(&executions[k])
		}
	}
}

// told reports whether a call was answered with the result of its own execution.
func (r *rival) told() bool {
	return slices.ContainsFunc(r.in.texts[r.at], func(s string) bool { return r.of.faithful(*r.call(), s) })
}

func (r *rival) cost(x harness.ToolExchange) float64 {
	other := 0.0
	if x.Seq != r.call().Exec {
		other = costOther
		if !r.mayHave(x.Start) {
			return math.Inf(1)
		}
	}
	switch {
	case slices.ContainsFunc(r.in.texts[r.at], func(s string) bool { return r.of.holds(s, x) }):
		return costTold + other
	case x.Unsent || spoils(x.Fault):
		return costSpoiled + other
	}
	return costUntold + other
}

// take gives a call its execution, or none, wherever the call is kept.
func (r *rival) take(x *harness.ToolExchange) {
	was := *r.call()
	for _, calls := range [][]harness.Call{r.in.calls, r.of.Trajectory, r.of.all} {
		for i := range calls {
			call := &calls[i]
			if call.Lane != was.Lane || call.Turn != was.Turn || call.Reply != was.Reply || call.Index != was.Index {
				continue
			}
			call.Exec, call.Executed, call.Failed, call.Result, call.Duration = 0, false, false, nil, 0
			if x != nil {
				call.Exec, call.Executed, call.Failed, call.Result, call.Duration = x.Seq, true, x.Failed, x.Result, x.Duration
			}
		}
	}
}
