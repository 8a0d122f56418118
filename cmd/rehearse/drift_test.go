// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordTellsOfDrift records over an older recording of an endpoint that
// answers otherwise by now, and finds it in each report.
func TestRecordTellsOfDrift(t *testing.T) {
	answer := `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
	}))
	defer endpoint.Close()
	dir := t.TempDir()
	put(t, dir, "s.yaml", asks)
	args := []string{"run", "s.yaml", "--mode", "record", "--model", "m", "--base-url", endpoint.URL + "/v1", "--out", "runs", "--name"}
	if e := rehearse(t, dir, append(args, "before")...); e.code != 0 || strings.Contains(e.stdout, "drift") {
		t.Fatalf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
	answer = strings.Replace(answer, `"created":1`, `"created":"today","note":1`, 1)
	e := rehearse(t, dir, append(args, "after")...)
	for _, want := range []string{
		"drift against the recording before: 2 breaking, 2 minor",
		"breaking: interaction 2 (POST /v1/chat/completions): body.created: was number, is string",
		"minor: interaction 1 (POST /v1/chat/completions): body.note: was absent, is number",
		"drift against older recordings in 1 trial: 2 breaking, 2 minor",
	} {
		if e.code != 0 || !strings.Contains(e.stdout, want) {
			t.Errorf("exit code %d, want 0 and %q\n%s%s", e.code, want, e.stdout, e.stderr)
		}
	}
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*after*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs: %q, %v", runs, err)
	}
	for _, file := range []string{"report.html", "junit.xml", "summary.md", "trials.jsonl"} {
		if data, err := os.ReadFile(filepath.Join(runs[0], file)); err != nil || !strings.Contains(string(data), "was number, is string") {
			t.Errorf("%s does not tell of it: %v", file, err)
		}
	}
}
