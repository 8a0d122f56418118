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

// singleBraces warns about texts with {result.x} in them: {{ }} computes, and
// nothing else does.
func (c *checks) singleBraces(n *strictyaml.Node, key string) {
	if !usable(n) {
		return
	}
	switch n.Kind {
	case strictyaml.String:
		if m := singleBrace.FindStringSubmatch(n.Text); m != nil {
			c.doubt(n, "{%s} is text as it stands: write {{%s}} for what it comes to", m[1], m[1])
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
