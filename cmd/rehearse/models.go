// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// modelFlags name the model entries of a run.
type modelFlags struct {
	models []string // --model
	file   string   // --models
}

// entries are the model entries that flags name, and, where they name none and
// all is set, all that the project has.
func (f *modelFlags) entries(paths []string, all bool) ([]trials.Model, error) {
	known, file, err := f.known(paths)
	if err != nil {
		return nil, err
	}
	if len(f.models) == 0 {
		if all || f.file != "" {
			return known, nil
		}
		return nil, nil
	}
	var out []trials.Model
	for _, text := range f.models {
		m, err := modelFlag("--model", text, known)
		if err != nil {
			return nil, err
		}
		if f.file != "" && !slices.ContainsFunc(known, func(k trials.Model) bool { return k.Label == m.Label }) && m.Label == text {
			return nil, fmt.Errorf("--model %q is not in --models%s; %s has %s", text, prose.DidYouMean(text, labels(known)), file, strings.Join(labels(known), ", "))
		}
		out = append(out, m)
	}
	return out, nil
}

// judge is the model entry that --judge names.
func (f *modelFlags) judge(text string, paths []string) (trials.Model, error) {
	known, _, err := f.known(paths)
	if err != nil {
		return trials.Model{}, err
	}
	return modelFlag("--judge", text, known)
}

func labels(list []trials.Model) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Label)
	}
	return out
}

// known are the entries that have a label in a file: in that of --models, else
// in the rehearse.yaml that the scenarios are of.
func (f *modelFlags) known(paths []string) (list []trials.Model, file string, err error) {
	if f.file != "" {
		p, err := project.Load(f.file)
		if err != nil {
			return nil, "", err
		}
		if len(p.Models) == 0 {
			return nil, "", fmt.Errorf("--models %q has no model: want a file with the key models, as in rehearse.yaml", f.file)
		}
		return p.Models, f.file, nil
	}
	for _, path := range paths {
		p, err := project.Find(folderOf(path))
		if err != nil {
			return nil, "", err
		}
		switch {
		case len(p.Models) == 0 || p.Path == file:
		case file != "":
			return nil, "", fmt.Errorf("the scenarios are of two projects with models, %s and %s: name one with --models", file, p.Path)
		default:
			list, file = p.Models, p.Path
		}
	}
	return list, file, nil
}

// budget is that of the file of --models, else of the rehearse.yaml that the
// scenarios are of. The zero Budget is none.
func (f *modelFlags) budget(paths []string) (trials.Budget, error) {
	if f.file != "" {
		p, err := project.Load(f.file)
		if err != nil {
			return trials.Budget{}, err
		}
		return p.Budget, nil
	}
	var of *project.Project
	for _, path := range paths {
		p, err := project.Find(folderOf(path))
		if err != nil {
			return trials.Budget{}, err
		}
		if of != nil && of.Budget != p.Budget {
			return trials.Budget{}, fmt.Errorf("the scenarios are of projects with different budgets, %s and %s: give one with --budget", of.Path, p.Path)
		}
		of = p
	}
	return of.Budget, nil
}

// folderOf is the folder in which the project of a path is looked for.
func folderOf(path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// addressLike matches a name that ends in an address: a host with a port, or
// with the path of an API.
var addressLike = regexp.MustCompile(`@[^@]*(:[0-9]{2,5}(/.*)?|/v[0-9][^@]*)$`)

// modelFlag reads one value of --model or --judge, whichever flag is: a label of
// a file, the name of a model, or LABEL=NAME@URL with or without a label or a URL.
func modelFlag(flag, text string, known []trials.Model) (trials.Model, error) {
	for _, m := range known {
		if m.Label == text {
			return m, nil
		}
	}
	label, name, labelled := strings.Cut(text, "=")
	if !labelled || strings.Contains(label, "://") { // a URL may have a = of its own
		label, name = "", text
	}
	var m trials.Model
	for _, scheme := range []string{"@http://", "@https://"} {
		if at := strings.LastIndex(name, scheme); at >= 0 {
			name, m.BaseURL = name[:at], name[at+1:]
		}
	}
	m.Label, m.Name = label, name
	if !labelled || label == "" && !strings.HasPrefix(text, "=") {
		m.Label = name
	}
	switch {
	case addressLike.MatchString(m.Name):
		return m, fmt.Errorf("%s %q: what stands after the @ is an address without http://; want LABEL=NAME@http://HOST:PORT/v1", flag, text)
	case strings.HasSuffix(m.Name, "@"): // as where a variable for the URL is not set
		return m, fmt.Errorf("%s %q: no URL follows the @: want LABEL=NAME@URL, or LABEL=NAME for the endpoint of --base-url", flag, text)
	case m.Name == "" || m.Label == "":
		return m, fmt.Errorf("%s %q: want the name of a model, or LABEL=NAME@URL", flag, text)
	case strings.Contains(m.BaseURL, "?"): // what follows may be a key, and is not repeated
		return m, fmt.Errorf("%s %s=...: a query does not belong in a base URL: a key goes into OPENAI_API_KEY, or into the variable that key: names in rehearse.yaml", flag, m.Label)
	case m.BaseURL != "" && !wholeURL(m.BaseURL):
		return m, fmt.Errorf("%s %q: %q is not %s", flag, text, m.BaseURL, wantURL)
	}
	return m, nil
}

// dialectOf is the dialect of a provider of --provider; empty for none.
func dialectOf(provider string) (string, error) {
	dialect := scenarios.DialectOf(provider)
	if dialect == "" && provider != "" {
		return "", fmt.Errorf("--provider %q is not known: want %s%s", provider, prose.Or(scenarios.Providers()), prose.DidYouMean(provider, scenarios.Providers()))
	}
	return dialect, nil
}
