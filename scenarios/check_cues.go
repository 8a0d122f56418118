// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// holds warns about replies and results of a scenario that are held until what
// does not come when it is played.
func (c *checks) holds(s *Scenario) {
	root := s.lint.root
	var main []*strictyaml.Node
	for _, t := range itemsOf(root.Get("turns")) {
		main = append(main, itemsOf(t.Get("replies"))...)
	}
	// Conversations besides the main one may have come to any place.
	all := scriptOf(root)
	c.held(s, main, all.others)
	for _, lane := range itemsOf(root.Get("lanes")) {
		own := slices.Clone(itemsOf(lane.Get("replies")))
		for _, t := range itemsOf(lane.Get("turns")) {
			own = append(own, itemsOf(t.Get("replies"))...)
		}
		beside := slices.DeleteFunc(slices.Concat(main, all.others), func(n *strictyaml.Node) bool { return slices.Contains(own, n) })
		c.held(s, own, beside)
	}
	for _, e := range s.lint.servers {
		if e.script == nil {
			continue
		}
		for _, t := range e.script.tools {
			for _, r := range itemsOf(t.node.Get("results")) {
				if until := r.Get("hold").Get("until"); usable(until) {
					c.doubt(until, "a run gives no cue to a mock server: the scenario at %s waits in vain when this result answers", s.Pos)
				}
			}
		}
	}
}

// held looks at the held replies of a conversation, and beside which others it
// goes on.
func (c *checks) held(s *Scenario, replies, beside []*strictyaml.Node) {
	for i, r := range replies {
		until := r.Get("hold").Get("until")
		if !usable(until) {
			continue
		}
		before := slices.Concat(replies[:i], beside)
		tool := textOf(until.Get("tool"))
		switch {
		case until.Kind == strictyaml.String:
			c.doubt(until, "nobody gives the cue %q in a run, unless the subject itself sends POST /rehearse/cue/%s: hold until {tool: server.tool} or {state: {server: ...}}", until.Text, until.Text)
		case tool != "":
			n, nth := 0, max(intOf(until.Get("nth")), 1)
			for _, b := range before {
				n += callsOf(b, tool)
			}
			if n < nth {
				scripted := "none is"
				if n > 0 {
					scripted = fmt.Sprintf("%d at most", n)
				}
				c.doubt(until, "the cue cannot come: it is call %d of %s, and %s scripted before this reply", nth, tool, scripted)
			}
		case !slices.ContainsFunc(before, callsTools) && !c.stateIs(s, until.Pos.String()):
			c.doubt(until, "the cue cannot come: the state differs at the beginning, and no call that could change it is scripted before this reply")
		}
	}
}

// callsOf counts the calls of a tool that a reply makes. A rule may be asked
// any number of times, and a reply that repeats is.
func callsOf(reply *strictyaml.Node, tool string) int {
	n := 0
	for _, item := range itemsOf(reply.Get("calls")) {
		if name, _, ok := callParts(item); ok && bareName(name) == bareName(tool) {
			n++
		}
	}
	return n * max(intOf(reply.Get("repeat")), 1)
}

// stateIs reports whether the servers begin in the state of the cue at pos.
func (c *checks) stateIs(s *Scenario, pos string) bool {
	for _, cue := range s.Cues {
		if cue.Pos.String() != pos {
			continue
		}
		for name, m := range cue.State {
			i := slices.IndexFunc(c.servers, func(e *serverEntry) bool { return e.server.Name == name })
			if i < 0 || c.servers[i].script == nil {
				return true // reported already
			}
			state := c.servers[i].script.node.Get("state").Value()
			if diff, err := m.Match(state, &expr.Vars{Vars: s.Vars}); err != nil || diff != nil {
				return false
			}
		}
		return true
	}
	return true
}
