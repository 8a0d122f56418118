// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// asks is a scenario with two user messages.
const asks = `scenario: greetings
turns:
  - user: hello
    expect: [{answer: {contains: hi}}]
  - user: and again
`

// greeter is an endpoint that greets in each conversation. stop is told of
// each request; one that it wants held is not answered.
func greeter(t *testing.T, hold func(n int) bool) (baseURL string) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+secret {
			t.Errorf("authorization %q", got)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if hold(int(asked.Add(1))) {
			<-r.Context().Done()
			return
		}
		mock := newMock(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "hi, with " + secret}}, Arrival: true}, nil)
		defer mock.Close()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		mock.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "cassettes", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(data)
	}
	return out
}

// TestRecordDotenv has endpoint, model and key in .env: the key is sent, and is
// in no file that is written and in no message.
func TestRecordDotenv(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s.yaml", asks)
	put(t, dir, ".env", "OPENAI_API_KEY="+secret+"\nARGO_BASE_URL="+greeter(t, func(int) bool { return false })+"\nARGO_DEFAULT_MODEL=argo:gpt-4o\n")
	e := rehearse(t, dir, "run", "s.yaml", "--mode", "record", "--out", "out")
	if e.code != 0 || !strings.Contains(e.stderr, "recorded  cassettes/s/greetings.argo-gpt-4o.yaml: 2 interactions\n") {
		t.Fatalf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
	for name, text := range tree(t, dir) {
		if strings.Contains(text, secret) || !strings.Contains(text, "hi, with REDACTED-") {
			t.Errorf("the key is in %s, or was not sent", name)
		}
	}
}

// TestRecordCommand records with the program, and replays in this process,
// without key and endpoint.
func TestRecordCommand(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s.yaml", asks)
	url := greeter(t, func(int) bool { return false })
	args := []string{"run", "s.yaml", "--mode", "record", "--model", "argo:gpt-4o", "--base-url", url}
	e := rehearse(t, dir, args...)
	if e.code != 0 || !strings.Contains(e.stderr, "recorded  cassettes/s/greetings.argo-gpt-4o.yaml: 2 interactions\n") {
		t.Fatalf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
	before := tree(t, dir)
	if len(before) != 1 || !strings.Contains(before["greetings.argo-gpt-4o.yaml"], "hi, with REDACTED-") {
		t.Errorf("recorded %v", before)
	}
	for name, text := range before {
		if strings.Contains(text, secret) {
			t.Errorf("the key is in %s", name)
		}
	}
	if e := rehearse(t, dir, args...); e.code != 0 || !strings.Contains(e.stderr, "unchanged cassettes/s/greetings.argo-gpt-4o.yaml: 2 interactions\n") {
		t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
	if e := inProcess(t, dir, "run", filepath.Join(dir, "s.yaml"), "--mode", "replay", "--out", filepath.Join(dir, "runs")); e.code != 0 {
		t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
	put(t, dir, "s.yaml", strings.Replace(asks, "again", "once more", 1))
	e = inProcess(t, dir, "run", filepath.Join(dir, "s.yaml"), "--mode", "replay", "--out", filepath.Join(dir, "runs"))
	for _, want := range []string{
		`recorded "and again", now "and once more"`,
		"record it again: `rehearse run " + filepath.Join(dir, "s.yaml") + " --mode record --model argo:gpt-4o --base-url " + url + "`",
	} {
		if e.code != 1 || !strings.Contains(e.stdout, want) {
			t.Errorf("exit code %d, want 1 and %q\n%s%s", e.code, want, e.stdout, e.stderr)
		}
	}
}

// TestRecordEndsEarly interrupts and kills a recording: what was recorded
// before, and trials that had ended, are whole; of the rest there is nothing.
func TestRecordEndsEarly(t *testing.T) {
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
	}{{"interrupt", syscall.SIGINT}, {"kill", syscall.SIGKILL}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "s.yaml", asks)
			good := greeter(t, func(int) bool { return false })
			args := []string{"run", "s.yaml", "--mode", "record", "--model", "m", "--trials", "2", "--base-url"}
			if e := rehearse(t, dir, append(args, good)...); e.code != 0 {
				t.Fatalf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
			}
			before := tree(t, dir)
			if err := os.Remove(filepath.Join(dir, "cassettes", "s", "greetings.m.yaml")); err != nil {
				t.Fatal(err)
			}
			held := make(chan struct{})
			slow := greeter(t, func(n int) bool { // the second request of the second trial
				if n == 4 {
					close(held)
				}
				return n == 4
			})
			cmd, wait := start(t, dir, append(args, slow)...)
			<-held
			if err := cmd.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}
			if e := wait(t); tt.sig == syscall.SIGINT && e.code != 3 {
				t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
			}
			after := tree(t, dir)
			if tt.sig == syscall.SIGKILL { // which leaves the lock of the trial
				delete(after, "greetings.m+2.yaml.journal")
			}
			if len(after) != 2 || after["greetings.m.yaml"] == "" || after["greetings.m+2.yaml"] != before["greetings.m+2.yaml"] {
				t.Errorf("files %v", after)
			}
			if e := inProcess(t, dir, "run", filepath.Join(dir, "s.yaml"), "--mode", "replay", "--out", filepath.Join(dir, "runs")); e.code != 0 {
				t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
			}
		})
	}
}

// newMock is a mock model without a socket.
func newMock(t testing.TB, script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	t.Helper()
	m, err := mockllm.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
