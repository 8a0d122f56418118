// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// Interruption ends a turn while one of its tools runs.
type Interruption struct {
	// Kill says that the subject is killed; otherwise the turn is interrupted.
	Kill bool
	// Tool is server.tool, and Nth which call of it in the turn, from 1.
	Tool string
	Nth  int
	Pos  harness.Position
}

// Key is the key that says so in a scenario.
func (i *Interruption) Key() string {
	if i.Kill {
		return "kill"
	}
	return "interrupt"
}

// toolStarted is the one moment at which a turn can be interrupted.
const toolStarted = "tool_started"

func interruptionObject() *object {
	return &object{
		name: "interruption", doc: "When a turn is interrupted, or its subject killed. A turn that ends before that moment is an error of the trial, with a real model a failure.",
		keys: []key{
			{name: "when", typ: filled(), required: true, doc: "`tool_started SERVER.TOOL`: a call of the tool. A mock server has executed it by then, and keeps its answer until the client cancels the call or leaves. A call that the server refuses counts; one that a fault answers does not."},
			{name: "nth", typ: count(1), def: "1", doc: "The number of the call of that tool in the turn."},
		},
	}
}

// interruption reads interrupt or kill of a turn.
func (l *loader) interruption(turn *strictyaml.Node, entries []*serverEntry) *Interruption {
	interrupt, kill := turn.Get("interrupt"), turn.Get("kill")
	n := interrupt
	if kill != nil {
		n = kill
	}
	if interrupt != nil && kill != nil {
		l.problems.add(turn.Key("kill").Pos, "a turn ends once: it has interrupt or kill, not both")
	}
	when := n.Get("when")
	if !usable(when) {
		return nil
	}
	if single := turn.Key("single_call"); single != nil && boolOf(turn.Get("single_call")) {
		l.problems.add(n.Pos, "a turn with single_call runs no tool, so nothing can interrupt it")
	}
	words := strings.Fields(when.Text)
	switch {
	case words[0] != toolStarted:
		l.problems.add(when.Pos, "unknown moment %q%s; it is %s SERVER.TOOL", words[0], didYouMean(words[0], []string{toolStarted}), toolStarted)
		return nil
	case len(words) != 2 || !strings.Contains(words[1], "."):
		l.problems.add(when.Pos, "%q: name one tool, as in %s server.tool", when.Text, toolStarted)
		return nil
	}
	l.knownTool(when.Pos, "the moment cannot come", words[1], entries)
	return &Interruption{Kill: kill != nil, Tool: words[1], Nth: max(intOf(n.Get("nth")), 1), Pos: n.Pos}
}

// knownTool refuses a tool, named server.tool, that no server has. why begins
// the message.
func (l *loader) knownTool(pos harness.Position, why, name string, servers []*serverEntry) {
	server, tool, _ := strings.Cut(name, ".")
	e := l.knownServer(pos, why, server, servers)
	if e == nil || e.script == nil {
		return // of a real server, any tool may be called
	}
	var tools []string
	for _, t := range e.script.tools {
		tools = append(tools, t.tool.Name)
	}
	for _, change := range e.script.offer.changes {
		for _, t := range change.tools {
			tools = append(tools, t.tool.Name)
		}
	}
	if !slices.Contains(tools, tool) {
		l.problems.add(pos, "%s: server %q has no tool %q%s", why, server, tool, didYouMean(tool, tools))
	}
}

// knownServer is the entry of a server; nil where that is unknown, or broken.
func (l *loader) knownServer(pos harness.Position, why, name string, servers []*serverEntry) *serverEntry {
	var names []string
	for _, e := range servers {
		names = append(names, e.server.Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		l.problems.add(pos, "%s: unknown server %q%s", why, name, didYouMean(name, names))
		return nil
	}
	if servers[i].broken {
		return nil
	}
	return servers[i]
}

// interruptions warns of moments that no scripted reply brings about, and of
// replies that come too late to be asked for.
func (c *checks) interruptions(s *Scenario) {
	for i, turn := range itemsOf(s.lint.root.Get("turns")) {
		if i >= len(s.Turns) || s.Turns[i].Interruption == nil {
			continue
		}
		at := s.Turns[i].Interruption
		replies := itemsOf(turn.Get("replies"))
		if len(replies) == 0 {
			continue // a real model's turn
		}
		n := 0
		for k, r := range replies {
			if n += callsOf(r, at.Tool); n < at.Nth {
				continue
			}
			if k+1 < len(replies) {
				c.doubt(replies[k+1], "the turn ends with the reply before this one (%s at %s)", at.Key(), at.Pos)
			}
			break
		}
		if n < at.Nth && len(itemsOf(s.lint.root.Get("rules"))) == 0 && len(itemsOf(s.lint.root.Get("lanes"))) == 0 {
			c.doubt(turn.Get(at.Key()), "the moment cannot come: it is call %d of %s, and the replies of the turn make %d", at.Nth, at.Tool, n)
		}
	}
}
