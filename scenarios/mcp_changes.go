// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// changeScript is a change of what is offered.
type changeScript struct {
	change    mockmcp.Change
	tools     []toolScript
	prompts   []promptScript
	resources []resourceScript
}

// changes compiles a list of changes of a server with the given tools.
func (l *loader) changes(list *strictyaml.Node, tools []toolScript) []changeScript {
	known := &listedNames{}
	for _, t := range tools {
		known.names = append(known.names, t.tool.Name)
	}
	for _, n := range itemsOf(list) {
		for _, t := range itemsOf(addedTools(n)) {
			known.names = append(known.names, textOf(t.Get("name"))) // whenever it comes
		}
	}
	var out []changeScript
	for _, n := range itemsOf(list) {
		if usable(n) && usable(n.Get("on")) {
			out = append(out, l.change(n, known))
		}
	}
	return out
}

// listedNames are the tools that a server lists at some time.
type listedNames struct{ names []string }

// addedTools is the list of tools that a change adds, in either form.
func addedTools(change *strictyaml.Node) *strictyaml.Node {
	add := change.Get("add")
	if usable(add) && add.Kind == strictyaml.Map {
		return add.Get("tools")
	}
	return add
}

func (l *loader) change(n *strictyaml.Node, known *listedNames) changeScript {
	on := n.Get("on")
	s := changeScript{change: mockmcp.Change{
		Call: intOf(on.Get("call")), Tool: textOf(on.Get("tool")), List: intOf(on.Get("list")),
		After: durationOf(on.Get("after")), Cue: textOf(on.Get("cue")),
		Updated: textsOf(n.Get("updated")), Delay: durationOf(n.Get("delay")), Early: boolOf(n.Get("early")), Pos: n.Pos,
	}}
	c := &s.change
	if textOf(on.Get("list")) == "always" {
		c.List = -1
	}
	l.oneCue(on)
	if tool := on.Get("tool"); usable(tool) && !slices.Contains(known.names, tool.Text) {
		l.problems.add(tool.Pos, "the server has no tool %q%s", tool.Text, didYouMean(tool.Text, known.names))
	}
	for _, t := range itemsOf(addedTools(n)) {
		if usable(t) && usable(t.Get("name")) {
			s.tools = append(s.tools, l.tool(t))
		}
	}
	if add := n.Get("add"); usable(add) && add.Kind == strictyaml.Map {
		s.prompts, s.resources = l.prompts(add.Get("prompts")), l.resources(add.Get("resources"))
	}
	if remove := n.Get("remove"); usable(remove) && remove.Kind == strictyaml.Map {
		c.RemoveTools, c.RemovePrompts, c.RemoveResources = textsOf(remove.Get("tools")), textsOf(remove.Get("prompts")), textsOf(remove.Get("resources"))
	} else {
		c.RemoveTools = textsOf(remove)
	}
	for _, name := range itemsOf(removedTools(n)) {
		if usable(name) && !slices.Contains(known.names, name.Text) {
			l.problems.add(name.Pos, "the server has no tool %q that could be removed%s", name.Text, didYouMean(name.Text, known.names))
		}
	}
	switch tell := n.Get("tell"); {
	case !usable(tell):
	case tell.Kind == strictyaml.List:
		c.Tell = append([]string{}, textsOf(tell)...)
	case !boolOf(tell):
		c.Tell = []string{}
	}
	changes := len(s.tools)+len(s.prompts)+len(s.resources)+len(c.RemoveTools)+len(c.RemovePrompts)+len(c.RemoveResources)+len(c.Updated) > 0
	if !changes && n.Get("tell") == nil && n.Get("add") == nil && !broken(n) {
		l.problems.add(n.Pos, "nothing changes and nobody is told: it wants add, remove, updated, or tell: [tools]")
	}
	if c.Early && c.Delay > 0 {
		l.problems.add(n.Key("early").Pos, `"early" sends the news before the answer, and "delay" after it: one of the two`)
	}
	if c.Early && c.Call == 0 && c.Tool == "" && c.List == 0 && !broken(on) {
		l.problems.add(n.Key("early").Pos, `"early" is about the answer to a call or a list, and nothing of that kind makes this change`)
	}
	return s
}

// removedTools is the list of tools that a change removes, in either form.
func removedTools(change *strictyaml.Node) *strictyaml.Node {
	remove := change.Get("remove")
	if usable(remove) && remove.Kind == strictyaml.Map {
		return remove.Get("tools")
	}
	return remove
}

// oneCue refuses two cues for one change.
func (l *loader) oneCue(on *strictyaml.Node) {
	var given []string
	for _, k := range []string{"call", "list", "after", "cue"} {
		if on.Get(k) != nil {
			given = append(given, k)
		}
	}
	switch {
	case len(given) > 1:
		l.problems.add(on.Key(given[1]).Pos, "one cue makes a change; %q stands beside %q", given[1], given[0])
	case on.Get("tool") != nil && len(given) == 1 && given[0] != "call":
		l.problems.add(on.Key("tool").Pos, `"tool" goes with "call"; it stands beside %q`, given[0])
	}
}

func (s changeScript) bind(vars value.Value) mockmcp.Change {
	out := s.change
	for _, t := range s.tools {
		out.AddTools = append(out.AddTools, t.bind(vars))
	}
	for _, p := range s.prompts {
		out.AddPrompts = append(out.AddPrompts, p.bind(vars))
	}
	for _, r := range s.resources {
		out.AddResources = append(out.AddResources, r.bind(vars))
	}
	return out
}
