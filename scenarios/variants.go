// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

// variant is one of a suite's, compiled for a scenario.
type variant struct {
	name     string
	hash     string
	settings harness.Settings
	tools    map[string]wording // by server.tool
}

// wording replaces what is listed of a tool; nil leaves it.
type wording struct {
	description *string
	input       json.RawMessage
}

// Variants are the names of the variants of its suite, in their order; none for
// a suite without.
func (s *Scenario) Variants() []string {
	var out []string
	for _, v := range s.variants {
		out = append(out, v.name)
	}
	return out
}

// In returns the scenario as it is played in a variant; nil for one that its
// suite does not have. The empty variant is the scenario as it stands.
func (s *Scenario) In(name string) *Scenario {
	if name == "" {
		return s
	}
	i := slices.IndexFunc(s.variants, func(v variant) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	out, v := *s, &s.variants[i]
	out.Variant, out.VariantHash, out.Settings = v.name, v.hash, v.settings
	out.Servers = slices.Clone(s.Servers)
	for i, server := range out.Servers {
		if server.Mock == nil {
			continue
		}
		changed, mock := *server, *server.Mock
		mock.Tools = slices.Clone(mock.Tools)
		for i := range mock.Tools {
			t := &mock.Tools[i]
			w, ok := v.tools[server.Name+"."+t.Name]
			if !ok {
				continue
			}
			if w.description != nil {
				t.Description = *w.description
			}
			if w.input != nil {
				t.Input = w.input
			}
			*t = t.Shared()
		}
		changed.Mock = &mock
		out.Servers[i] = &changed
	}
	return &out
}

// Played are the scenario in each of its variants, or else the scenario alone.
func (s *Scenario) Played() []*Scenario {
	if len(s.variants) == 0 {
		return []*Scenario{s}
	}
	var out []*Scenario
	for _, v := range s.variants {
		out = append(out, s.In(v.name))
	}
	return out
}

func variantObjects() []*object {
	return []*object{
		{
			name: "variant", doc: "What a variant changes. Without any key it is the scenarios as they stand.",
			keys: []key{
				description(),
				{name: "system", typ: text(), def: "the scenario's", doc: "The system message, in place of `model: {system}`."},
				{name: "subject", typ: objectOf("subject"), def: "the scenario's", doc: "Settings of the subject, over those of the scenario."},
				{name: "tools", typ: mapOf(objectOf("wording")), def: "none", doc: "What is listed of tools of mock servers, by `server.tool`."},
			},
		},
		{
			name: "wording", doc: "What a variant lists of a tool. Its results stay as they are.", some: []string{"description", "input"},
			keys: []key{
				{name: "description", typ: text(), def: "the server's", doc: "The description for the model."},
				{name: "input", typ: anyMap(), def: "the server's", doc: "JSON Schema of the arguments."},
			},
		},
	}
}

// variants compiles those of a suite for a scenario. model and subject are its
// own settings.
func (l *loader) variants(suite, root *strictyaml.Node, entries []*serverEntry) []variant {
	var out []variant
	for _, p := range pairsOf(suite.Get("variants")) {
		v := variant{name: p.Key.Text, hash: variantHash(p.Value), tools: map[string]wording{}}
		if strings.TrimSpace(v.name) == "" {
			l.problems.add(p.Key.Pos, "a variant needs a name")
			continue
		}
		subject := subjectMap(root.Get("subject"))
		if own := p.Value.Get("subject"); usable(own) {
			for _, name := range subjects.Keys() {
				if at := own.Key(name); at != nil {
					l.problems.add(at.Pos, "a variant changes settings of the subject, not what it is: play another one with --subject")
				}
			}
			if usable(subject) {
				own = deep(subject, own)
			}
			subject = own
		}
		v.settings = l.settings(root.Get("model"), subject)
		if system := p.Value.Get("system"); usable(system) {
			v.settings.System = l.expand(system)
		}
		for _, t := range pairsOf(p.Value.Get("tools")) {
			v.tools[t.Key.Text] = l.wording(t, entries)
		}
		out = append(out, v)
	}
	return out
}

// variantHash is of all that a variant changes.
func variantHash(n *strictyaml.Node) string {
	h := sha256.New()
	for _, p := range pairsOf(n) {
		if p.Key.Text != "description" {
			fmt.Fprintf(h, "%q %s\n", p.Key.Text, p.Value.JSON())
		}
	}
	return sum(h)
}

func (l *loader) wording(p strictyaml.Pair, entries []*serverEntry) wording {
	w := wording{input: l.schema(p.Value.Get("input"))}
	if d := p.Value.Get("description"); usable(d) {
		text := d.Text
		w.description = &text
	}
	server, tool, ok := strings.Cut(p.Key.Text, ".")
	if !ok || server == "" || tool == "" {
		l.problems.add(p.Key.Pos, "a variant names a tool as server.tool, such as weather.get_weather; got %q", p.Key.Text)
		return w
	}
	for _, e := range entries {
		switch {
		case e.server.Name != server || e.broken:
		case e.script == nil:
			l.problems.add(p.Key.Pos, "a variant changes tools of mock servers only, and %q is a real server", server)
		default:
			var known []string
			for _, t := range e.script.tools {
				known = append(known, t.tool.Name)
			}
			if !slices.Contains(known, tool) {
				l.problems.add(p.Key.Pos, "server %q has no tool %q%s; it has %s", server, tool, didYouMean(tool, known), cmp.Or(strings.Join(known, ", "), "none"))
			}
		}
	}
	return w
}

// knownVariants refuses variants of tools of servers that no scenario of the
// suite has. It can tell only when the whole folder was loaded.
func (l *loader) knownVariants(set *Set) {
	for _, path := range set.Suites {
		var known []string
		for _, s := range set.Scenarios {
			if filepath.Dir(filepath.FromSlash(s.Pos.File)) != filepath.Dir(path) {
				continue
			}
			for _, server := range s.Servers {
				known = append(known, server.Name)
			}
		}
		slices.Sort(known)
		known = slices.Compact(known)
		for _, v := range pairsOf(l.docs[filepath.Clean(path)].root.Get("variants")) {
			for _, t := range pairsOf(v.Value.Get("tools")) {
				if server, _, ok := strings.Cut(t.Key.Text, "."); ok && !slices.Contains(known, server) {
					l.problems.add(t.Key.Pos, "no scenario of the suite has a server %q%s; the servers are %s", server, didYouMean(server, known), cmp.Or(strings.Join(known, ", "), "none"))
				}
			}
		}
	}
}
