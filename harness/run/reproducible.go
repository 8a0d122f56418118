// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// unmeasured takes out of a trial what is measured and not decided by script,
// reply and seed: when things happened, how long they took and how much of a
// wait was spared, in which order calls arrived that the subject made at the
// same time, and the headers of requests.
func unmeasured(rec *trials.Record, detail *trials.Detail) {
	rec.Start, rec.Duration, rec.Skipped = time.Time{}, 0, 0
	for i := range detail.Judges {
		detail.Judges[i].Start, detail.Judges[i].Duration = time.Time{}, 0
	}
	for i := range detail.Exchanges {
		x := &detail.Exchanges[i]
		x.Start, x.Duration = time.Time{}, 0
		x.Headers = nil // clients put ids and times of their own there
	}
	for i := range detail.Wire {
		x := &detail.Wire[i]
		x.Start, x.Duration, x.Headers, x.AnswerHeaders = time.Time{}, 0, nil, nil
	}
	for i := range detail.Frames {
		f := &detail.Frames[i]
		f.Time, f.Session, f.Header = time.Time{}, "", nil
	}
	if detail.Transcript != nil {
		for _, turn := range detail.Transcript.Turns {
			for i := range turn.Calls {
				turn.Calls[i].Duration = 0
			}
		}
	}
	orderKeys(detail.States)
	if detail.Played != nil {
		detail.Played.Untimed = true
		for _, states := range detail.Played.States {
			orderKeys(states)
		}
	}
	orderTools(rec.Trajectory, detail.Tools)
	for i := range rec.Trajectory {
		rec.Trajectory[i].Duration = 0
	}
	for i := range detail.Tools {
		detail.Tools[i].Start, detail.Tools[i].Duration = time.Time{}, 0
	}
}

// orderKeys puts the keys of states in order: calls that the subject made at the
// same time have set them in any.
func orderKeys(states map[string]json.RawMessage) {
	for server, state := range states {
		if v, err := value.Parse(state); err == nil {
			states[server] = v.AppendCanonical(nil)
		}
	}
}

// arrival is a call as a server numbers it.
type arrival struct {
	server string
	seq    int
}

// orderTools puts the calls that reached a server in the order of the model,
// and numbers them again.
func orderTools(calls []harness.Call, tools []harness.ToolExchange) {
	place := map[arrival]int{}
	for i, c := range calls {
		if c.Exec > 0 {
			place[arrival{c.Server, c.Exec}] = i
		}
	}
	of := func(x harness.ToolExchange) int {
		if i, ok := place[arrival{x.Server, x.Seq}]; ok {
			return i
		}
		return len(calls)
	}
	slices.SortStableFunc(tools, func(a, b harness.ToolExchange) int {
		if c := cmp.Compare(of(a), of(b)); c != 0 || of(a) < len(calls) {
			return c
		}
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(string(a.Args), string(b.Args)))
	})
	seqs := map[string]int{}
	for i := range tools {
		x := &tools[i]
		seqs[x.Server]++
		if c, ok := place[arrival{x.Server, x.Seq}]; ok {
			calls[c].Exec = seqs[x.Server]
		}
		x.Seq = seqs[x.Server]
	}
}
