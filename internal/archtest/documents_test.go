// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// documented is what one design document asks for.
type documented struct {
	Document string
	Rows     []feature
}

// feature is Y with the tests that show it, P with what is missing, or N with a
// reason. A test is PACKAGE.TestName, or a file of a shipped suite.
type feature struct {
	Feature string
	Is      string
	Why     string
	Tests   []string
}

// TestDocuments holds docs/documents.md to docs/documents.yaml, and that to the
// tests that there are.
func TestDocuments(t *testing.T) {
	data, err := os.ReadFile("../../docs/documents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var documents []documented
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&documents); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, d := range documents {
		for _, f := range d.Rows {
			rows++
			for _, problem := range f.problems() {
				t.Errorf("%s: %s: %s", d.Document, f.Feature, problem)
			}
		}
	}
	if rows < 91 {
		t.Errorf("%d features, the documents have 91", rows)
	}
	const page = "../../docs/documents.md"
	if *update {
		if err := os.WriteFile(page, documentsPage(documents), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, documentsPage(documents)) {
		t.Errorf("docs/documents.md is not what docs/documents.yaml says (%v); go test ./internal/archtest -run Documents -update", err)
	}
}

func (f *feature) problems() (list []string) {
	switch {
	case f.Is != "Y" && f.Is != "P" && f.Is != "N":
		list = append(list, fmt.Sprintf("is %q, want Y, P or N", f.Is))
	case f.Is == "Y" && len(f.Tests) == 0:
		list = append(list, "no test shows it")
	case f.Is != "Y" && f.Why == "":
		list = append(list, "no reason is given")
	}
	for _, name := range f.Tests {
		if !testExists(name) {
			list = append(list, "there is no test "+name)
		}
	}
	return list
}

// testExists reports whether a file of a suite is there, or a function of a test
// and, of the scripts, the file of the part that is named.
func testExists(name string) bool {
	if strings.HasSuffix(name, ".yaml") {
		_, err := os.Stat("../../" + name)
		return err == nil
	}
	dot := strings.LastIndex(name, ".")
	if dot < 0 {
		return false
	}
	folder := "../../" + name[:dot]
	function, part, _ := strings.Cut(name[dot+1:], "/")
	if function == "TestScript" && part != "" {
		_, err := os.Stat(filepath.Join(folder, "testdata/script", part+".txtar"))
		return err == nil
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
	want := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\(`)
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && want.Match(data) {
			return true
		}
	}
	return false
}

func documentsPage(documents []documented) []byte {
	var b bytes.Buffer
	b.WriteString("# The design documents\n\n<!-- Written by \"go test ./internal/archtest -run Documents -update\" from docs/documents.yaml. -->\n\n" +
		"What the five design documents of the clients ask for. Y is there, and the tests show it; P is there in part; N is not.\n")
	total := map[string]int{}
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## %s\n\n| feature | | tests, or what is missing |\n| --- | --- | --- |\n", d.Document)
		for _, f := range d.Rows {
			total[f.Is]++
			var about []string
			for _, name := range f.Tests {
				about = append(about, "`"+name+"`")
			}
			if f.Why != "" {
				about = append(about, f.Why)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(f.Feature, "|", `\|`), f.Is, strings.ReplaceAll(strings.Join(about, "; "), "|", `\|`))
		}
	}
	fmt.Fprintf(&b, "\n%d are there, %d in part, %d not.\n", total["Y"], total["P"], total["N"])
	return b.Bytes()
}

// TestDocumentsFail makes sure that the check can fail.
func TestDocumentsFail(t *testing.T) {
	for _, f := range []feature{
		{Is: "Y"},
		{Is: "N"},
		{Is: "yes", Tests: []string{"internal/archtest.TestDocuments"}},
		{Is: "Y", Tests: []string{"internal/archtest.TestNowhere"}},
		{Is: "Y", Tests: []string{"internal/archtest.TestDocument"}},
		{Is: "Y", Tests: []string{"cmd/rehearse.TestScript/nowhere"}},
		{Is: "Y", Tests: []string{"scenarios/suites/nowhere.yaml"}},
	} {
		if len(f.problems()) == 0 {
			t.Errorf("%+v is let through", f)
		}
	}
}
