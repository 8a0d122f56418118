// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

func stopReasons() []string {
	var out []string
	for _, r := range harness.StopReasons() {
		out = append(out, string(r))
	}
	return out
}

// expectations compiles a list of expect. servers are those of the scenario;
// nil where they are not known.
func (l *loader) expectations(list *strictyaml.Node, servers []*serverEntry) []score.Scorer {
	var out []score.Scorer
	for _, n := range itemsOf(list) {
		if !usable(n) {
			continue
		}
		for _, p := range n.Pairs {
			if !usable(p.Value) {
				continue
			}
			if s := l.expectation(p.Key.Text, p.Value, n.Pos, servers); s != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

func (l *loader) expectation(kind string, n *strictyaml.Node, pos harness.Position, servers []*serverEntry) score.Scorer {
	switch kind {
	case "calls":
		return l.calls(n, pos)
	case "never":
		return score.Never{Tools: textsOf(n), Pos: pos}
	case "answer":
		return l.answer(n, pos)
	case "state":
		return l.state(n, pos, servers)
	case "files":
		return l.judgedFiles(n, pos)
	case "retries":
		l.contradictoryRetries(n)
		return score.Retries{Min: countOf(n.Get("min")), Max: countOf(n.Get("max")), Honoured: boolOf(n.Get("honoured")), Pos: pos}
	case "stops":
		return score.Stops{Reason: harness.StopReason(n.Text), Pos: pos}
	case "start_error":
		return score.StartError{Contains: textsOf(n.Get("contains")), NotContains: textsOf(n.Get("not_contains")), Regex: l.regexes(n.Get("regex")), Pos: pos}
	case "that":
		if p := l.condition(n, expr.That); p != nil {
			return score.That{Program: p, Pos: pos}
		}
	case "judge":
		return l.judge(n, pos)
	}
	return nil
}

// contradictoryRetries refuses bounds between which there is no number.
func (l *loader) contradictoryRetries(n *strictyaml.Node) {
	least, most := countOf(n.Get("min")), countOf(n.Get("max"))
	if least != nil && most != nil && *least > *most {
		l.problems.add(n.Get("max").Pos, "at most %d, and at least %d (%s): no number of retries is both", *most, *least, n.Get("min").Pos)
	}
}

// contradictoryAnswer refuses texts that an answer cannot have and lack at the
// same time.
func (l *loader) contradictoryAnswer(n *strictyaml.Node) {
	computed := func(t *strictyaml.Node) bool { return !usable(t) || t.Text == "" || strings.Contains(t.Text, "{{") }
	wanted := slices.Clone(itemsOf(n.Get("contains")))
	whole := n.Get("equals")
	if !computed(whole) {
		for _, want := range wanted {
			if !computed(want) && !strings.Contains(whole.Text, want.Text) {
				l.problems.add(want.Pos, "the answer cannot contain %q and equal the text at %s, which does not contain it", want.Text, whole.Pos)
			}
		}
		wanted = append(wanted, whole)
	}
	for _, unwanted := range itemsOf(n.Get("not_contains")) {
		for _, want := range wanted {
			if !computed(want) && !computed(unwanted) && strings.Contains(want.Text, unwanted.Text) {
				l.problems.add(unwanted.Pos, "an answer with the text at %s contains %q: no answer meets both", want.Pos, unwanted.Text)
			}
		}
	}
}

// judgedFiles compiles what is expected of files.
func (l *loader) judgedFiles(n *strictyaml.Node, pos harness.Position) score.Scorer {
	s := score.Files{Pos: pos}
	for _, p := range n.Pairs {
		if l.inWorkdir(p.Key); !usable(p.Value) {
			continue
		}
		want := score.FileText{Path: p.Key.Text, Absent: p.Value.Text == "absent"}
		if p.Value.Kind == strictyaml.Map {
			text := l.answer(p.Value, p.Key.Pos)
			want.Text = &text
		}
		s.List = append(s.List, want)
	}
	return s
}

func countOf(n *strictyaml.Node) *int {
	if !usable(n) {
		return nil
	}
	i := intOf(n)
	return &i
}

func (l *loader) calls(n *strictyaml.Node, pos harness.Position) score.Scorer {
	s := score.Calls{Pos: pos}
	list, exact := n, false
	if n.Kind == strictyaml.Map {
		list = n.Get("list")
		s.AnyOrder = textOf(n.Get("order")) == "any_order"
		s.AllowExtra = textOf(n.Get("extra")) == "allow"
		s.AllowMissing = textOf(n.Get("missing")) == "allow"
		switch textOf(n.Get("arguments")) {
		case "exact":
			exact = true
		case "ignore":
			s.Arguments = score.ArgumentsIgnore
		case "schema":
			s.Arguments = score.ArgumentsSchema
		}
	}
	for _, item := range itemsOf(list) {
		tool, args, ok := callParts(item)
		if !ok {
			continue
		}
		p := score.CallPattern{Tool: tool, Pos: item.Pos}
		if args != nil {
			p.Args = l.matcher(args, match.Options{Scope: expr.Expectation, Exact: exact, Root: "args"})
		}
		s.List = append(s.List, p)
	}
	return s
}

func (l *loader) answer(n *strictyaml.Node, pos harness.Position) score.Answer {
	s := score.Answer{
		Contains:    l.templates(n.Get("contains")),
		NotContains: l.templates(n.Get("not_contains")),
		Equals:      l.template(n.Get("equals"), expr.Expectation),
		JSON:        l.matcher(n.Get("json"), match.Options{Scope: expr.Expectation, Root: "answer"}),
		Pos:         pos,
	}
	l.contradictoryAnswer(n)
	s.Regex = l.regexes(n.Get("regex"))
	return s
}

func (l *loader) regexes(list *strictyaml.Node) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, item := range itemsOf(list) {
		if !usable(item) {
			continue
		}
		re, err := regexp.Compile(item.Text)
		if err != nil {
			l.problems.add(item.Pos, "%q is not a regular expression: %s", item.Text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			continue
		}
		out = append(out, re)
	}
	return out
}

func (l *loader) templates(list *strictyaml.Node) []*expr.Template {
	var out []*expr.Template
	for _, item := range itemsOf(list) {
		if t := l.template(item, expr.Expectation); t != nil {
			out = append(out, t)
		}
	}
	return out
}

func (l *loader) state(n *strictyaml.Node, pos harness.Position, servers []*serverEntry) score.Scorer {
	s := score.State{Servers: map[string]*match.Matcher{}, Pos: pos}
	for _, p := range n.Pairs {
		name := p.Key.Text
		if servers != nil {
			var names []string
			for _, entry := range servers {
				names = append(names, entry.server.Name)
			}
			switch i := slices.Index(names, name); {
			case i < 0:
				l.problems.add(p.Key.Pos, "unknown server %q%s", name, didYouMean(name, names))
				continue
			case servers[i].broken:
				continue
			case servers[i].script == nil:
				l.problems.add(p.Key.Pos, "%q is a real server: only the state of a mock server is known", name)
				continue
			}
		}
		if m := l.matcher(p.Value, match.Options{Scope: expr.Expectation, Root: name}); m != nil {
			s.Servers[name] = m
		}
	}
	return s
}
