// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// noEnv is an environment in which nothing is set.
func noEnv(string) (string, bool) { return "", false }

// counting is a server that counts its requests.
func counting(t *testing.T, h http.Handler) (url string, n *atomic.Int64) {
	t.Helper()
	n = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, n
}

// TestClient has all settings of a client in .env, and nothing in the options.
// It connects when the first message is sent.
func TestClient(t *testing.T) {
	llm := newMock(t, mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "get_weather"}}}, {Say: "It is sunny."}, {Say: "Goodbye."},
	}}, nil)
	defer llm.Close()
	endpoint, asked := counting(t, llm)
	tool, called := counting(t, weatherServer(t).Handler())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("ARGO_BASE_URL="+endpoint+"/v1\nMCP_SERVER_URL="+tool+"\nARGO_DEFAULT_MODEL=gpt-4o\nOPENAI_API_KEY=k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(&ClientOptions{Dir: dir, LookupEnv: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := client.Conversation()
	if asked.Load()+called.Load() != 0 || len(client.Stats().Servers) != 0 {
		t.Error("it connected before the first message")
	}
	if d := cmp.Diff([]string{"It is sunny."}, told(t, c)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	c.SetModel("claudesonnet45") // of one message
	if d := cmp.Diff([]string{"Goodbye."}, told(t, c)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var models []string
	for _, x := range llm.Journal() {
		models = append(models, x.Request.Model)
	}
	if d := cmp.Diff([]string{"gpt-4o", "gpt-4o", "claudesonnet45"}, models); d != "" {
		t.Errorf("models (-want +got):\n%s", d)
	}
	if last := llm.Journal()[2].Request; last.MaxTokens != 4096 {
		t.Errorf("claude is told %d tokens", last.MaxTokens)
	}
	stats := client.Stats()
	if stats.Endpoint.State != mcppool.CircuitClosed || len(stats.Servers) != 1 || stats.Servers[0].Calls != 1 || stats.Servers[0].Circuit.State != mcppool.CircuitClosed {
		t.Errorf("stats %+v", stats)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"listing tools: the client was closed"}, told(t, c)); d != "" {
		t.Errorf("after Close (-want +got):\n%s", d)
	}
}

// TestClientFinds has what options and settings name, and what they leave open.
func TestClientFinds(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("mcp.json", `{"mcpServers": {"file": {"command": "x"}}, "agent_permissions": {"a": {"allowed_servers": ["file"]}}}`)
	put(".env", "MCP_SERVER_COMMAND=found\n")
	for _, tc := range []struct {
		name          string
		o             ClientOptions
		model, server string
		granted       bool
	}{
		{"nothing", ClientOptions{}, "gpt-5", "found", false},
		{"a model", ClientOptions{Model: "m"}, "m", "found", false},
		{"a command", ClientOptions{ServerCommand: []string{"/opt/own.sh", "-x"}}, "gpt-5", "own", false},
		{"servers", ClientOptions{Servers: []harness.Server{{Name: "one"}}, ServerCommand: []string{"two"}}, "gpt-5", "one two", false},
		{"a file", ClientOptions{ConfigFile: filepath.Join(dir, "mcp.json"), Servers: []harness.Server{{Name: "one"}}}, "gpt-5", "file one", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Dir, tc.o.LookupEnv = dir, noEnv
			c, err := NewClient(&tc.o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var names []string
			for _, s := range c.tools.servers {
				names = append(names, s.Name)
				if !s.Optional {
					t.Errorf("%s must be there", s.Name)
				}
			}
			if got := strings.Join(names, " "); c.cfg.Name != tc.model || got != tc.server || (c.tools.opts.Grants != nil) != tc.granted {
				t.Errorf("model %s, servers %s, grants %v", c.cfg.Name, got, c.tools.opts.Grants)
			}
		})
	}
	put(".env", "MCP_SERVER_COMMAND='x\n")
	if _, err := NewClient(&ClientOptions{Dir: dir, LookupEnv: noEnv}); err == nil || !strings.Contains(err.Error(), ".env:1: ") {
		t.Errorf("a mistake: %v", err)
	}
}

// TestClientServerIsDown has a server that comes later: a notice says so, and its
// breaker and that of the endpoint are on.
func TestClientServerIsDown(t *testing.T) {
	down := []any{&model.Error{Kind: model.KindServer, Status: 500}}
	synctest.Test(t, func(t *testing.T) {
		m := &script{replies: [][]any{said("a"), said("b"), down, down, down}}
		server := weatherServer(t)
		up := false
		client, err := NewClient(&ClientOptions{Dir: t.TempDir(), LookupEnv: noEnv, Agent: Config{Model: m}, Servers: []harness.Server{{
			Name: "weather", Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
				if !up {
					return nil, errors.New("no such program")
				}
				return server.Dial(ctx)
			},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		c := client.Conversation()
		notices := func() (out []string) {
			for event := range c.Send(t.Context(), "hi") {
				switch e := event.(type) {
				case Notice:
					out = append(out, e.Text)
				case CircuitChanged:
					out = append(out, string(e.To))
				}
			}
			return out
		}
		if d := cmp.Diff([]string{`connecting to server "weather": no such program; its tools are offered once it can be reached`}, notices()); d != "" {
			t.Errorf("down (-want +got):\n%s", d)
		}
		up = true
		time.Sleep(time.Second)
		if d := cmp.Diff([]string{`server "weather" can be reached now`}, notices()); d != "" || len(m.asked[1].Tools) != 1 {
			t.Errorf("%d tools (-want +got):\n%s", len(m.asked[1].Tools), d)
		}
		notices()
		notices()
		if d := cmp.Diff([]string{"open"}, notices()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := NewClient(&ClientOptions{Dir: t.TempDir(), LookupEnv: noEnv, NoBreaker: true})
	if err != nil || c.Circuit() != (mcppool.Circuit{}) || c.tools.pool == nil {
		t.Errorf("without breakers: %v", err)
	}
	c.Close()
}

// TestClientDenied has tools that may not be called, before and after connecting.
func TestClientDenied(t *testing.T) {
	client, err := NewClient(&ClientOptions{
		Dir: t.TempDir(), LookupEnv: noEnv, Agent: Config{Model: &script{replies: [][]any{called(call("c", "get_weather", "{}")), said("no")}}},
		Servers: []harness.Server{{Name: "weather", Dial: weatherServer(t).Dial}},
		Tools:   tools.Options{As: "eve", Grants: map[string][]string{"bob": {"weather"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.tools.denied("x"); err != nil {
		t.Errorf("before it is connected: %v", err)
	}
	c := client.Conversation()
	told(t, c)
	if calls := c.Calls(); len(calls) != 1 || !strings.Contains(calls[0].Result, `agent "eve" has no permission for server "weather"`) {
		t.Errorf("%+v", calls)
	}
}

// TestClientInterrupted ends the wait for servers with the message.
func TestClientInterrupted(t *testing.T) {
	client, err := NewClient(&ClientOptions{Dir: t.TempDir(), LookupEnv: noEnv, Agent: Config{Model: &script{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.tools.connecting <- struct{}{}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := client.tools.Tools(ctx); err == nil || err.Error() != "enough" {
		t.Errorf("got %v", err)
	}
	<-client.tools.connecting
}
