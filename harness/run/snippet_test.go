// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadmeSnippet holds that the subject in the README is the one of
// readme_test.go, which is compiled and run.
func TestReadmeSnippet(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, snippet, _ := strings.Cut(string(readme), "```go\npackage myagent_test\n")
	snippet, _, _ = strings.Cut(snippet, "```")
	_, want, _ := strings.Cut(string(code), "package run_test\n")
	if diff := cmp.Diff(want, snippet); diff != "" {
		t.Errorf("the snippet in README.md differs from readme_test.go (-want +got):\n%s", diff)
	}
}
