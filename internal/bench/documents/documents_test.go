// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/documents.md anew")

// The documents ask for so many features, and so many of them were there in part or
// not at all when they were first read; so many may still be missing.
const (
	features  = 91
	notThere  = 54
	mayBeLeft = 8
)

// TestDocuments holds docs/documents.md to docs/documents.yaml, and that to the
// tests and lines that there are.
func TestDocuments(t *testing.T) {
	documents, err := read("../../../docs/documents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rows, was, left := 0, 0, 0
	names, mutants := map[string]bool{}, map[mutant]bool{}
	for _, d := range documents {
		for _, r := range d.Rows {
			rows++
			for _, problem := range r.problems("../../..") {
				t.Errorf("%s: %s: %s", d.Document, r.Feature, problem)
			}
			if name := d.Document + ": " + r.Feature; names[name] {
				t.Errorf("%s: twice", name)
			} else {
				names[name] = true
			}
			if r.Was != "" {
				was++
			}
			if r.Is != "Y" {
				left++
			}
			if r.Mutant != nil && mutants[*r.Mutant] {
				t.Errorf("%s: the mutant of another row", r.Feature)
			} else if r.Mutant != nil {
				mutants[*r.Mutant] = true
			}
		}
	}
	if rows < features || was < notThere || left > mayBeLeft {
		t.Errorf("%d features, of which %d were not there and %d are not; want %d or more, %d or more, and %d or fewer", rows, was, left, features, notThere, mayBeLeft)
	}
	const file = "../../../docs/documents.md"
	if *update {
		if err := os.WriteFile(file, page(documents), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, page(documents)) {
		t.Errorf("docs/documents.md is not what docs/documents.yaml says (%v); go -C internal/bench test ./documents -update", err)
	}
}

// TestDocumentsFail makes sure that the check of a row can fail.
func TestDocumentsFail(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"x/x.go":                    "package x\n\nfunc f() int {\n\treturn 1\n}\n\nfunc g() {\n}\n",
		"x/x_test.go":               "package x\n\nfunc TestX(t *testing.T) {}\n",
		"interop/i.go":              "package interop\n",
		"scenarios/s.yaml":          "scenario: s\n",
		"x/testdata/script/s.txtar": "exec x\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := func(edit func(*row)) row {
		r := row{Was: "N", Is: "Y", Tests: []string{"x.TestX", "x.TestScript/s", "scenarios/s.yaml"}, Mutant: &mutant{"x/x.go", "return 1", "return 2"}}
		edit(&r)
		return r
	}
	for _, tt := range []struct {
		name, want string
		edit       func(*row)
	}{
		{"good", "", func(*row) {}},
		{"not there", "", func(r *row) { *r = row{Was: "N", Is: "N", Why: "no need"} }},
		{"always there", "", func(r *row) { r.Was, r.Mutant = "", nil }},
		{"no test", "no test shows it", func(r *row) { r.Tests = nil }},
		{"no reason", "no reason is given", func(r *row) { *r = row{Is: "N"} }},
		{"another word", `is "yes", want Y, P or N`, func(r *row) { r.Is, r.Why = "yes", "x" }},
		{"was another word", `was "no", want P, N or nothing`, func(r *row) { r.Was = "no" }},
		{"no such test", "there is no test x.TestNowhere", func(r *row) { r.Tests[0] = "x.TestNowhere" }},
		{"the beginning of a test", "there is no test x.Test", func(r *row) { r.Tests[0] = "x.Test" }},
		{"no such script", "there is no test x.TestScript/nowhere", func(r *row) { r.Tests[0] = "x.TestScript/nowhere" }},
		{"no such scenario", "there is no test scenarios/nowhere.yaml", func(r *row) { r.Tests[0] = "scenarios/nowhere.yaml" }},
		{"no package", "there is no test TestX", func(r *row) { r.Tests[0] = "TestX" }},
		{"no mutant", "no mutant shows that its tests can fail", func(r *row) { r.Mutant = nil }},
		{"a mutant of what was always there", "a mutant, but not what it was", func(r *row) { r.Was = "" }},
		{"no such line", `x/x.go has no line "return 0"`, func(r *row) { r.Mutant.Line = "return 0" }},
		{"no line", `x/x.go has no line ""`, func(r *row) { r.Mutant.Line = "" }},
		{"two lines", `x/x.go: lines 5 and 8 are both "}"`, func(r *row) { r.Mutant.Line = "}" }},
		{"the same line", `x/x.go:4: want another line, got "return 1"`, func(r *row) { r.Mutant.Becomes = "return 1" }},
		{"more than a line", `x/x.go:4: want another line, got "a\nb"`, func(r *row) { r.Mutant.Becomes = "a\nb" }},
		{"a test", "x/x_test.go is not a file of the product", func(r *row) { r.Mutant.File = "x/x_test.go" }},
		{"not the product", "interop/i.go is not a file of the product", func(r *row) { r.Mutant.File = "interop/i.go" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := good(tt.edit)
			if got := strings.Join(r.problems(root), "; "); got != tt.want {
				t.Errorf("problems %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDocumentsBreak breaks a line and nothing else.
func TestDocumentsBreak(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "x.go"), []byte("package x\n\nfunc f() int {\n\treturn 1 // one\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	number, text, err := (&mutant{"x.go", "return 1 // one", "return 2"}).apply(root)
	if d := cmp.Diff("package x\n\nfunc f() int {\nreturn 2\n}\n", string(text)); d != "" || number != 4 || err != nil {
		t.Errorf("line %d, %v (-want +got):\n%s", number, err, d)
	}
}

// TestDocumentsResults reads the ends of tests, and of one that ended its program.
func TestDocumentsResults(t *testing.T) {
	ends, ran := results([]byte(`go: downloading x
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"x"}
{"Action":"run","Package":"p","Test":"TestA/b"}
{"Action":"skip","Package":"p","Test":"TestA/b"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"run","Package":"p","Test":"TestD"}
{"Action":"fail","Package":"p"}
`))
	if d := cmp.Diff(map[string]outcome{"TestA": passed, "TestA/b": skipped, "TestC": failed, "TestD": failed}, ends); d != "" || !ran {
		t.Errorf("ran %t (-want +got):\n%s", ran, d)
	}
	if _, ran := results([]byte("x.go:1: undefined: y\n{\"Action\":\"build-fail\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n")); ran {
		t.Error("tests that were not built ran")
	}
}

// TestDocumentsNotPassed: a test that is skipped, or does not run, shows nothing.
func TestDocumentsNotPassed(t *testing.T) {
	list := []named{{name: "p.TestA"}, {name: "p.TestB"}, {name: "p.TestC"}, {name: "p.TestD"}}
	got := errors.Join(notPassed(list, map[string]outcome{"p.TestA": passed, "p.TestB": skipped, "p.TestC": failed})...)
	if want := "p.TestB: skip\np.TestC: fail\np.TestD did not run"; got == nil || got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestDocumentsPlayed reads the trials of a run.
func TestDocumentsPlayed(t *testing.T) {
	for out, want := range map[string]outcome{
		"x.yaml:1: warning\n{\n\"trials\": [{\"outcome\": \"passed\"}, {\"outcome\": \"passed\"}]}\n": passed,
		"{\n\"trials\": [{\"outcome\": \"skipped\"}, {\"outcome\": \"failed\"}]}":                     failed,
		"{\n\"trials\": [{\"outcome\": \"passed\"}, {\"outcome\": \"skipped\"}]}":                     skipped,
		"{\n\"trials\": [{\"outcome\": \"error\"}, {\"outcome\": \"passed\"}]}":                       skipped,
		"{\n\"trials\": []}": "",
	} {
		if got, err := played([]byte(out)); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", out, got, err, want)
		}
	}
	if _, err := played([]byte("rehearse: no such file\n")); err == nil {
		t.Error("a run that was not played has an outcome")
	}
}

// TestDocumentsGroups: what one command runs, and how it is asked to.
func TestDocumentsGroups(t *testing.T) {
	var list []named
	for _, name := range []string{"a/b.TestX", "a/b.TestScript/chat", "s/1.yaml", "a/b.ExampleY", "a/b.TestScript/mcp-config", "c.TestX", "s/2.yaml"} {
		test, ok := parse(name)
		if !ok {
			t.Fatal(name)
		}
		list = append(list, test)
	}
	var got []string
	for _, group := range groups(list) {
		if group[0].file != "" {
			got = append(got, group[0].file+" "+group[1].file)
			continue
		}
		got = append(got, group[0].folder+" "+pattern(group))
	}
	want := []string{"a/b ^(TestX|ExampleY)$", "a/b ^(TestScript|TestScript)$/^(chat|mcp-config)$", "s/1.yaml s/2.yaml", "c ^(TestX)$"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
