// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
)

// conversations are the checkers of the conversations under one base URL, the
// main one first. There is always that.
type conversations []*checker

// byLane splits the exchanges by conversation. What the subject reports about
// its turns belongs to the main conversation.
func byLane(config Config, in *Input) conversations {
	names := []string{""}
	for _, x := range in.Exchanges {
		if !slices.Contains(names, x.Lane) {
			names = append(names, x.Lane)
		}
	}
	var out conversations
	for _, name := range names {
		own := *in
		own.Exchanges = slices.DeleteFunc(slices.Clone(in.Exchanges), func(x harness.Exchange) bool { return x.Lane != name })
		own.Trajectory = slices.DeleteFunc(slices.Clone(in.Trajectory), func(call harness.Call) bool { return call.Lane != name })
		if name != "" {
			own.Transcript = nil
		}
		c := newChecker(config, &own)
		c.lane, c.all = name, in.Trajectory
		out = append(out, c)
	}
	out.settle()
	return out
}

// all runs a check on every conversation. In a lane a check that does not apply
// is ignored.
func (c conversations) all(check func(*checker) finding) func() finding {
	return func() finding {
		f := check(c[0])
		for _, lane := range c[1:] {
			found := check(lane)
			for _, p := range found.problems {
				f.skipped = ""
				f.add("lane %s: %s", lane.lane, p)
			}
			for _, p := range found.notes {
				f.skipped = ""
				f.note("lane %s: %s", lane.lane, p)
			}
		}
		return f
	}
}

// late reports whether an execution came late for what had become of its
// connection, and not of the client.
func (c conversations) late(x harness.ToolExchange) bool {
	return slices.ContainsFunc(c, func(lane *checker) bool {
		return slices.ContainsFunc(lane.Trajectory, func(call harness.Call) bool {
			return call.Server == x.Server && call.Tool == x.Tool && call.Exec == x.Seq && lane.adrift(call)
		})
	})
}

// of returns the conversation in which an execution was asked for; nil when
// none did.
func (c conversations) of(x harness.ToolExchange) *checker {
	for _, lane := range c {
		if lane.asksFor(x) {
			return lane
		}
	}
	return nil
}

// noCallAfterAnswer looks at each execution in the conversation that asked for
// it. One that none asked for came after an answer where every conversation
// that had begun had its answer.
func (c conversations) noCallAfterAnswer() (f finding) {
	for _, x := range c[0].Tools {
		if a := c.answerBefore(x); a != nil && !c.late(x) {
			where := fmt.Sprintf("turn %d", a.Turn)
			if a.Lane != "" {
				where = "lane " + a.Lane
			}
			f.add("%s was called after the answer %s of %s", executionText(x), quote(a.Answer.Text), where)
		}
	}
	return f
}

func (c conversations) answerBefore(x harness.ToolExchange) *harness.Exchange {
	if lane := c.of(x); lane != nil {
		return lane.answerBefore(x)
	}
	var last *harness.Exchange
	for _, lane := range c {
		a := lane.answerBefore(x)
		if a == nil && lane.begun(x) {
			return nil
		}
		if a != nil && (last == nil || last.Start.Before(a.Start)) {
			last = a
		}
	}
	return last
}

// unasked are executions that no conversation asked for.
func (c conversations) unasked() (f finding) {
	if len(c) == 1 && len(c[0].requests) == 0 {
		return f
	}
	for _, x := range c[0].Tools {
		if c.of(x) == nil && c.answerBefore(x) == nil {
			f.add("%s was executed, but no reply of the model asks for it", executionText(x))
		}
	}
	return f
}

func (c conversations) answeredOnce() finding {
	f := c.all((*checker).answeredOnce)()
	if f.skipped == "" {
		f.problems = append(f.problems, c.unasked().problems...)
	}
	return f
}
