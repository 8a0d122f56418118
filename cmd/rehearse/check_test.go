// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCheckFindsSecrets plants a key in each kind of file that is recorded.
func TestCheckFindsSecrets(t *testing.T) {
	secret := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	cassette := "---\nversion: 1\ninteractions:\n- request:\n    body: 'KEY'\n    url: http://127.0.0.1/\n    method: GET\n  response:\n    body: ok\n    code: 200\n    duration: 1ms\n"
	tape := `{"rehearse_tape":1}` + "\n" + `{"dir":"in","at_ms":0,"text":"KEY"}` + "\n"
	tests := []struct {
		name, file, content string
		beside              string // its owner, where that has to be there
		line                string
	}{
		{"cassette", "a.yaml", cassette, "", "5"},
		{"cassette of a scenario", "cassettes/s/s.m.yaml", cassette, "", "5"},
		{"tape", "a.tape", tape, "", "2"},
		{"body", "a.yaml.bodies/b", "KEY\n", "a.yaml", "1"},
		{"journal", "a.yaml.journal", `{"interaction":"KEY"}` + "\n", "", "1"},
		{"unfinished tape", "a.tape.part", tape, "", "2"},
		{"HAR", "a.har", `{"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"http://127.0.0.1/","headers":[{"name":"X-Note","value":"KEY"}]},"response":{"status":200,"content":{"text":"ok"}}}]}}`, "", "1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(file, content string) {
				t.Helper()
				path := filepath.Join(dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("s.yaml", "scenario: s\nturns:\n  - user: Hi\n    replies:\n      - say: Hello\nexpect:\n  - answer: {contains: Hello}\n")
			if test.beside != "" {
				write(test.beside, strings.ReplaceAll(cassette, "KEY", "nothing"))
			}
			check := func() (exitCode, string) {
				var stdout, stderr bytes.Buffer
				p := &process{
					args: []string{"check", dir}, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
					getenv: func(string) (string, bool) { return "", false },
				}
				return command(context.Background(), p), stdout.String() + stderr.String()
			}
			write(test.file, strings.ReplaceAll(test.content, "KEY", "nothing"))
			if code, out := check(); code != exitPassed {
				t.Fatalf("without a key: exit %d: %s", code, out)
			}
			write(test.file, strings.ReplaceAll(test.content, "KEY", secret))
			code, out := check()
			want := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(filepath.Join(dir, filepath.FromSlash(test.file))) + `:` + test.line + `: this looks like a secret \(\w+\): \S+ \(\d+ bytes\)$`)
			if code != exitUsage || !want.MatchString(out) || strings.Contains(out, secret) {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}
