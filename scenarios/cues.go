// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// Cue is what lets a held reply go without anybody's doing: a call of a tool,
// or the state of mock servers.
type Cue struct {
	// Name is what the reply of the mock model is held until.
	Name string
	// Tool is server.tool and Nth which call of it, from 1, as it arrives.
	Tool string
	Nth  int
	// State is what the states of mock servers are to be, by name; nil for a
	// call.
	State map[string]*match.Matcher
	Pos   harness.Position
}

// Seen are what the matchers of a cue's state read.
func (s *Scenario) Seen(turn int) *expr.Vars { return &expr.Vars{Vars: s.Vars, Turn: turn} }

func untilObject() *object {
	return &object{
		name: "until", doc: "What releases a held reply, in a scenario. It counts from the beginning of the trial, so it may come before the reply.",
		one: []string{"tool", "state"},
		keys: []key{
			{name: "tool", typ: filled(), doc: "A call of this tool, `server.tool`, as it arrives."},
			{name: "nth", typ: count(1), def: "1", doc: "With `tool`: the number of the call of that tool."},
			{name: "state", typ: anyMap(), doc: "The state of mock servers, by server; keys that are not named are ignored."},
		},
	}
}

// hold reads until of a held reply: the name of a cue, and the cue itself
// when it is more than a name.
func (l *loader) hold(n *strictyaml.Node) (string, *Cue) {
	until := n.Get("until")
	if !usable(until) || until.Kind != strictyaml.Map {
		return textOf(until), nil
	}
	c := &Cue{Tool: textOf(until.Get("tool")), Nth: max(intOf(until.Get("nth")), 1), Pos: until.Pos}
	if c.Tool != "" {
		c.Name = fmt.Sprintf("%s:%d", c.Tool, c.Nth)
		if !strings.Contains(c.Tool, ".") {
			l.problems.add(until.Get("tool").Pos, "%q: name the tool of a cue as server.tool", c.Tool)
		}
		return c.Name, c
	}
	if until.Get("nth") != nil {
		l.problems.add(until.Key("nth").Pos, "nth needs a tool, whose calls it counts")
	}
	c.Name = fmt.Sprintf("state:%d:%d", until.Pos.Line, until.Pos.Col)
	c.State = map[string]*match.Matcher{}
	for _, p := range pairsOf(until.Get("state")) {
		if m := l.matcher(p.Value, match.Options{Scope: expr.User, Root: p.Key.Text}); m != nil {
			c.State[p.Key.Text] = m
		}
	}
	return c.Name, c
}

// cues returns the cues of all replies.
func (m *modelScript) cues() []Cue {
	var out []Cue
	add := func(replies ...replyScript) {
		for _, r := range replies {
			if r.cue != nil {
				out = append(out, *r.cue)
			}
		}
	}
	turns := func(list []turnScript) {
		for _, t := range list {
			add(t.replies...)
		}
	}
	turns(m.turns)
	add(m.replies...)
	for _, r := range slices.Concat(m.asides, m.rules) {
		add(r.reply)
	}
	for _, lane := range m.lanes {
		turns(lane.turns)
		add(lane.replies...)
	}
	return out
}

// knownCues refuses cues that cannot come.
func (l *loader) knownCues(cues []Cue, servers []*serverEntry) {
	const why = "the cue cannot come"
	for i := range cues {
		c := &cues[i]
		if strings.Contains(c.Tool, ".") {
			l.knownTool(c.Pos, why, c.Tool, servers)
		}
		for name := range c.State {
			if e := l.knownServer(c.Pos, why, name, servers); e != nil && e.script == nil {
				l.problems.add(c.Pos, "the cue cannot come: %q is a real server, and only the state of a mock server is known", name)
			}
		}
	}
}
