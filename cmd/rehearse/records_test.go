// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// TestRunsFitTheirSchema: each line that a run of the shipped suites writes fits
// docs/trials.schema.json, which other programs rely on.
func TestRunsFitTheirSchema(t *testing.T) {
	parse := func(data []byte) value.Value {
		t.Helper()
		v, err := value.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	data, err := os.ReadFile("../../docs/trials.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(parse(data))
	if err != nil {
		t.Fatal(err)
	}
	suites, err := filepath.Abs("../../scenarios/suites")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for _, args := range [][]string{
		{"run", filepath.Join(suites, "utilities"), filepath.Join(suites, "calendar"), filepath.Join(suites, "gemflux")},
		{"run", filepath.Join(suites, "utilities"), "--mode", "replay", "--cassettes", "../../cassettes/argo-proxy/3.3.3/plain"},
	} {
		var stdout, stderr bytes.Buffer
		code := command(t.Context(), &process{
			args: append(args, "--out", out), getenv: func(string) (string, bool) { return "", false },
			stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		})
		if code == exitUsage {
			t.Fatalf("rehearse %s: %s", strings.Join(args, " "), &stderr)
		}
	}
	files, err := filepath.Glob(filepath.Join(out, "*", trials.RecordsFile))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d run folders, %v", len(files), err)
	}
	lines := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			lines++
			if err := s.Validate(parse(line)); err != nil {
				t.Fatalf("%v\n%s", err, line)
			}
		}
	}
	if lines < 40 {
		t.Errorf("%d lines were held against the schema", lines)
	}
}
