// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// socketPeer serves a peer over WebSockets.
func socketPeer(t *testing.T, subprotocols []string, serve func(s *mcpwire.Socket)) string {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer wrong" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: subprotocols})
		if err != nil {
			t.Error(err)
			return
		}
		s := mcpwire.NewSocket(conn)
		defer s.Abort()
		serve(s)
	}))
	t.Cleanup(h.Close)
	return "ws" + strings.TrimPrefix(h.URL, "http")
}

func TestWebSocket(t *testing.T) {
	url := socketPeer(t, []string{"mcp"}, func(s *mcpwire.Socket) {
		legacy(peer{
			"tools/call": {"Server running", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, result(strings.Repeat("long", 50_000))},
		}).serve(s, s)
	})
	s := open(t, harness.Server{URL: url, Headers: map[string]string{"Authorization": "Bearer k"}}, nil)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || len(r.Text) != 200_000 || s.ListChanges() == 0 {
		t.Errorf("Call() = %.40v, %v", r, err)
	}
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "Server running") {
		t.Errorf("notes: %q", notes)
	}
	s.Close()

	_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", URL: url, Headers: map[string]string{"Authorization": "Bearer wrong"}}, nil)
	if want := `connecting to server "p": HTTP 403 Forbidden: who are you?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWebSocketOfAMock(t *testing.T) {
	mock := mockmcp.NewServer(t, mockmcp.Script{Name: "e", Tools: []mockmcp.Tool{{
		Name: "t", Results: []mockmcp.Result{{
			Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{JSON: raw(`{"n":1.10}`)}, nil },
		}},
	}}})
	for _, tt := range []struct{ name, url, transport string }{
		{"ws", mock.WS, ""},
		{"http, named ws", "http" + strings.TrimPrefix(mock.WS, "ws"), "ws"},
		{"sse", mock.SSE, "sse"},
	} {
		for _, era := range []mcppool.Era{mcppool.EraLegacy, mcppool.EraAuto} {
			t.Run(fmt.Sprintf("%s %s", tt.name, era), func(t *testing.T) {
				s := open(t, harness.Server{URL: tt.url, Transport: tt.transport}, &mcppool.Options{Era: era})
				if r, err := s.Call(t.Context(), "t", nil); err != nil || string(r.Structured) != `{"n":1.10}` {
					t.Errorf("Call() = %+v, %v", r, err)
				}
				if tools, _, err := s.Tools(t.Context()); err != nil || len(tools) != 1 {
					t.Errorf("Tools() = %v, %v", tools, err)
				}
				if err := s.Ping(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A connection that is lost fails the call under way at once, says why, and is
// made again for the next.
func TestWebSocketThatIsLost(t *testing.T) {
	var calls atomic.Int32
	url := socketPeer(t, nil, func(s *mcpwire.Socket) {
		in, out := mcpwire.NewReader(s, nil), mcpwire.NewWriter(s)
		for {
			m, err := in.Next()
			if err != nil {
				return
			}
			switch m.Method {
			case "server/discover":
				say(out, m, discoverRefused)
			case "initialize":
				say(out, m, initialized)
			case "tools/call":
				if calls.Add(1)%2 == 1 {
					return
				}
				say(out, m, result("ok"))
			}
		}
	})
	s := open(t, harness.Server{URL: url}, nil)
	_, err := s.Call(t.Context(), "x", nil)
	if e := kindOf(t, err); e.Kind != mcppool.ErrClosed || !strings.HasPrefix(err.Error(), `calling "x" on server "p": the server disconnected: `) {
		t.Errorf("got %v", err)
	}
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" || calls.Load() != 2 {
		t.Errorf("the next call: %v, %v after %d calls", r, err, calls.Load())
	}
	if notes := s.Notes(); len(notes) == 0 || !strings.Contains(notes[0], `not its subprotocol "mcp"`) {
		t.Errorf("notes: %q", notes)
	}
	s.Close()
}

func TestWebSocketThatIsNone(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	defer h.Close()
	_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", URL: h.URL, Transport: "ws"}, nil)
	if want := `connecting to server "p": HTTP 404 Not Found: 404 page not found`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
