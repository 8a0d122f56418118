// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"slices"
)

// Idle is a fault that struck no request, and why.
type Idle struct {
	Fault *Fault
	Why   string
}

// IdleOf returns the faults that struck no request that any of the players
// played, all of which play the same list. One that is left to chance alone is
// not among them.
func IdleOf(players []*Player) []Idle {
	if len(players) == 0 {
		return nil
	}
	var out []Idle
	tried := slices.ContainsFunc(players, func(p *Player) bool { return len(p.counts) > 0 && p.counts[0].asked > 0 })
	for i := range players[0].faults {
		f, info := &players[0].faults[i], &players[0].infos[i]
		var sum count
		for _, p := range players {
			sum.add(p.counts[i])
		}
		if sum.Struck == 0 && !((f.Probability > 0 || f.Chance > 0) && sum.Fitted > 0) {
			why := f.why(info, sum)
			if !tried {
				why = "no request came"
			}
			out = append(out, Idle{f, why})
		}
	}
	return out
}

// why says why a fault never struck.
func (f *Fault) why(info *Info, c count) string {
	switch {
	case c.asked == 0:
		return "the faults before it struck every request"
	case c.apt == 0 && info.applies(f.Form, true):
		return "it strikes only streams, and no request asked for one"
	case c.apt == 0:
		return "it strikes only requests without a stream, and all asked for streams"
	case c.able == 0:
		return "it strikes tool calls, and no matching reply has any"
	case c.placed == 0:
		return fmt.Sprintf("no request was at its place (%s)", f.At)
	case c.Fitted == 0:
		return "its condition held for no request"
	}
	return fmt.Sprintf("it strikes every request number %d of those that it matches, and %d matched", f.Every, c.Fitted)
}

// String names the requests of a place.
func (a At) String() string {
	s := ""
	add := func(format string, v any) {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf(format, v)
	}
	if a.Request != 0 {
		add("request %d", a.Request)
	}
	if a.Model != "" {
		add("model %q", a.Model)
	}
	if a.Turn != 0 {
		add("turn %d", a.Turn)
	}
	if a.Reply != 0 {
		add("reply %d", a.Reply)
	}
	return s
}
