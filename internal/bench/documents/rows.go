// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// document is what one design document asks for.
type document struct {
	Document string
	Rows     []row
}

// row is a feature: Y with the tests that show it, P with what is missing, or N
// with a reason. A test is PACKAGE.TestName, PACKAGE.TestScript/SCRIPT, or a file of
// a shipped suite. Was is P or N when the documents were first read, if it is Y
// now: then a mutant shows that the tests notice.
type row struct {
	Feature string
	Was     string
	Is      string
	Why     string
	Tests   []string
	Mutant  *mutant
}

// mutant is one line of the product, without the blanks around it, and what it is
// broken to.
type mutant struct {
	File, Line, Becomes string
}

// read reads the file of the rows.
func read(path string) ([]document, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var documents []document
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&documents); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return documents, nil
}

// problems are what is wrong with a row of a tree.
func (r *row) problems(root string) (list []string) {
	switch {
	case r.Is != "Y" && r.Is != "P" && r.Is != "N":
		list = append(list, fmt.Sprintf("is %q, want Y, P or N", r.Is))
	case r.Is == "Y" && len(r.Tests) == 0:
		list = append(list, "no test shows it")
	case r.Is != "Y" && r.Why == "":
		list = append(list, "no reason is given")
	}
	for _, name := range r.Tests {
		if !testExists(root, name) {
			list = append(list, "there is no test "+name)
		}
	}
	switch {
	case r.Was != "" && r.Was != "P" && r.Was != "N":
		list = append(list, fmt.Sprintf("was %q, want P, N or nothing", r.Was))
	case r.Was != "" && r.Is == "Y" && r.Mutant == nil:
		list = append(list, "no mutant shows that its tests can fail")
	case r.Was == "" && r.Mutant != nil:
		list = append(list, "a mutant, but not what it was")
	}
	if r.Mutant != nil {
		if _, _, err := r.Mutant.apply(root); err != nil {
			list = append(list, err.Error())
		}
	}
	return list
}

// nowhere are folders whose code is not the product.
var nowhere = []string{"interop/", "internal/archtest/", "internal/bench/"}

// apply returns the number of the line that is broken, and the text of the file
// then.
func (m *mutant) apply(root string) (number int, text []byte, err error) {
	own := func(folder string) bool { return strings.HasPrefix(m.File, folder) }
	if !strings.HasSuffix(m.File, ".go") || strings.HasSuffix(m.File, "_test.go") || slices.ContainsFunc(nowhere, own) {
		return 0, nil, fmt.Errorf("%s is not a file of the product", m.File)
	}
	src, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return 0, nil, err
	}
	lines := strings.Split(string(src), "\n")
	for i, line := range lines {
		if m.Line == "" || strings.TrimSpace(line) != m.Line {
			continue
		}
		if number > 0 {
			return 0, nil, fmt.Errorf("%s: lines %d and %d are both %q", m.File, number, i+1, m.Line)
		}
		number = i + 1
	}
	switch {
	case number == 0:
		return 0, nil, fmt.Errorf("%s has no line %q", m.File, m.Line)
	case m.Becomes == m.Line || strings.Contains(m.Becomes, "\n"):
		return 0, nil, fmt.Errorf("%s:%d: want another line, got %q", m.File, number, m.Becomes)
	}
	lines[number-1] = m.Becomes
	return number, []byte(strings.Join(lines, "\n")), nil
}

// testExists reports whether a file of a suite is there, or a function of a test
// and, of the scripts, the file of the part that is named.
func testExists(root, name string) bool {
	t, ok := parse(name)
	if !ok {
		return false
	}
	if t.file != "" {
		_, err := os.Stat(filepath.Join(root, t.file))
		return err == nil
	}
	folder := filepath.Join(root, t.folder)
	if t.function == "TestScript" && t.part != "" {
		_, err := os.Stat(filepath.Join(folder, "testdata/script", t.part+".txtar"))
		return err == nil
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
	want := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(t.function) + `\(`)
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && want.Match(data) {
			return true
		}
	}
	return false
}

// named is a test that a row names.
type named struct {
	name                   string
	file                   string // a scenario
	folder, function, part string // or a function, and a part of it
}

func parse(name string) (t named, ok bool) {
	t.name = name
	if strings.HasSuffix(name, ".yaml") {
		t.file = name
		return t, true
	}
	dot := strings.LastIndex(name, ".")
	if dot < 0 {
		return t, false
	}
	t.folder = name[:dot]
	t.function, t.part, _ = strings.Cut(name[dot+1:], "/")
	return t, true
}

// page is docs/documents.md.
func page(documents []document) []byte {
	var b bytes.Buffer
	b.WriteString("# The design documents\n\n<!-- Written by \"go -C internal/bench test ./documents -update\" from docs/documents.yaml. -->\n\n" +
		"What the five design documents of the clients ask for. Y is there, and the tests show it; P is there in part; N is not. Behind it\n" +
		"stands what it was when the documents were first read, if that was something else. `make documents` runs all of these tests, breaks\n" +
		"one line for each row that has come since, and prints the test that fails.\n")
	total := map[string]int{}
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## %s\n\n| feature | | was | tests, or what is missing |\n| --- | --- | --- | --- |\n", d.Document)
		for _, r := range d.Rows {
			total[r.Is]++
			var about []string
			for _, name := range r.Tests {
				about = append(about, "`"+name+"`")
			}
			if r.Why != "" {
				about = append(about, r.Why)
			}
			cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(r.Feature), r.Is, r.Was, cell(strings.Join(about, "; ")))
		}
	}
	fmt.Fprintf(&b, "\n%d are there, %d in part, %d not.\n", total["Y"], total["P"], total["N"])
	return b.Bytes()
}
