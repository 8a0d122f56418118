// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// idleInReplies lists the faults of replies that nothing asked for and that
// nobody misses, since their turn ended as it should. Those of missed replies
// need no warning.
func (t *trial) idleInReplies(e *evidence, missed []conduct.Unreached) []conduct.IdleFault {
	left := map[harness.Position]bool{}
	for _, u := range t.model.remaining() {
		left[u.Pos] = t.unable == nil && t.opts.Mode == harness.ModeMock
	}
	if len(left) == 0 {
		return nil
	}
	for _, u := range missed {
		left[u.Pos] = false
	}
	for _, x := range e.exchanges {
		left[x.Pos] = left[x.Pos] && x.Kind != harness.KindScript // which was asked for
	}
	var out []conduct.IdleFault
	add := func(replies []mockllm.Reply) {
		for _, r := range replies {
			for _, f := range r.Faults {
				if left[r.Pos] {
					out = append(out, conduct.IdleFault{Fault: f.String(), Why: "its reply was never asked for", Pos: f.Pos})
				}
			}
		}
	}
	script := t.scenario.ModelScript()
	for _, turn := range script.Turns {
		add(turn.Replies)
	}
	for _, l := range script.Lanes {
		add(l.Replies)
		for _, turn := range l.Turns {
			add(turn.Replies)
		}
	}
	return out
}
