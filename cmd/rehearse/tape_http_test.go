// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestTapeOverHTTP records a server over HTTP that wants a key, replays it over
// HTTP, and holds it and another build of it against the tape.
func TestTapeOverHTTP(t *testing.T) {
	const key = "Zq7Xv2Lm9Rt4Kp8Ws3Nd6Yb1"
	build := func(tool string) *mockmcp.HTTPServer {
		return mockmcp.NewServer(t, mockmcp.Script{
			Name: "s", Protocol: mockmcp.Protocol{Auth: &mockmcp.Auth{Token: key}},
			Tools: []mockmcp.Tool{{
				Name: tool, Input: json.RawMessage(`{"type":"object","properties":{"by":{"type":"integer"}}}`),
				Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
					return &mockmcp.Answer{Text: string(c.Args)}, nil
				},
			}},
		})
	}
	server, other := build("add"), build("plus")
	tape := filepath.Join(t.TempDir(), "s.tape")
	authorization := "Authorization: Bearer " + key

	s := serveArgs(t, &process{}, "tape", "--out", tape, "--url", server.URL+"?tenant="+key, "--header", authorization)
	if got := callOnce(t, harness.Server{Name: "s", URL: s.URL}, 2); got != `{"by":2}` {
		t.Errorf("while recording: %q", got)
	}
	if code, stderr := s.end(); code != exitPassed || !strings.Contains(stderr, "is written") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	data, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), key) || !strings.Contains(string(data), `"server":"http://127.0.0.1:`) {
		t.Errorf("the tape:\n%s", data)
	}

	for _, tt := range []struct {
		name string
		by   int
		code exitCode
		want string
	}{
		{"as recorded", 2, exitPassed, ""},
		{"another call", 3, exitFailed, "rehearse_miss: tools/call add: nearest on the tape is tools/call add"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serveArgs(t, &process{}, "tape", "--replay", tape, "--listen", "127.0.0.1:0")
			if tt.code == exitPassed {
				if got := callOnce(t, harness.Server{Name: "s", URL: s.URL}, tt.by); got != `{"by":2}` {
					t.Errorf("got %q", got)
				}
			} else if got := s.ask("POST", s.URL, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"by":3}}}`); !strings.Contains(got, tt.want) {
				t.Errorf("got %q", got)
			}
			if code, stderr := s.end(); code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}

	for _, tt := range []struct {
		name, url string
		code      exitCode
		want      string
	}{
		{"the same build", server.URL, exitPassed, "differences that matter: 0"},
		{"another build", other.URL, exitFailed, "breaking: line 4 tools/call add: succeeded, now fails"},
		{"none", "http://127.0.0.1:1/mcp", exitUnjudged, "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs strings.Builder
			code := command(t.Context(), &process{
				args: []string{"tape", "--verify", tape, "--url", tt.url, "--header", authorization}, getenv: func(string) (string, bool) { return "", false },
				stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
			})
			if code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
				t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
			}
		})
	}
}
