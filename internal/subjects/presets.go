// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// Preset is what is known of an agent that somebody else wrote. Its file is the
// description of a subject, with some keys more.
type Preset struct {
	Name    string
	About   string   // a phrase
	Package string   // at npm or PyPI
	Version string   // that the preset was tried with
	Example string   // path in the repository of a script that its command may start; empty for a program
	Notes   []string // sentences: what is unusual

	node *strictyaml.Node
}

// presetKeys are the keys of a preset that are not those of a subject.
func presetKeys() []string { return []string{"about", "package", "version", "example", "notes"} }

// Presets are all presets, by name.
func Presets() []Preset {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(fmt.Sprintf("subjects: reading the presets: %v", err)) // they are embedded
	}
	var out []Preset
	for _, f := range files {
		data, err := presetFiles.ReadFile(path.Join("presets", f.Name()))
		if err != nil {
			panic(fmt.Sprintf("subjects: reading a preset: %v", err))
		}
		n, problems := strictyaml.Parse(f.Name(), data)
		if len(problems) > 0 {
			panic(fmt.Sprintf("subjects: reading a preset: %v", problems[0]))
		}
		p := Preset{Name: strings.TrimSuffix(f.Name(), ".yaml"), node: n}
		for key, to := range map[string]*string{"about": &p.About, "package": &p.Package, "version": &p.Version, "example": &p.Example} {
			if v := n.Get(key); v != nil {
				*to = v.Text
			}
		}
		if notes := n.Get("notes"); notes != nil {
			for _, note := range notes.Items {
				p.Notes = append(p.Notes, note.Text)
			}
		}
		out = append(out, p)
	}
	return out
}

// PresetNames are the names of the presets.
func PresetNames() []string {
	var out []string
	for _, p := range Presets() {
		out = append(out, p.Name)
	}
	return out
}

// Others is the end of a message about a name that no subject has: which one was
// meant, and what there is. there says it of the named ones.
func Others(name string, named []string, there string) string {
	known := slices.Concat(named, []string{Rehearse}, PresetNames())
	return fmt.Sprintf("%s; %s; without a description there are %s and the presets %s",
		prose.DidYouMean(name, known), there, Rehearse, strings.Join(PresetNames(), ", "))
}

// FromPreset is the subject that a preset describes, with the words of a command
// or none. It is an error for a preset of a library, which needs a command.
func FromPreset(name string, words ...string) (*Definition, error) {
	text := func(s string) *strictyaml.Node { return &strictyaml.Node{Kind: strictyaml.String, Text: s} }
	n := &strictyaml.Node{Kind: strictyaml.Map, Pairs: []strictyaml.Pair{{Key: text("preset"), Value: text(name)}}}
	if len(words) > 0 {
		list := &strictyaml.Node{Kind: strictyaml.List}
		for _, word := range words {
			list.Items = append(list.Items, text(word))
		}
		n.Pairs = append(n.Pairs, strictyaml.Pair{Key: text("command"), Value: list})
	}
	var problem error
	d := Read(n, Options{Add: func(_ harness.Position, msg string) { problem = fmt.Errorf("%s", msg) }})
	return d, problem
}

// withPreset is a description with what its preset says below it. What the
// description says itself counts; env, files and excuses are joined.
func (r *reader) withPreset(n *strictyaml.Node) *strictyaml.Node {
	name := r.text(n.Get("preset"), "preset")
	if name == "" {
		return n
	}
	all := Presets()
	i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		r.add(n.Get("preset").Pos, "there is no preset %q%s; there are %s", name, prose.DidYouMean(name, PresetNames()), strings.Join(PresetNames(), ", "))
		return n
	}
	if all[i].Example != "" && n.Get("command") == nil && n.Get("http") == nil {
		r.add(n.Get("preset").Pos, "preset %s is for a script of yours: want command too, such as command: [%s, \"{prompt}\"]. The script reads the address of the model and the servers from its environment: docs/subjects.md has the names, and %s of rehearse's repository is one to copy", name, starts(all[i].Example), all[i].Example)
		return n
	}
	for _, key := range []string{"agent", "http"} {
		if at := n.Key(key); at != nil && all[i].node.Get("command") != nil {
			r.add(at.Pos, "preset %s says what the subject is: leave out %s, or the preset", name, key)
		}
	}
	out := *n
	out.Pairs = nil
	for _, p := range all[i].node.Pairs {
		key := p.Key.Text
		switch own := n.Get(key); {
		case slices.Contains(presetKeys(), key):
		case own == nil:
			out.Pairs = append(out.Pairs, p)
		case own.Kind == strictyaml.Map && p.Value.Kind == strictyaml.Map && slices.Contains([]string{"env", "files", "excuses"}, key):
			p.Value = joined(p.Value, own)
			out.Pairs = append(out.Pairs, p)
		default:
			out.Pairs = append(out.Pairs, strictyaml.Pair{Key: n.Key(key), Value: own})
		}
	}
	for _, p := range n.Pairs {
		if all[i].node.Get(p.Key.Text) == nil {
			out.Pairs = append(out.Pairs, p)
		}
	}
	return &out
}

// starts are the words that start a script of the kind of an example.
func starts(example string) string {
	if path.Ext(example) == ".mjs" {
		return "node, agent.mjs"
	}
	return "python3, agent.py"
}

// joined is a map with the pairs of another one over its own.
func joined(base, over *strictyaml.Node) *strictyaml.Node {
	out := *over
	out.Pairs = slices.DeleteFunc(slices.Clone(base.Pairs), func(p strictyaml.Pair) bool { return over.Get(p.Key.Text) != nil })
	out.Pairs = append(out.Pairs, over.Pairs...)
	return &out
}
