// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// held is something that was held until a cue that did not come.
type held struct {
	msg string
	pos harness.Position
	// nobody says that it was never to come: no subject is to give it.
	nobody bool
}

// waited reports whether the trial ended because time had passed.
func (t *trial) waited() bool {
	if t.passed() != nil {
		return true
	}
	for _, err := range []error{errHang, errAbandoned, context.DeadlineExceeded} {
		if errors.Is(t.broke, err) {
			return true
		}
	}
	n := len(t.reports)
	return t.broke != nil && n > 0 && slices.Contains([]harness.StopReason{harness.StopTime, harness.StopTimeout}, t.reports[n-1].Stop)
}

// heldInVain lists what the subject waited for in vain.
func (t *trial) heldInVain() []held {
	var out []held
	if t.model != nil {
		for _, cue := range t.model.heldInVain() {
			h := held{pos: heldReply(t.scenario.ModelScript(), cue), nobody: !t.subject.Foreign}
			until := fmt.Sprintf("the cue %q, which nobody gave", cue)
			if i := slices.IndexFunc(t.scenario.Cues, func(c scenarios.Cue) bool { return c.Name == cue }); i >= 0 {
				c := t.scenario.Cues[i]
				h.nobody = false
				until = "the states of servers at " + c.Pos.String() + ", which did not happen"
				if c.Tool != "" {
					until = fmt.Sprintf("call %d of %s, which did not happen", c.Nth, c.Tool)
				}
			}
			h.msg = "a reply was held until " + until
			out = append(out, h)
		}
	}
	for _, s := range t.servers {
		if s.mock == nil {
			continue
		}
		for _, cue := range s.mock.HeldInVain() {
			h := held{msg: fmt.Sprintf("a call of server %q was held until the cue %q, which nobody gave", s.name, cue), nobody: !t.subject.Foreign}
			for _, tool := range s.script.Mock.Tools {
				for _, r := range tool.Results {
					if r.Hold == cue {
						h.pos = r.Pos
					}
				}
			}
			out = append(out, h)
		}
	}
	return out
}

// heldReply is where the reply stands that is held until a cue.
func heldReply(script mockllm.Script, cue string) harness.Position {
	replies := slices.Clone(script.Replies)
	turns := slices.Clone(script.Turns)
	for _, l := range script.Lanes {
		replies, turns = append(replies, l.Replies...), append(turns, l.Turns...)
	}
	for _, t := range turns {
		replies = append(replies, t.Replies...)
	}
	for _, r := range slices.Concat(script.Asides, script.Rules) {
		replies = append(replies, r.Reply)
	}
	for _, r := range replies {
		if r.Hold == cue {
			return r.Pos
		}
	}
	return harness.Position{}
}
