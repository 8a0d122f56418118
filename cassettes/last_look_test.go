// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// canned answers everything in the same way.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Status: "200 OK", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// TestLastLook: a recording is looked at as a whole before it is written. What
// the rules missed in an exchange is not written, however a recorder ends.
func TestLastLook(t *testing.T) {
	secret := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	for name, end := range map[string]func(*Recorder) error{
		"Close":     (*Recorder).Close,
		"CloseWith": func(r *Recorder) error { return r.CloseWith(nil, false) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.yaml")
			r, err := Open(path, &Options{Mode: Record, Upstream: canned(`{"ok":true}`), LookupEnv: func(string) (string, bool) { return "", false }})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := r.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			r.mu.Lock()
			r.slots[0].kept.Response.Body = []byte(`{"note":"` + secret + `"}`) // as if no rule had found it
			r.mu.Unlock()
			if err := end(r); err == nil || !strings.Contains(err.Error(), "is not written: interaction 1") || !strings.Contains(err.Error(), "looks like a secret") {
				t.Errorf("the end: %v", err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("the cassette is written")
			}
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if data, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || strings.Contains(string(data), secret) {
					t.Errorf("%s has the secret (%v)", f.Name(), err)
				}
			}
		})
	}
}
