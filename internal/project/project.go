// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package project reads rehearse.yaml, the settings of a project. It is looked
// for in a folder and then in the folders above, and the nearest counts:
//
//	p, err := project.Find("scenarios/chem")
//	if err != nil {
//		return err
//	}
//	rules := &redact.Rules{Keep: p.Redact.Keep}
//
// A project without the file has the zero settings.
//
//	redact:
//	  keep: [thought_signature, "**.embedding"] # written as it came
//	  runs: false                               # run folders and reports hold what tools and models said, keys and all
//	models:
//	  gpt:     {model: argo:gpt-4o, base_url: "http://localhost:8000/v1", price: {input: 2.5, output: 10, date: "2026-01-31"}}
//	  gpt-hot: {model: argo:gpt-4o, temperature: 1}
//	  gemini:  {model: gemini-2.5-flash, key: GEMINI_API_KEY, rate: 60/min} # the name of the variable, never the key
//	subjects:
//	  ours:   {agent: rehearse, tool_concurrency: 1}
//	  theirs: {command: [python3, agent.py, "{prompt}"]}
//	subject: theirs # that plays what names no other
//	budget: 5usd # of each run against a real endpoint
//	judge: {model: gpt} # whom the LLM judges ask
//	client: {base_url: "http://localhost:8000/v1", model: argo:gpt-4o, mcp_config: mcp.json} # of chat, serve agent and doctor
package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

// File is the name of the file.
const File = "rehearse.yaml"

// Project is what the file says.
type Project struct {
	// Path of the file; empty when there is none.
	Path   string
	Redact Redact
	// Models are the model entries, in their order.
	Models []trials.Model
	// Budget of each run against a real endpoint that is given no other.
	Budget trials.Budget
	// Subjects are the subjects that have a name, in their order, and Subject is
	// the one that plays scenarios that name none; nil leaves it to whoever runs
	// them.
	Subjects []*subjects.Definition
	Subject  *subjects.Definition
	// Judge is the label of the model entry that LLM judges are asked by where
	// nothing else names one. Empty is none.
	Judge string
	// Client is what clients use that are told nothing else.
	Client Client
}

// Redact says what is taken out of what is written.
type Redact struct {
	// Keep are places in recordings that are written as they came, see
	// redact.Rules.Keep. Default none.
	Keep []string
	// Runs says that known shapes of keys are taken out of run folders and
	// reports. Default true.
	Runs bool
}

// Find reads the file of a folder, or of the nearest one above it.
func Find(dir string) (*Project, error) {
	none := &Project{Redact: Redact{Runs: true}}
	dir, err := filepath.Abs(cmp.Or(dir, "."))
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", File, err)
	}
	for {
		p, err := Load(filepath.Join(dir, File))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
		above := filepath.Dir(dir)
		if above == dir {
			return none, nil
		}
		dir = above
	}
}

// maxBytes bounds the file, which people write.
const maxBytes = 1 << 20

// Load reads a file. An error about what it says is [Errors].
func Load(path string) (*Project, error) {
	data, err := plainfile.Read(path, maxBytes)
	if err != nil {
		return nil, err // names the file
	}
	return Parse(path, data)
}

// Errors are the mistakes of a file, in its order.
type Errors []strictyaml.Problem

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Parse reads the content of a file.
func Parse(path string, data []byte) (*Project, error) {
	p := &Project{Path: path, Redact: Redact{Runs: true}}
	if nothing(string(data)) {
		return p, nil
	}
	root, problems := strictyaml.Parse(path, data)
	r := &reader{problems: problems}
	var judge, subject *strictyaml.Node
	if root != nil && root.Kind != strictyaml.Null {
		r.object(root, "the file", map[string]func(*strictyaml.Node){
			"redact":   func(n *strictyaml.Node) { r.redact(n, &p.Redact) },
			"models":   func(n *strictyaml.Node) { p.Models = r.models(n) },
			"budget":   func(n *strictyaml.Node) { p.Budget = parsed(r, n, "budget", trials.ParseBudget) },
			"judge":    func(n *strictyaml.Node) { judge, p.Judge = n, r.judge(n) },
			"subjects": func(n *strictyaml.Node) { p.Subjects = r.subjects(n) },
			"subject":  func(n *strictyaml.Node) { subject = n },
			"client":   func(n *strictyaml.Node) { r.client(n, &p.Client) },
		})
		r.known(judge, p)
		p.Subject = r.subject(subject, p)
	}
	if len(r.problems) == 0 {
		return p, nil
	}
	slices.SortStableFunc(r.problems, func(a, b strictyaml.Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return nil, Errors(r.problems)
}

// nothing reports whether there are comments at most.
func nothing(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// reader collects the mistakes of a file.
type reader struct {
	problems []strictyaml.Problem
	called   map[string]bool // the names of subjects, also of those with mistakes
}

func (r *reader) add(at harness.Position, format string, args ...any) {
	r.problems = append(r.problems, strictyaml.Problem{Pos: at, Msg: fmt.Sprintf(format, args...)})
}

// object reads a map of known keys.
func (r *reader) object(n *strictyaml.Node, what string, keys map[string]func(*strictyaml.Node)) {
	switch n.Kind {
	case strictyaml.Map:
	case strictyaml.Invalid, strictyaml.Null:
		return // told, or nothing is said
	default:
		r.add(n.Pos, "%s: want a map, got %s", what, n.Describe())
		return
	}
	var known []string
	for k := range keys {
		known = append(known, k)
	}
	slices.Sort(known)
	for _, pair := range n.Pairs {
		read, ok := keys[pair.Key.Text]
		if !ok {
			r.add(pair.Key.Pos, "%s has no key %q%s", what, pair.Key.Text, prose.MeantOr(pair.Key.Text, known, "; it has "+strings.Join(known, ", ")))
			continue
		}
		read(pair.Value)
	}
}

func (r *reader) redact(n *strictyaml.Node, into *Redact) {
	r.object(n, "redact", map[string]func(*strictyaml.Node){
		"keep": func(n *strictyaml.Node) { into.Keep = r.paths(n, "redact.keep") },
		"runs": func(n *strictyaml.Node) {
			switch {
			case n.Kind == strictyaml.Bool:
				into.Runs = n.Text == "true"
			case n.Kind != strictyaml.Invalid:
				r.add(n.Pos, "redact.runs: want true or false, got %s", n.Describe())
			}
		},
	})
}

// paths reads a list of paths into JSON.
func (r *reader) paths(n *strictyaml.Node, what string) []string {
	if n.Kind != strictyaml.List {
		if n.Kind != strictyaml.Invalid {
			r.add(n.Pos, "%s: want a list of paths, got %s", what, n.Describe())
		}
		return nil
	}
	var out []string
	for _, item := range n.Items {
		if item.Kind != strictyaml.String {
			if item.Kind != strictyaml.Invalid {
				r.add(item.Pos, "%s: want a path, got %s", what, item.Describe())
			}
			continue
		}
		p, err := key.ParsePath(item.Text)
		switch {
		case err != nil:
			r.add(item.Pos, "%s: %v", what, err)
		case !p.Whole():
			r.add(item.Pos, "%s: path %q: a part of a text cannot be kept; leave out =~ and what follows", what, item.Text)
		default:
			out = append(out, item.Text)
		}
	}
	return out
}
