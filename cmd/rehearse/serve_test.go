// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

// served is a mock that `rehearse serve` runs in this process.
type served struct {
	t          *testing.T
	URL, Admin string
	OpenAI     string // of a proxy
	client     http.Client
	end        func() (exitCode, string) // returns what stood on standard error
}

func serveFile(t *testing.T, kind, text string) *served {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mock.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return serveArgs(t, &process{}, "serve", kind, file)
}

// serveArgs runs a command line that serves, in what is set of p.
func serveArgs(t *testing.T, p *process, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	var stderr strings.Builder
	done := make(chan exitCode, 1)
	p.args = args
	if p.getenv == nil {
		p.getenv = func(string) (string, bool) { return "", false }
	}
	p.stdin, p.stdout, p.stderr = strings.NewReader(""), stdout, &stderr
	go func() {
		done <- command(ctx, p)
		stdout.Close()
	}()
	s := &served{t: t}
	readReady(t, out, s)
	s.end = func() (exitCode, string) {
		cancel()
		code := <-done
		return code, stderr.String()
	}
	return s
}

// readReady reads the line that tells where a server is.
func readReady(t *testing.T, out io.Reader, s *served) {
	t.Helper()
	s.client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, s)
	}
	if err != nil {
		t.Fatalf("no ready line, %q: %v", line, err)
	}
}

// ask sends a request and returns the body of the answer.
func (s *served) ask(method, url, body string) string {
	s.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(res.StatusCode, " ", strings.TrimSpace(string(data)))
}

const llmFile = "llm: one\nreplies: [{say: hello}]\n"

// TestServeLLMCountsMisses prints each miss when it happens, and a count of
// them at the end; a reset forgets them.
func TestServeLLMCountsMisses(t *testing.T) {
	chat := `{"model":"m","messages":[{"role":"user","content":"QUESTION"}]}`
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset %v", reset), func(t *testing.T) {
			s := serveFile(t, "llm", llmFile)
			for _, q := range []string{"hi", "once more", "and more"} {
				s.ask("POST", s.URL+"/chat/completions", strings.ReplaceAll(chat, "QUESTION", q))
			}
			want, code := "rehearse: 2 requests not answered as scripted; see above\n", exitFailed
			if reset {
				if got := s.ask("POST", s.Admin+"/reset", ""); got != "204 " {
					t.Errorf("reset: %s", got)
				}
				want, code = "", exitPassed
			}
			gotCode, stderr := s.end()
			if n := strings.Count(stderr, "nothing scripted fits the request"); n != 2 {
				t.Errorf("%d misses were printed, want 2:\n%s", n, stderr)
			}
			if gotCode != code || !strings.HasSuffix(stderr, want) || want == "" && strings.Contains(stderr, "as scripted") {
				t.Errorf("exit code %d and\n%swant %d and at the end %q", gotCode, stderr, code, want)
			}
		})
	}
}

// TestServeMCPAdmin looks at the state and the journal, and starts over.
func TestServeMCPAdmin(t *testing.T) {
	s := serveFile(t, "mcp", `server: s
state: {n: 1}
tools:
  - name: add
    input: {type: object, properties: {by: {type: integer}}}
    results: [{when: "args.by == 1", set: {n: {$cel: state.n + args.by}}, text: ok}]
`)
	session, err := mcppool.Open(t.Context(), harness.Server{Name: "s", URL: s.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func(by int) {
		t.Helper()
		// What it is answered is not at issue: a miss is an error.
		_, _ = session.Call(t.Context(), "add", json.RawMessage(fmt.Sprintf(`{"by":%d}`, by)))
	}
	look := func(path, want string) {
		t.Helper()
		if got := s.ask("GET", s.Admin+path, ""); !strings.HasPrefix(got, want) {
			t.Errorf("GET %s: %s, want %s", path, got, want)
		}
	}
	look("/state", `200 {"n":1}`)
	look("/journal", `200 []`)
	call(1)
	call(7)
	look("/state", `200 {"n":2}`)
	look("/journal", `200 [{"seq":1,`)
	if got := s.ask("POST", s.Admin+"/reset", ""); got != "204 " {
		t.Errorf("reset: %s", got)
	}
	look("/state", `200 {"n":1}`)
	look("/journal", `200 []`)
	call(7)
	code, stderr := s.end()
	if want := "rehearse: 1 call not answered as scripted; see above\n"; code != exitFailed || !strings.HasSuffix(stderr, want) {
		t.Errorf("exit code %d and\n%swant %d and at the end %q", code, stderr, exitFailed, want)
	}
}
