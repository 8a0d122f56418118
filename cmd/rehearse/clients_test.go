// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// serve starts a served mock and returns its URL and what stops it.
func serve(t *testing.T, kind, file string) (url, admin string, stop func() leftover) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "f.yaml", file)
	cmd, wait := start(t, dir, "serve", kind, "f.yaml")
	stdout := cmd.Stdout.(*watched)
	select {
	case <-stdout.seen("\n"):
	case <-time.After(tooLong):
		t.Fatal("the mock is not ready")
	}
	var ready struct{ URL, Admin string }
	if err := json.Unmarshal([]byte(stdout.String()), &ready); err != nil {
		t.Fatalf("ready line %q: %v", stdout.String(), err)
	}
	return ready.URL, ready.Admin, func() leftover {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		e := wait(t)
		e.check(t)
		e.bounded(t)
		return e
	}
}

// ask posts a body that is made while it is sent.
func ask(t *testing.T, url string, write func(w io.Writer)) (status int, body string) {
	t.Helper()
	r, w := io.Pipe()
	go func() {
		write(w)
		w.Close()
	}()
	defer r.Close() // the server may not read it all
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: tooLong}
	res, err := client.Do(req)
	if err != nil {
		t.Errorf("no answer: %v", err)
		return 0, ""
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(data)
}

// TestHostileClient asks served mocks for what they cannot give. Each request
// has an answer that says so, and the mock goes on.
func TestHostileClient(t *testing.T) {
	t.Parallel()
	text := func(s string) func(io.Writer) { return func(w io.Writer) { _, _ = io.WriteString(w, s) } }
	long := func(head string, kilos int, fill, tail string) func(io.Writer) {
		return func(w io.Writer) { endless(w, head, kilos, fill, tail) }
	}
	chat := func(content string) string {
		return `{"model":"m","messages":[{"role":"user","content":` + content + `}]}`
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	call := func(args string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ping","arguments":` + args + `}}`
	}
	type request struct {
		name   string
		body   func(io.Writer)
		status int
		says   string
	}
	const llm = "llm: m\nturns:\n  - user: hello\n    replies: [{say: hi}]\n"
	const mcp = "server: s\ntools:\n  - {name: ping, description: Answers., input: {type: object, properties: {}}, results: [{text: pong}]}\n"
	tests := []struct {
		kind, file, path string
		requests         []request
	}{
		{"llm", llm, "/chat/completions", []request{
			{"100 MB", long(`{"model":"m","messages":[{"role":"user","content":"`, 100_000, kilo("x"), `"}]}`), 413, "the request is larger than"},
			{"20 MB", long(`{"model":"m","messages":[{"role":"user","content":"`, 20_000, kilo("x"), `"}]}`), 422, "hello"},
			{"deep", text(chat(deep)), 400, "invalid_request_error"},
			{"as deep as JSON is read", text(chat(nested(9_000))), 400, "invalid_request_error"},
			{"deep, open", text(chat(strings.Repeat("[", 100_000))), 400, "invalid_request_error"},
			{"no UTF-8", text(chat("\"\xff\"")), 400, "invalid_request_error"},
			{"a program", text("\x7fELF\x00"), 400, "invalid_request_error"},
			{"a question", text(chat(`"hello"`)), 200, "hi"},
		}},
		{"mcp", mcp, "", []request{
			{"100 MB", long(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`, 100_000, kilo("x"), `"}}`), 413, "too large"},
			{"deep", text(call(deep)), 400, "error"},
			{"a program", text("\x7fELF\x00"), 400, "error"},
			{"no session", text(call("{}")), 400, "Missing session ID"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			url, admin, stop := serve(t, tt.kind, tt.file)
			for _, r := range tt.requests {
				status, body := ask(t, url+tt.path, r.body)
				if status != r.status || !strings.Contains(body, r.says) || len(body) > 100_000 {
					t.Errorf("%s: HTTP %d, want %d with %q; %d bytes: %s", r.name, status, r.status, r.says, len(body), cut(body))
				}
			}
			res, err := http.Get(admin + "/journal")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var journal []json.RawMessage
			if err := json.NewDecoder(res.Body).Decode(&journal); err != nil {
				t.Errorf("the journal: %v", err)
			}
			if e := stop(); e.code != int(exitFailed) && e.code != int(exitPassed) {
				t.Errorf("exit code %d\n%s", e.code, cut(e.stderr))
			}
		})
	}
}

// TestHostileRunFolder shows runs whose files are not what they should be.
func TestHostileRunFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.yaml", short)
	if e := rehearse(t, dir, "run", "a.yaml", "--out", "out"); e.code != 0 {
		t.Fatalf("exit code %d\n%s", e.code, e.stderr)
	}
	good := runFolder(dir)
	line, err := os.ReadFile(good + "/trials.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, file string
		data       string
		code       exitCode
		says       string // on standard error
	}{
		{"a torn last line", "trials.jsonl", string(line) + string(line[:50]), exitPassed, ""},
		{"a line that is no record", "trials.jsonl", "oops\n" + string(line), exitUsage, "trials.jsonl:1: not a trial record"},
		{"binary", "trials.jsonl", "\x7fELF\x00\n", exitUsage, "trials.jsonl:1: not a trial record"},
		{"deep", "trials.jsonl", `{"schema":1,"scenario":` + nested(100_000) + "}\n", exitUsage, "trials.jsonl:1: not a trial record"},
		{"an unknown outcome", "trials.jsonl", strings.Replace(string(line), `"passed"`, `"Failed"`, 1), exitUsage, `trials.jsonl:1: unknown value: outcome is "Failed"`},
		{"a newer schema", "trials.jsonl", `{"schema":99}` + "\n", exitUsage, "newer rehearse"},
		{"a manifest that is none", "run.json", "[]", exitPassed, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			put(t, dir, tt.file, tt.data)
			e := rehearse(t, dir, "report", ".")
			if e.code != int(tt.code) || !strings.Contains(e.stderr, tt.says) || len(e.stderr) > 2000 {
				t.Errorf("exit code %d, want %d and %q\n%s", e.code, tt.code, tt.says, cut(fmt.Sprint(e.stdout, e.stderr)))
			}
		})
	}
}
