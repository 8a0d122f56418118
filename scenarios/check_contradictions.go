// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"errors"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// This file looks for expectations of which one is bound to fail, and for
// conditions that decide nothing.

func (c *checks) contradictions(root *strictyaml.Node) {
	c.unwanted(root)
	whole, turns := itemsOf(root.Get("expect")), itemsOf(root.Get("turns"))
	var all []*strictyaml.Node
	for i, t := range turns {
		list := itemsOf(t.Get("expect"))
		c.callLists(list)
		all = append(all, list...)
		if i+1 == len(turns) {
			list = append(slices.Clone(list), whole...) // it is the last turn whose end they look at
		}
		c.ends(list)
	}
	c.callLists(whole)
	for _, a := range whole {
		for _, b := range all {
			c.callsAgainst(a, b)
		}
	}
}

// ends warns about a turn that is to end in two ways.
func (c *checks) ends(list []*strictyaml.Node) {
	var first *strictyaml.Node
	for _, n := range list {
		stops := n.Get("stops")
		switch {
		case !usable(stops):
		case first == nil:
			first = stops
		case stops.Text != first.Text && stops.Text != string(harness.StopAnyError) && first.Text != string(harness.StopAnyError):
			c.doubt(stops, "a turn stops for one reason, but %s is expected at %s: one of the two fails", first.Text, first.Pos)
		}
	}
	for _, n := range list {
		answer := n.Get("answer")
		if first == nil || !usable(answer) || answer.Kind != strictyaml.Map {
			continue
		}
		for _, k := range []string{"contains", "equals", "regex", "json"} {
			if usable(answer.Get(k)) {
				c.doubt(answer, "a turn that stops has no answer, but a stop is expected at %s: one of the two fails", first.Pos)
				break
			}
		}
	}
}

// callLists warns about lists of calls of one list of expectations.
func (c *checks) callLists(list []*strictyaml.Node) {
	for i, a := range list {
		for j, b := range list {
			if i != j {
				c.callsAgainst(a, b)
			}
		}
	}
}

// callsAgainst warns about a call that b expects and that would be one too many
// for a.
func (c *checks) callsAgainst(a, b *strictyaml.Node) {
	if callList(a) == nil || callList(b) == nil || textOf(a.Get("calls").Get("extra")) == "allow" || textOf(b.Get("calls").Get("missing")) == "allow" {
		return
	}
	room := map[string]int{}
	for _, name := range callNames(a) {
		room[bareName(name.Text)]++
	}
	for _, name := range callNames(b) {
		tool := bareName(name.Text)
		if room[tool]--; room[tool] < 0 {
			c.doubt(name, "%q is expected here, but %s does not allow it: one of the two fails", name.Text, callList(a).Pos)
			return
		}
	}
}

// bareName is the name of a tool without its server, which may be left out.
func bareName(name string) string {
	if _, tool, dotted := strings.Cut(name, "."); dotted {
		return tool
	}
	return name
}

// callNames are the names of the calls of an expectation.
func callNames(expectation *strictyaml.Node) []*strictyaml.Node {
	var names []*strictyaml.Node
	for _, item := range itemsOf(callList(expectation)) {
		if _, _, ok := callParts(item); ok {
			names = append(names, keyOf(item))
		}
	}
	return names
}

// constants warns about conditions that read nothing. One that always holds is
// a way to say "any" everywhere but in an expectation.
func (c *checks) constants(exprs []placed) {
	for _, e := range exprs {
		holds, constant, err := e.prog.Constant(c.budget)
		var limit *expr.LimitError
		switch {
		case errors.As(err, &limit):
			c.problems.add(e.pos, "it reads nothing that could change and cannot be computed: %s", limit.Msg)
		case !e.condition || e.scope == expr.ToolResult:
		case constant && !holds:
			c.problems.add(e.pos, "it never holds, since it reads nothing that could change")
		case constant && e.scope == expr.That:
			c.problems.add(e.pos, "it always holds, since it reads nothing that could change")
		}
	}
}

// finishes warns about a reason to finish that the reply does not have.
func (c *checks) finishes(n *strictyaml.Node) {
	if finish := n.Get("finish"); textOf(finish) == "tool_calls" && !callsTools(n) {
		c.doubt(finish, "the finish reason of the reply is tool calls, but it has none")
	}
}

// unwanted warns about a tool that must be called and must not.
func (c *checks) unwanted(root *strictyaml.Node) {
	var all []*strictyaml.Node // the names of calls that are expected anywhere
	wanted := func(list *strictyaml.Node) []*strictyaml.Node {
		var names []*strictyaml.Node
		for _, n := range itemsOf(list) {
			if textOf(n.Get("calls").Get("missing")) == "allow" {
				continue
			}
			for _, item := range itemsOf(callList(n)) {
				if _, _, ok := callParts(item); ok {
					names = append(names, keyOf(item))
				}
			}
		}
		return names
	}
	never := func(list *strictyaml.Node, calls []*strictyaml.Node) {
		for _, n := range itemsOf(list) {
			for _, glob := range itemsOf(n.Get("never")) {
				for _, call := range calls {
					if usable(glob) && match.Glob(glob.Text, call.Text) {
						c.doubt(glob, "never %q, but %q is expected at %s: one of the two fails", glob.Text, call.Text, call.Pos)
					}
				}
			}
		}
	}
	for _, t := range itemsOf(root.Get("turns")) {
		calls := wanted(t.Get("expect"))
		never(t.Get("expect"), calls)
		all = append(all, calls...)
	}
	never(root.Get("expect"), append(all, wanted(root.Get("expect"))...))
}
