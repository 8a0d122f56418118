// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeaderEchoed: what --header gives to a server is not on the tape where
// the server repeats it, whatever the header's name.
func TestHeaderEchoed(t *testing.T) {
	const value = "corp user 77 of berlin"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"you":"` + r.Header.Get("X-Corp") + `","agent":"` + r.Header.Get("User-Agent") + `"}}`))
	}))
	defer server.Close()
	tape := filepath.Join(t.TempDir(), "a.tape")
	s := serveArgs(t, &process{}, "tape", "--out", tape, "--url", server.URL+"/mcp", "--header", "X-Corp: "+value, "--header", "User-Agent: some-client/1.2.3")
	s.ask("POST", s.URL, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if code, stderr := s.end(); code != exitPassed {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	data, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Contains(text, value) || !strings.Contains(text, "some-client/1.2.3") {
		t.Errorf("the tape:\n%s", text)
	}
}

// TestHeaderOfClient: `mcp` reads --header as the other commands do.
func TestHeaderOfClient(t *testing.T) {
	got := make(chan http.Header, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	run := func(args ...string) string {
		var stderr strings.Builder
		command(t.Context(), &process{
			args: append([]string{"mcp", "list", "--transport", "http", server.URL + "/mcp"}, args...), stdin: strings.NewReader(""), stdout: io.Discard, stderr: &stderr,
			getenv: func(name string) (string, bool) { return "sesame", name == "TOKEN" },
		})
		return stderr.String()
	}
	run("--header", "authorization: Bearer $TOKEN", "--header", "X-Tag: a", "--header", "X-Tag: b")
	if h := <-got; h.Get("Authorization") != "Bearer sesame" || h.Get("X-Tag") != "a, b" {
		t.Errorf("the server got %v", h)
	}
	if stderr := run("--header", "X: $GONE"); !strings.Contains(stderr, `--header "X": $GONE is not set`) {
		t.Errorf("a variable that is not set: %s", stderr)
	}
}
