// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

// varsOf warns about vars that a server file reads and a scenario that uses
// it does not have. It is no mistake of either file.
func (c *checks) varsOf(s *Scenario, server *serverScript) {
	for _, e := range server.exprs {
		for _, msg := range missingVars(e, s.lint.rows, "the scenario has no cases") {
			c.problems.add(e.pos, "%s (used by %s)", msg, s.Pos)
		}
	}
}

// bareNames warns about names without a server that no server lists: the mock
// model sends them as they are written.
func (c *checks) bareNames(root *strictyaml.Node) {
	var listed, dotted []string
	offered := map[string]bool{}
	for _, p := range pairsOf(root.Get("names")) {
		offered[textOf(p.Value)] = true
	}
	for _, e := range c.servers {
		if e.script == nil {
			return // a real server may have any tools, and a broken one too
		}
		for _, t := range e.script.all() {
			server, name := e.server.Name, t.tool.Name
			listed, dotted = append(listed, name), append(dotted, server+"."+name)
			for _, style := range []string{name, "mcp_" + server + "_" + name, "mcp__" + server + "__" + name, server + "_" + name} {
				offered[toolname.Fit(style)], offered[style] = true, true
			}
		}
	}
	if len(c.servers) == 0 {
		return
	}
	eachCall(root, func(n *strictyaml.Node) {
		if strings.Contains(n.Text, ".") || offered[n.Text] {
			return
		}
		hint := ""
		if best := prose.Suggest(n.Text, listed); best != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", dotted[slices.Index(listed, best)])
		}
		c.doubt(n, "no server lists a tool %q%s: a name without a dot is sent as written, here as an unknown tool", n.Text, hint)
	})
}

// unanswered warns about a turn that ends in tool calls.
func (c *checks) unanswered(root *strictyaml.Node) {
	stops := func(list *strictyaml.Node) bool {
		return slices.ContainsFunc(itemsOf(list), func(n *strictyaml.Node) bool { return n.Get("stops") != nil })
	}
	if root.Get("rules") != nil || root.Get("model").Get("faults") != nil || stops(root.Get("expect")) {
		return // something else may answer, or end the turn
	}
	for _, t := range itemsOf(root.Get("turns")) {
		replies := itemsOf(t.Get("replies"))
		if len(replies) == 0 || stops(t.Get("expect")) || boolOf(t.Get("single_call")) || t.Get("interrupt") != nil || t.Get("kill") != nil {
			continue
		}
		last := replies[len(replies)-1]
		if len(itemsOf(last.Get("calls"))) > 0 && last.Get("fault") == nil {
			c.doubt(last, "the turn ends with tool calls and without an answer: add a reply with say, or expect stops")
		}
	}
}

// stateKeys warns about keys of the state that neither the file has nor any
// set makes.
func (c *checks) stateKeys(s *serverScript) {
	var known []string
	add := func(n *strictyaml.Node) bool {
		for _, p := range pairsOf(n) {
			if strings.HasPrefix(p.Key.Text, "$") || strings.Contains(p.Key.Text, "{{") {
				return false
			}
			known = append(known, p.Key.Text)
		}
		return true
	}
	add(s.node.Get("state"))
	for _, t := range s.tools {
		for _, r := range itemsOf(t.node.Get("results")) {
			if !add(r.Get("set")) {
				return // any key may come of it
			}
		}
	}
	for _, e := range s.exprs {
		for _, key := range e.prog.Keys("state") {
			if !slices.Contains(known, key) {
				c.problems.add(e.pos, "the state has no key %q%s, and no set creates it", key, didYouMean(key, known))
			}
		}
	}
}

// argumentKeys warns about arguments that expressions read and the tool's
// schema does not have.
func (c *checks) argumentKeys(s *serverScript) {
	for _, t := range s.tools {
		input := t.node.Get("input")
		var known []string
		for _, p := range pairsOf(input.Get("properties")) {
			known = append(known, p.Key.Text)
		}
		extra := input.Get("additionalProperties")
		closed := extra != nil && textOf(extra) == "false"
		for _, e := range t.exprs {
			for _, key := range e.prog.Keys("args") {
				if hint := didYouMean(key, known); !slices.Contains(known, key) && (closed || hint != "") {
					c.problems.add(e.pos, "the schema of %s has no argument %q%s", t.tool.Name, key, hint)
				}
			}
		}
	}
}
