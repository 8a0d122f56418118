// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// singleBrace is an expression between { }, which is sent as it is written.
var singleBrace = regexp.MustCompile(`(?:^|[^{$])\{\s*((?:result|results|vars|args|state)\s*(?:[.\[(][^{}]*)?)\}(?:[^}]|$)`)

// singleBraces warns about texts with {result.x} or result.x}} in them: {{ }}
// computes, and nothing else does.
func (c *checks) singleBraces(n *strictyaml.Node, key string) {
	if !usable(n) {
		return
	}
	switch n.Kind {
	case strictyaml.String:
		if m := singleBrace.FindStringSubmatch(n.Text); m != nil {
			c.doubt(n, "{%s} is plain text: write {{%s}} for its value", m[1], m[1])
		} else if unopened(n.Text) {
			c.doubt(n, "}} has no {{ before it, so that the text is sent as it is written: write {{result.x}} for a value")
		}
	case strictyaml.List:
		for _, item := range n.Items {
			c.singleBraces(item, key)
		}
	case strictyaml.Map:
		for _, p := range n.Pairs {
			if !slices.Contains([]string{"$literal", "$cel", "$that", "$regex", "$schema", "regex", "that", "when", "failed_when", "description", "input", "output"}, p.Key.Text) {
				c.singleBraces(p.Value, p.Key.Text)
			}
		}
	}
}

// unopened says that }} in a text ends nothing. JSON may end with it, but then
// has as many braces that open.
func unopened(text string) bool {
	return strings.Contains(text, "}}") && !strings.Contains(text, "{{") && strings.Count(text, "{") < strings.Count(text, "}")
}

// unusedVars warns about keys of the cases that nothing reads.
func (c *checks) unusedVars(s *Scenario) {
	exprs := s.lint.exprs
	for _, e := range s.lint.servers {
		if e.script != nil {
			exprs = slices.Concat(exprs, e.script.exprs)
		}
	}
	var texts []string
	for _, e := range exprs {
		if !e.prog.Reads("vars") {
			continue
		}
		if len(e.prog.Keys("vars")) == 0 && !strings.Contains(e.prog.String(), "vars.") {
			return // which key it reads is not written down
		}
		texts = append(texts, e.prog.String())
	}
	all := strings.Join(texts, "\n")
	seen := map[string]bool{}
	for _, row := range itemsOf(s.lint.root.Get("cases")) {
		for _, p := range pairsOf(row.Get("vars")) {
			key := p.Key.Text
			if !seen[key] && !regexp.MustCompile(`\b`+regexp.QuoteMeta(key)+`\b`).MatchString(all) {
				c.doubt(p.Key, "nothing reads vars.%s", key)
			}
			seen[key] = true
		}
	}
}

// expectedTexts warns about texts that are expected and decide nothing, or
// cannot be met: what a block's last line break makes of them, and empty ones.
func (c *checks) expectedTexts(root *strictyaml.Node) {
	lists := itemsOf(root.Get("expect"))
	for _, t := range itemsOf(root.Get("turns")) {
		lists = append(lists, itemsOf(t.Get("expect"))...)
	}
	for _, n := range lists {
		for _, p := range pairsOf(n.Get("files")) { // whose texts may well end in a line break
			if !usable(p.Value) || p.Value.Kind != strictyaml.Map {
				continue
			}
			for _, text := range itemsOf(p.Value.Get("contains")) {
				if usable(text) && text.Text == "" {
					c.expectedText(text, "", alwaysHolds)
				}
			}
		}
		for _, k := range []string{"answer", "start_error"} {
			what := n.Get(k)
			if !usable(what) || what.Kind != strictyaml.Map {
				continue
			}
			for _, text := range itemsOf(what.Get("contains")) {
				c.expectedText(text, "more text in a new line must follow", alwaysHolds)
			}
			for _, text := range itemsOf(what.Get("not_contains")) {
				c.expectedText(text, "it holds as long as no new line follows", "it never holds, since every text contains it")
			}
			for _, text := range itemsOf(what.Get("regex")) {
				c.expectedPattern(text, brokenPattern)
			}
			if text := what.Get("equals"); usable(text) && text.Kind == strictyaml.String {
				c.expectedText(text, "the answer must also end in one", "")
			}
		}
		c.patterns(n, false)
	}
}

// alwaysHolds is said of an empty text that is to be contained.
const alwaysHolds = "it always holds, since every text contains it"

// expectedText warns about a text with the line break of its block at the end,
// and about an empty one.
func (c *checks) expectedText(n *strictyaml.Node, broken, empty string) {
	if !usable(n) || n.Kind != strictyaml.String {
		return
	}
	switch {
	case n.Block && strings.HasSuffix(n.Text, "\n"):
		c.doubt(n, "the text ends in the line break of its block, so %s: write |- (or >-) to leave the line break out", broken)
	case n.Text == "" && empty == alwaysHolds:
		c.cannotFail(n, "an empty text: %s", empty)
	case n.Text == "" && empty != "":
		c.doubt(n, "an empty text: %s", empty)
	}
}

// expectedPattern is the same for a regular expression. One that matches the
// empty text matches inside every other.
func (c *checks) expectedPattern(n *strictyaml.Node, broken string) {
	c.expectedText(n, broken, "")
	if !usable(n) || n.Kind != strictyaml.String {
		return
	}
	if re, err := regexp.Compile(n.Text); err == nil && re.MatchString("") && re.MatchString("\x01") {
		c.doubt(n, "the expression matches any text: anchor it with ^ and $")
	}
}

// What the line break at the end of a block makes of what it is matched with.
const (
	brokenPattern    = "a new line must follow what matches"
	brokenNotPattern = "it holds as long as no new line follows what matches"
	brokenWhole      = "the text must also end in one"
	brokenNotWhole   = "it holds for the text without one"
)

// patterns looks for texts in what values are matched with. negated is below
// $not, where a text that cannot be met always holds. Elsewhere a block may be
// what an argument is, line break and all.
func (c *checks) patterns(n *strictyaml.Node, negated bool) {
	if !usable(n) {
		return
	}
	if negated && n.Kind == strictyaml.String {
		c.expectedText(n, brokenNotWhole, "")
	}
	pattern, whole := brokenPattern, brokenWhole
	if negated {
		pattern, whole = brokenNotPattern, brokenNotWhole
	}
	for _, item := range n.Items {
		c.patterns(item, negated)
	}
	for _, p := range n.Pairs {
		switch p.Key.Text {
		case "$regex":
			c.expectedPattern(p.Value, pattern)
		case "$glob":
			c.expectedText(p.Value, whole, "")
		case "$not":
			c.patterns(p.Value, !negated)
		case "$literal":
			if negated && usable(p.Value) && p.Value.Kind == strictyaml.String {
				c.expectedText(p.Value, brokenNotWhole, "")
			}
		case "$schema", "$that", "$cel", "$normalize", "that", "when":
		default:
			c.patterns(p.Value, negated)
		}
	}
}

// matchedTexts is the same for anything that is not an expectation: the user
// texts that begin a turn, and the arguments, requests and states that a reply,
// a result or a fault waits for. What replies and results say is left alone.
func (c *checks) matchedTexts(n *strictyaml.Node) {
	if !usable(n) {
		return
	}
	for _, item := range n.Items {
		c.matchedTexts(item)
	}
	for _, p := range n.Pairs {
		switch p.Key.Text {
		case "user":
			for _, text := range itemsOf(p.Value.Get("contains")) {
				c.expectedText(text, "more text in a new line must follow", "")
			}
			if text := p.Value.Get("regex"); usable(text) {
				c.expectedPattern(text, brokenPattern)
			}
		case "args", "match", "state":
			if p.Key.Text != "state" || n.Get("tools") == nil { // else the state of a mock server
				c.patterns(p.Value, false)
			}
		case "expect", "calls", "json", "structured", "set", "meta", "input", "output", "vars", "cases", "description":
		default:
			c.matchedTexts(p.Value)
		}
	}
}
