// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithEndpoint: a file may name the endpoint with its version and without.
func TestWithEndpoint(t *testing.T) {
	const file = "openai https://h/v1, anthropic https://h, other https://i/v1"
	for endpoint, want := range map[string]string{
		"https://h/v1/": "openai BASE, anthropic ROOT, other https://i/v1",
		"https://h":     "openai BASE/v1, anthropic BASE, other https://i/v1",
	} {
		c := &captured{endpoint: endpoint}
		if got := string(c.withEndpoint([]byte(file), "BASE", "ROOT")); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
}

// TestRefused: what recorders refused outlives the folder in which they recorded.
func TestRefused(t *testing.T) {
	for _, wrong := range []error{nil, errors.New("a secret is left")} {
		var log strings.Builder
		c := &captured{p: &process{stderr: &log}, dir: t.TempDir(), flags: &captureFlags{out: filepath.Join(t.TempDir(), "out")}}
		if wrong != nil {
			wrong = fmt.Errorf("%w; the recording is in %s/cassette.refused.yaml", wrong, c.dir)
		}
		if err := c.refused(wrong); !errors.Is(err, wrong) {
			t.Errorf("without a file: %v, want %v", err, wrong)
		}
		if err := os.WriteFile(filepath.Join(c.dir, "cassette.refused.yaml"), []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := c.refused(wrong)
		kept := filepath.Join(c.flags.out, "recorded", "cassette.refused.yaml")
		if told := fmt.Sprint(err, log.String()); (err == nil) != (wrong == nil) || !strings.Contains(told, filepath.Dir(kept)) || strings.Contains(told, c.dir) {
			t.Errorf("%s\nwant it to name %s", told, kept)
		}
		if data, err := os.ReadFile(kept); err != nil || string(data) != "kept" {
			t.Errorf("%q, %v", data, err)
		}
	}
}
