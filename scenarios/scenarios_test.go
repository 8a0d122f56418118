// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/scenarios"
)

var update = flag.Bool("update", false, "rewrite the goldens and the reference page")

// TestBroken compares the whole list of messages of every broken file.
func TestBroken(t *testing.T) {
	for _, path := range []string{"testdata/broken.txtar", "testdata/broken-mcp.txtar"} {
		golden(t, path, func(t *testing.T, dir string) string {
			set, err := scenarios.Load([]string{dir}, noEnv())
			var notes []string
			for _, n := range set.Notes {
				notes = append(notes, n.String())
			}
			return lines(err) + strings.Join(notes, "\n")
		})
	}
}

// TestCheck compares what check says of files that load.
func TestCheck(t *testing.T) {
	for _, path := range []string{"testdata/check.txtar", "testdata/check-mcp.txtar"} {
		golden(t, path, func(t *testing.T, dir string) string {
			set, err := scenarios.Load([]string{dir}, noEnv())
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, p := range set.Check() {
				fmt.Fprintln(&b, p)
			}
			return b.String()
		})
	}
}

func noEnv() *scenarios.Options {
	return &scenarios.Options{LookupEnv: func(name string) (string, bool) {
		return "/home/me", name == "HOME"
	}}
}

func lines(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}

// golden runs a function over each case of an archive, a folder of files with
// a file want, and compares what it returns.
func golden(t *testing.T, path string, run func(t *testing.T, dir string) string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := ""
	for i := range archive.Files {
		f := &archive.Files[i]
		name, file, _ := strings.Cut(f.Name, "/")
		if dir == "" {
			dir = t.TempDir()
		}
		if file != "want" {
			if err := os.WriteFile(filepath.Join(dir, file), f.Data, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		here := dir
		dir = ""
		t.Run(name, func(t *testing.T) {
			got := strings.ReplaceAll(filepath.ToSlash(run(t, here)), filepath.ToSlash(here)+"/", "")
			if *update {
				f.Data = []byte(got)
				return
			}
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n" // as an archive has it
			}
			if diff := cmp.Diff(string(f.Data), got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProjectFile: the settings of a project are no scenario, and their mistakes
// are told with those of scenarios.
func TestProjectFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"s.yaml": "scenario: s\nturns: [{user: hi, replies: [{say: a}], expect: [{answer: {contains: [a]}}]}]\n", "rehearse.yaml": "redact: {keep: [a]}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := scenarios.Load([]string{dir}, nil)
	if err != nil || len(set.Notes) > 0 || len(set.Scenarios) != 1 {
		t.Errorf("%v, notes %q", err, set.Notes)
	}
	if err := os.WriteFile(filepath.Join(dir, "rehearse.yaml"), []byte("redact: {kep: [a]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "rehearse.yaml")} {
		if _, err := scenarios.Load([]string{path}, nil); err == nil || !strings.Contains(err.Error(), `rehearse.yaml:1:10: redact has no key "kep" (did you mean "keep"?)`) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestHashes: each hash changes with what it covers and with nothing else.
func TestHashes(t *testing.T) {
	load := func(edit func(name, text string) string, place ...string) *scenarios.Scenario {
		t.Helper()
		dir := filepath.Join(append([]string{t.TempDir()}, place...)...)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"suite.yaml":  "suite: chem\ndescription: old\nlimits: {time: 3s}\nexpect: [{never: [w.b]}]\n",
			"server.yaml": "server: w\ntools: [{name: a, description: finds, results: [{text: yes}]}]\n",
			"s.yaml":      "scenario: s\ntags: [x]\nservers: {w: {mock: server.yaml}}\nconduct: {results: off}\ncases: [{name: one, vars: {x: 1}}]\nturns: [{user: 'hi {{vars.x}}', replies: [{say: ho}], expect: [{answer: {equals: ho}}]}]\n",
		} {
			if edit != nil {
				text = edit(name, text)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		set, err := scenarios.Load([]string{filepath.Join(dir, "s.yaml")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return set.Scenarios[0]
	}
	was := load(nil)
	if was.Suite != "chem" || was.Bare() != "s" || was.Name != "s/one" || was.Case != "one" {
		t.Errorf("identity: suite %q, bare name %q, name %q, case %q", was.Suite, was.Bare(), was.Name, was.Case)
	}
	if there := load(nil, "another", "folder"); there.Hash != was.Hash || there.ScorersHash != was.ScorersHash {
		t.Error("a hash depends on where the files lie")
	}
	for _, tt := range []struct {
		name, old, now    string
		scenario, scorers bool
	}{
		{name: "a comment", old: "tags:", now: "# why\ntags:"},
		{name: "a description and tags", old: "tags: [x]", now: "tags: [y]\ndescription: new"},
		{name: "the suite's description", old: "description: old", now: "description: new"},
		{name: "what the user says", old: "hi {{", now: "ho {{", scenario: true},
		{name: "a var of the case", old: "{x: 1}", now: "{x: 2}", scenario: true},
		{name: "a default of the suite", old: "3s", now: "4s", scenario: true},
		{name: "a tool of a server file", old: "finds", now: "looks up", scenario: true},
		{name: "an expectation of a turn", old: "equals: ho", now: "equals: hoho", scorers: true},
		{name: "an expectation of the suite", old: "w.b", now: "w.c", scorers: true},
		{name: "conduct", old: "results: off", now: "results: on", scorers: true},
	} {
		is := load(func(_, text string) string { return strings.ReplaceAll(text, tt.old, tt.now) })
		if (is.Hash != was.Hash) != tt.scenario || (is.ScorersHash != was.ScorersHash) != tt.scorers {
			t.Errorf("%s: the scenario's hash changed %v, want %v; the scorers' %v, want %v", tt.name,
				is.Hash != was.Hash, tt.scenario, is.ScorersHash != was.ScorersHash, tt.scorers)
		}
	}
	alone := load(func(name, text string) string {
		if name == "suite.yaml" {
			return "# no suite\n"
		}
		return text
	}, "kinetics")
	if alone.Suite != "kinetics" {
		t.Errorf("without a suite file, the suite is %q", alone.Suite)
	}
}
