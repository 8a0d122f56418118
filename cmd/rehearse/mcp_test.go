// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// client runs `rehearse mcp` in this process.
func client(t *testing.T, args ...string) (code exitCode, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = command(t.Context(), &process{
		args: append([]string{"mcp"}, args...), getenv: func(string) (string, bool) { return "", false },
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
	})
	return code, out.String(), errs.String()
}

// TestMCPClientFindsSSE is given the address of the older HTTP+SSE, and not
// told that it is one.
func TestMCPClientFindsSSE(t *testing.T) {
	server := mockmcp.NewServer(t, mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{{Name: "echo", Results: []mockmcp.Result{{}}}}})
	for _, tt := range []struct {
		name   string
		args   []string
		code   exitCode
		stdout string
		stderr string
	}{
		{"it is tried", nil, exitPassed, "echo\n", "the server speaks only the older HTTP+SSE; use --transport sse to skip the first attempt\n"},
		{"http was said", []string{"--transport", "http"}, exitUnjudged, "", "needs transport: sse"},
		{"the new era was said", []string{"--era", "modern"}, exitUnjudged, "", "does not support protocol version 2026-07-28"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := client(t, append([]string{"list", server.SSE}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit %d, %q, %q; want %d, %q, %q", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// TestMCPClientInterrupted: an interrupt is no fault of the server's.
func TestMCPClientInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := mockmcp.NewServer(t, mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{{
		Name: "wait",
		Handler: func(ctx context.Context, _ *mockmcp.Call) (*mockmcp.Answer, error) {
			interrupt()
			<-ctx.Done()
			return &mockmcp.Answer{}, nil
		},
	}}})
	var stderr strings.Builder
	code := command(ctx, &process{
		args: []string{"mcp", "call", server.URL, "wait"}, getenv: func(string) (string, bool) { return "", false },
		stdin: strings.NewReader(""), stdout: &stderr, stderr: &stderr,
	})
	want := `rehearse: interrupted while calling "wait" on server "` + server.URL + "\"\n"
	if code != exitKilled || stderr.String() != want {
		t.Errorf("exit %d, %q; want %d, %q", code, stderr.String(), exitKilled, want)
	}
}

// TestMCPClient reaches a server by every transport and era, and shows a key.
func TestMCPClient(t *testing.T) {
	server := mockmcp.NewServer(t, mockmcp.Script{
		Name: "s", Protocol: mockmcp.Protocol{Auth: &mockmcp.Auth{Token: "sesame"}},
		Tools: []mockmcp.Tool{{
			Name: "echo", Input: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`),
			Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: string(c.Args)}, nil
			},
		}},
	})
	for _, tt := range []struct{ name, url, transport string }{
		{"http", server.URL, ""},
		{"http, said", server.URL, "http"},
		{"sse", server.SSE, "sse"},
		{"ws", server.WS, ""},
		{"ws, by an http URL", "http" + strings.TrimPrefix(server.WS, "ws"), "ws"},
	} {
		for _, era := range []string{"auto", "legacy", "modern"} {
			t.Run(tt.name+", "+era, func(t *testing.T) {
				args := []string{"call", tt.url, "echo", "id=007", "--era", era}
				if tt.transport != "" {
					args = append(args, "--transport", tt.transport)
				}
				code, stdout, stderr := client(t, append(args, "--header", "Authorization: Bearer sesame")...)
				if code != exitPassed || stdout != `{"id":"007"}`+"\n" || stderr != "" {
					t.Errorf("exit %d, %q, %q", code, stdout, stderr)
				}
				code, stdout, stderr = client(t, args...)
				if code != exitUnjudged || stdout != "" || !strings.Contains(stderr, "401") {
					t.Errorf("without a key: exit %d, %q, %q", code, stdout, stderr)
				}
			})
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on the device") }

// TestMCPListIsWritten: a list that cannot be written is an error.
func TestMCPListIsWritten(t *testing.T) {
	server := mockmcp.NewServer(t, mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{{Name: "echo", Results: []mockmcp.Result{{}}}}})
	dir := t.TempDir()
	put(t, dir, "mcp.json", `{"mcpServers":{"s":{"url":"`+server.URL+`"}}}`)
	for _, args := range [][]string{{}, {"--raw"}} {
		var stderr strings.Builder
		code := command(t.Context(), &process{
			args: append([]string{"mcp", "list", "--config", filepath.Join(dir, "mcp.json")}, args...), getenv: func(string) (string, bool) { return "", false },
			stdin: strings.NewReader(""), stdout: fullDisk{}, stderr: &stderr,
		})
		if code == exitPassed || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: exit %d, %q", args, code, stderr.String())
		}
	}
}
