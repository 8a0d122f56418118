// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStatisticsPage runs the commands of docs/statistics.md and compares what
// they print. With -update the page is given what they print.
func TestStatisticsPage(t *testing.T) {
	const page = "../../docs/statistics.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	commands := 0
	for _, part := range storyParts(string(text)) {
		if part.kind == "console" {
			line, _, _ := strings.Cut(part.body, "\n")
			var stdout, stderr strings.Builder
			code := command(t.Context(), &process{
				args: strings.Fields(strings.TrimPrefix(line, "$ rehearse ")), getenv: func(string) (string, bool) { return "", false },
				stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			})
			if code != exitPassed {
				t.Errorf("%s: exit code %d: %s", line, code, stderr.String())
			}
			part.body = line + "\n" + stdout.String()
			commands++
		}
		out.WriteString(part.String())
	}
	if commands == 0 {
		t.Fatal("the page has no commands")
	}
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(page, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), out.String()); diff != "" {
		t.Errorf("docs/statistics.md is not what its commands print (-page +printed); run with -update\n%s", diff)
	}
}
