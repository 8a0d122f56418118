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

// byLane takes the exchanges apart. What the subject says of its turns is of
// the main conversation.
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
		if len(names) > 1 {
			own.Exchanges = slices.DeleteFunc(slices.Clone(in.Exchanges), func(x harness.Exchange) bool { return x.Lane != name })
		}
		if name != "" {
			own.Transcript = nil
		}
		out = append(out, newChecker(config, &own))
	}
	return out
}

// all makes a check of every conversation; that of a lane does not count when
// it does not apply.
func (c conversations) all(check func(*checker) finding) func() finding {
	return func() finding {
		f := check(c[0])
		for _, lane := range c[1:] {
			for _, p := range check(lane).problems {
				f.skipped = ""
				f.problems = append(f.problems, fmt.Sprintf("lane %s: %s", lane.Exchanges[0].Lane, p))
			}
		}
		return f
	}
}

// only makes a check that several conversations would confuse: which of them
// had a tool called is not known.
func (c conversations) only(check func(*checker) finding) func() finding {
	if len(c) > 1 {
		return func() finding { return skip("there are lanes") }
	}
	return func() finding { return check(c[0]) }
}
