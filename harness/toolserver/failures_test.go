// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/toolserver"
)

// serverEnv has this program serve one tool over stdio, and die at the first call.
const serverEnv = "REHEARSE_TEST_DYING_SERVER"

const stderr = "cannot log in with password hunter2"

func dying() {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"read_file","inputSchema":{"type":"object"}},{"name":"where","inputSchema":{"type":"object"}}]}`,
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.ID == nil {
			continue
		}
		switch result := results[m.Method]; {
		case m.Params.Name == "where":
			dir, _ := os.Getwd()
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", m.ID, dir)
		case m.Method == "tools/call":
			fmt.Fprintln(os.Stderr, stderr)
			os.Exit(3)
		case result != "":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"none"}}`+"\n", m.ID)
		}
	}
}

// TestFailures: what a client reads of a call that went wrong, and a model after it,
// is neither what the server logs nor the address of a tool, which may hold a key.
func TestFailures(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer other.Close()
	moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	reg := &toolserver.Registry{Toolsets: []toolserver.Toolset{
		{ID: "files", Active: true, Server: &toolserver.Server{Command: []string{self}, Env: map[string]string{serverEnv: "1"}}},
		{ID: "web", Active: true, Tools: []toolserver.Tool{{Name: "moved", URL: moved.URL + "/a?key=hunter2"}, {Name: "gone", URL: gone.URL + "/a?key=hunter2"}}},
	}}
	var mu sync.Mutex
	var log strings.Builder
	s, err := toolserver.New(t.Context(), reg, &toolserver.Options{Logf: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&log, format+"\n", args...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		h.Close()
		_ = s.Close() // the server is dead
	}()
	for _, tt := range []struct{ tool, want string }{
		{"read_file", "exit status 3"},
		{"moved", "the tool at " + moved.URL + " redirects, with status 307, which is not followed"},
		{"gone", "asking the tool at " + gone.URL + ": "},
	} {
		_, plain := ask(t, http.MethodPost, h.URL+"/tools/"+tt.tool, "{}")
		session, err := mcppool.Open(t.Context(), harness.Server{Name: "tools", URL: h.URL + "/mcp"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		result, err := session.Call(t.Context(), tt.tool, json.RawMessage("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		for how, said := range map[string]string{"HTTP": plain, "MCP": string(result.Raw)} {
			if !strings.Contains(said, tt.want) || strings.Contains(said, "hunter2") {
				t.Errorf("%s over %s: %s, want %q and no secret", tt.tool, how, said, tt.want)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), stderr) || strings.Contains(log.String(), "key=") {
		t.Errorf("logged: %s", &log)
	}
}

// TestWorkingDirectory: a server of mcp.json runs where the file says, and a key that
// has no effect is told.
func TestWorkingDirectory(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, sub := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "sub")
	file, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"files": map[string]any{"command": self, "env": map[string]string{serverEnv: "1"}, "cwd": "sub", "cwdd": "x"}}})
	if err := errors.Join(os.Mkdir(sub, 0o700), os.WriteFile(path, file, 0o600)); err != nil {
		t.Fatal(err)
	}
	reg, err := toolserver.ReadRegistry(path)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	s, err := toolserver.New(t.Context(), reg, &toolserver.Options{Logf: func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Call(t.Context(), "", toolserver.Now, "where", json.RawMessage("{}")); err != nil || got.Text != sub {
		t.Errorf("it runs in %q, %v, want %q", got.Text, err, sub)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "cwdd") || !strings.Contains(log.String(), path) {
		t.Errorf("logged %q", &log)
	}
}
