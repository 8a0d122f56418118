// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcpgo"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// asServer has this program be a server over stdio, or one that dies.
const asServer = "MCPGO_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "":
		goleak.VerifyTestMain(m)
	case "dies":
		fmt.Fprintln(os.Stderr, "no licence")
		os.Exit(3)
	default:
		s, err := mockmcp.New(weather(mockmcp.Protocol{}), nil)
		if err == nil {
			err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// weather is a script whose tool asks the client's user before it answers.
func weather(p mockmcp.Protocol) mockmcp.Script {
	return mockmcp.Script{Name: "weather", Protocol: p, Tools: []mockmcp.Tool{{
		Name: "get_weather",
		Results: []mockmcp.Result{{
			Before: []mockmcp.Step{mockmcp.Ask{mockmcp.Form("Where?", json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`))}},
			Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: "sunny, said " + string(c.Asked)}, nil
			},
		}},
	}}}
}

// user fills in a form.
type user struct{}

func (user) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"city": "Paris"}}}, nil
}

// TestTransports calls a tool that asks back, over every transport, with both
// eras.
func TestTransports(t *testing.T) {
	t.Setenv(asServer, "yes")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		script mockmcp.Protocol
		want   string // the version that is agreed on
		server func(*mockmcp.HTTPServer) harness.Server
	}{
		{"pipe", mockmcp.Protocol{}, mcpwire.FirstModern, func(s *mockmcp.HTTPServer) harness.Server { return harness.Server{Dial: s.Dial} }},
		{"pipe, legacy", mockmcp.Protocol{Modern: mockmcp.ModernOff}, "2025-11-25", func(s *mockmcp.HTTPServer) harness.Server { return harness.Server{Dial: s.Dial} }},
		{"http", mockmcp.Protocol{}, mcpwire.FirstModern, func(s *mockmcp.HTTPServer) harness.Server { return harness.Server{URL: s.URL} }},
		{"http, legacy", mockmcp.Protocol{Modern: mockmcp.ModernOff}, "2025-11-25", func(s *mockmcp.HTTPServer) harness.Server { return harness.Server{URL: s.URL} }},
		{"http, token", mockmcp.Protocol{Auth: &mockmcp.Auth{Token: "t"}}, mcpwire.FirstModern, func(s *mockmcp.HTTPServer) harness.Server {
			return harness.Server{URL: s.URL, Headers: map[string]string{"Authorization": "Bearer t"}}
		}},
		{"ws", mockmcp.Protocol{}, mcpwire.FirstModern, func(s *mockmcp.HTTPServer) harness.Server { return harness.Server{URL: s.WS} }},
		{"child process", mockmcp.Protocol{}, mcpwire.FirstModern, func(*mockmcp.HTTPServer) harness.Server {
			return harness.Server{Command: []string{program}, Env: []string{asServer + "=yes"}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mock := mockmcp.NewServer(t, weather(tc.script))
			c, err := mcpgo.Client(t.Context(), tc.server(mock), client.WithElicitationHandler(user{}))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.ProtocolVersion() != tc.want {
				t.Errorf("agreed on %q, want %q", c.ProtocolVersion(), tc.want)
			}
			if got := call(t, c); !strings.Contains(got, `"city":"Paris"`) {
				t.Errorf("the tool answered %q", got)
			}
		})
	}
}

// TestSSE calls a tool over the transport of 2024-11-05, over which clients of
// mcp-go answer nothing that a server asks.
func TestSSE(t *testing.T) {
	mock := mockmcp.NewServer(t, mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name: "get_weather",
		Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "sunny"}, nil
		},
	}}})
	c, err := mcpgo.Client(t.Context(), harness.Server{URL: mock.SSE, Transport: "sse"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := call(t, c); got != "sunny" {
		t.Errorf("the tool answered %q", got)
	}
}

func call(t *testing.T, c *client.Client) string {
	t.Helper()
	var request mcp.CallToolRequest
	request.Params.Name = "get_weather"
	result, err := c.CallTool(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].(mcp.TextContent).Text
}

// TestContext checks that a client outlives the context that it was made with,
// and that none is made when that ends.
func TestContext(t *testing.T) {
	for _, tc := range []struct {
		name   string
		server func(*mockmcp.HTTPServer) harness.Server
	}{
		{"pipe", func(s *mockmcp.HTTPServer) harness.Server { return harness.Server{Name: "weather", Dial: s.Dial} }},
		{"http", func(s *mockmcp.HTTPServer) harness.Server { return harness.Server{Name: "weather", URL: s.URL} }},
		{"sse", func(s *mockmcp.HTTPServer) harness.Server {
			return harness.Server{Name: "weather", URL: s.SSE, Transport: "sse"}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mock := mockmcp.NewServer(t, mockmcp.Script{Name: "weather"})
			ctx, cancel := context.WithCancel(t.Context())
			c, err := mcpgo.Client(ctx, tc.server(mock))
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if _, err := c.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil {
				t.Errorf("after the end of the context: %v", err)
			}
			c.Close()
			if _, err := mcpgo.Client(ctx, tc.server(mock)); err == nil {
				t.Error("a context that has ended makes a client")
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Setenv(asServer, "dies")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	refuses := mockmcp.NewServer(t, mockmcp.Script{Name: "weather", Protocol: mockmcp.Protocol{Auth: &mockmcp.Auth{Token: "t"}}})
	for _, tc := range []struct {
		name   string
		server harness.Server
		want   string
	}{
		{"nothing", harness.Server{Name: "x"}, `connecting to server "x": nothing says how it is reached: want a URL, a Command or Dial`},
		{"no program", harness.Server{Name: "x", Command: []string{"/does/not/exist"}}, `connecting to server "x": starting "/does/not/exist": fork/exec /does/not/exist: no such file or directory`},
		{"dies", harness.Server{Name: "x", Command: []string{program}, Env: []string{asServer + "=dies"}}, `connecting to server "x": the server disconnected: exit status 3; its stderr ends: no licence`},
		{"no address", harness.Server{Name: "x", URL: "http://127.0.0.1:1/mcp"}, `connecting to server "x": `},
		{"no socket", harness.Server{Name: "x", URL: "ws://127.0.0.1:1/ws"}, `connecting to server "x": `},
		{"bad URL", harness.Server{Name: "x", URL: "http://a b/"}, `connecting to server "x": invalid URL`},
		{"no token", harness.Server{Name: "x", URL: refuses.URL}, `connecting to server "x": `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := mcpgo.Client(t.Context(), tc.server)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestTransport shakes hands under another name.
func TestTransport(t *testing.T) {
	mock := mockmcp.NewServer(t, mockmcp.Script{Name: "weather", Protocol: mockmcp.Protocol{Modern: mockmcp.ModernOff}})
	tr, err := mcpgo.Transport(t.Context(), harness.Server{URL: mock.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(tr)
	defer c.Close()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "myagent", Version: "2"}
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, f := range mock.Frames() {
		if f.In && f.Method == "initialize" {
			var m struct {
				Params struct {
					ClientInfo struct{ Name string }
				}
			}
			if err := json.Unmarshal([]byte(f.Body), &m); err != nil {
				t.Fatal(err)
			}
			named = append(named, m.Params.ClientInfo.Name)
		}
	}
	if diff := cmp.Diff([]string{"myagent"}, named); diff != "" {
		t.Errorf("names in the handshake (-want +got):\n%s", diff)
	}
}
