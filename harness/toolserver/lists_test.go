// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/toolserver"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// TestLists: a tool that no model can be offered costs no other tool, and the
// tools of a server that says that they changed are those that it has then, over
// plain HTTP and over MCP.
func TestLists(t *testing.T) {
	tool := func(name string) mockmcp.Tool {
		return mockmcp.Tool{Name: name, Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: name + " was called"}, nil
		}}
	}
	mock, err := mockmcp.New(mockmcp.Script{
		Name: "bank", Tools: []mockmcp.Tool{tool("login"), tool("balance"), tool("odd")}, Protocol: mockmcp.Protocol{Modern: mockmcp.ModernOff},
		Faults:  []fault.Fault{{Kind: fault.BadSchema, Form: "any_of", Match: fault.Match{Tool: "odd"}}},
		Changes: []mockmcp.Change{{Call: 1, Tool: "login", Early: true, RemoveTools: []string{"balance"}, AddTools: []mockmcp.Tool{tool("balance_v2"), tool("add")}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mock.Close()
	var mu sync.Mutex
	var said []string
	s, err := toolserver.New(t.Context(), &toolserver.Registry{Toolsets: []toolserver.Toolset{
		{ID: "math", Active: true, Tools: []toolserver.Tool{{Name: "add", URL: "http://127.0.0.1:1"}}},
		{ID: "bank", Active: true, Server: &toolserver.Server{Dial: harness.Server{Name: "bank", Dial: mock.Dial}}},
	}}, &toolserver.Options{Logf: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprintf(format, args...))
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := httptest.NewServer(s)
	defer h.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if got := names(t, h.URL, ""); got != "add login balance" {
		t.Errorf("before the change: %s", got)
	}
	if status, body := ask(t, "POST", h.URL+"/tools/login", "{}"); status != 200 {
		t.Fatalf("login: %d %s", status, body)
	}
	if got := names(t, h.URL, ""); got != "add login balance_v2" {
		t.Errorf("after the change: %s", got)
	}
	for name, want := range map[string]int{"balance": 404, "balance_v2": 200} {
		if status, body := ask(t, "POST", h.URL+"/tools/"+name, "{}"); status != want {
			t.Errorf("%s: %d %s, want status %d", name, status, body, want)
		}
	}
	session, err := mcppool.Open(t.Context(), harness.Server{Name: "tools", URL: h.URL + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	listed, _, err := session.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range listed {
		got = append(got, tool.Name)
	}
	if text := strings.Join(got, " "); text != "add balance_v2 login" {
		t.Errorf("over MCP: %s", text)
	}
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(said, "\n")
	for _, want := range []string{`toolset "bank": tool "odd" is left out`, `toolset "bank": tool "add" is left out, as toolset "math" has one of that name`} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said:\n%s", want, all)
		}
	}
}

// TestCallTimeout: a call of an MCP server that does not answer is given up.
func TestCallTimeout(t *testing.T) {
	mock, err := mockmcp.New(mockmcp.Script{Name: "slow", Tools: []mockmcp.Tool{{
		Name: "scan", Handler: func(ctx context.Context, _ *mockmcp.Call) (*mockmcp.Answer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mock.Close()
	s, err := toolserver.New(t.Context(), &toolserver.Registry{Toolsets: []toolserver.Toolset{
		{ID: "slow", Active: true, Server: &toolserver.Server{Dial: harness.Server{Name: "slow", Dial: mock.Dial}}},
	}}, &toolserver.Options{CallTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := httptest.NewServer(s)
	defer h.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if status, body := ask(t, "POST", h.URL+"/tools/scan", "{}"); status != 502 || !strings.Contains(body, "no answer within 20ms") {
		t.Errorf("%d %s", status, body)
	}
}
