// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package project

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

// subjects reads the subjects that have a name, in their order.
func (r *reader) subjects(n *strictyaml.Node) []*subjects.Definition {
	if n.Kind != strictyaml.Map {
		r.object(n, "subjects", nil)
		return nil
	}
	var out []*subjects.Definition
	for _, p := range n.Pairs {
		name := p.Key.Text
		if strings.TrimSpace(name) == "" || strings.ContainsAny(name, " \t\n") {
			r.add(p.Key.Pos, "subjects: %q: a subject is called by one word", name)
			continue
		}
		if r.called == nil {
			r.called = map[string]bool{}
		}
		r.called[name] = true
		if d := r.described(p.Value, name); d != nil {
			out = append(out, d)
		}
	}
	return out
}

// described reads what a subject is.
func (r *reader) described(n *strictyaml.Node, name string) *subjects.Definition {
	if n.Kind != strictyaml.Map {
		if n.Kind != strictyaml.Invalid {
			r.add(n.Pos, "subject: want a map with agent, preset, command or http, got %s", n.Describe())
		}
		return nil
	}
	told := len(r.problems)
	d := subjects.Read(n, subjects.Options{Name: name, Add: func(at harness.Position, msg string) { r.add(at, "%s", msg) }})
	switch {
	case d == nil && len(r.problems) == told:
		meant := ""
		for _, p := range n.Pairs {
			meant = cmp.Or(meant, prose.DidYouMean(p.Key.Text, []string{"agent", "preset", "command", "http"}))
		}
		r.add(n.Pos, "a subject needs agent, preset, command or http, which says what it is%s", meant)
	case d != nil && d.Ref != "":
		r.add(n.Get("name").Pos, "name refers to a subject of %s, which is here: want agent, preset, command or http", File)
		return nil
	}
	return d
}

// subject reads the subject that plays what names no other: a name or a map.
func (r *reader) subject(n *strictyaml.Node, p *Project) *subjects.Definition {
	switch {
	case n == nil:
		return nil
	case n.Kind != strictyaml.String:
		return r.described(n, "")
	}
	if i := slices.IndexFunc(p.Subjects, func(d *subjects.Definition) bool { return d.Name == n.Text }); i >= 0 {
		return p.Subjects[i]
	}
	if r.called[n.Text] {
		return nil // what is wrong with it was said
	}
	if n.Text == subjects.Rehearse {
		return &subjects.Definition{Name: "rehearse-agent", Agent: subjects.Rehearse}
	}
	if slices.Contains(subjects.PresetNames(), n.Text) {
		d, err := subjects.FromPreset(n.Text)
		if err != nil {
			r.add(n.Pos, "subject: %v", err)
		}
		return d
	}
	var named []string
	for _, d := range p.Subjects {
		named = append(named, d.Name)
	}
	there := "subjects has none"
	if len(named) > 0 {
		there = "subjects has " + strings.Join(named, ", ")
	}
	r.add(n.Pos, "subject: %q is not among subjects%s", n.Text, subjects.Others(n.Text, named, there))
	return nil
}
