// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/server/servertest"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// httpPeer is a server of the initialize era over HTTP, of few words like
// peer: what it answers tools/call with is up to the test.
type httpPeer struct {
	call func(w http.ResponseWriter, m mcpwire.Message)
	// stream is sent to a client that listens.
	stream string

	mu       sync.Mutex // guards the fields below
	requests []string   // method, session, and the Authorization header
	sessions int
	listens  chan struct{}
}

func (p *httpPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, _ := mcpwire.Parse(body)
	what := m.Method
	if what == "" {
		what = r.Method
	}
	session := r.Header.Get("Mcp-Session-Id")
	p.mu.Lock()
	if what != "GET" { // comes when it likes
		p.requests = append(p.requests, strings.TrimSpace(fmt.Sprint(what, " ", session, " ", r.Header.Get("Authorization"))))
	}
	p.mu.Unlock()
	switch what {
	case "GET":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, p.stream)
		w.(http.Flusher).Flush()
		if p.listens != nil {
			close(p.listens)
		}
		<-r.Context().Done()
	case "DELETE":
	case "initialize":
		p.mu.Lock()
		p.sessions++
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", p.sessions))
		p.mu.Unlock()
		reply(w, m, initialized)
	case "notifications/initialized", "notifications/cancelled":
		w.WriteHeader(http.StatusAccepted)
	case "tools/call":
		p.call(w, m)
	default: // server/discover, without a session
		w.WriteHeader(http.StatusBadRequest)
		reply(w, m, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing session ID"}}`)
	}
}

func reply(w http.ResponseWriter, m mcpwire.Message, frame string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	fmt.Fprint(w, strings.ReplaceAll(frame, "ID", string(m.ID)))
}

func openHTTP(t *testing.T, p http.Handler, opts *mcppool.Options) *mcppool.Session {
	t.Helper()
	h := httptest.NewServer(p)
	t.Cleanup(h.Close)
	return open(t, harness.Server{URL: h.URL, Headers: map[string]string{"Authorization": "Bearer k"}}, opts)
}

func TestHTTPBothEras(t *testing.T) {
	mock := mockmcp.NewServer(t, mockmcp.Script{Name: "e", Tools: []mockmcp.Tool{{
		Name:  "t",
		Input: raw(`{"type":"object","oneOf":[{}]}`),
		Results: []mockmcp.Result{{
			Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{JSON: raw(`{"n":1.10}`)}, nil },
		}},
	}}})
	s := open(t, harness.Server{URL: mock.URL}, nil)
	if v := s.ProtocolVersion(); v != "2026-07-28" {
		t.Errorf("version %q", v)
	}
	tools, warnings, err := s.Tools(t.Context())
	if err != nil || len(tools) != 1 || string(tools[0].Schema) != `{"type":"object","oneOf":[{}]}` || warnings != nil {
		t.Errorf("Tools() = %v, %q, %v", tools, warnings, err)
	}
	if r, err := s.Call(t.Context(), "t", nil); err != nil || string(r.Structured) != `{"n":1.10}` {
		t.Errorf("Call() = %+v, %v", r, err)
	}
	s.Close()

	p := &httpPeer{call: func(w http.ResponseWriter, m mcpwire.Message) { reply(w, m, result("old")) }}
	s = openHTTP(t, p, nil)
	if v := s.ProtocolVersion(); v != "2025-11-25" {
		t.Errorf("version %q", v)
	}
	if r, err := s.Call(t.Context(), "t", nil); err != nil || r.Text != "old" {
		t.Errorf("Call() = %+v, %v", r, err)
	}
	s.Close()
	want := []string{"server/discover  Bearer k", "initialize  Bearer k", "notifications/initialized s1 Bearer k", "tools/call s1 Bearer k", "DELETE s1 Bearer k"}
	if diff := cmp.Diff(want, p.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// C8, C9 and more ways in which HTTP answers are no answers.
func TestHTTPOddAnswers(t *testing.T) {
	for _, tt := range []struct {
		name string
		call func(w http.ResponseWriter, m mcpwire.Message)
		kind mcppool.ErrorKind
		want string
	}{
		{"another id", func(w http.ResponseWriter, m mcpwire.Message) {
			reply(w, m, `{"jsonrpc":"2.0","id":999,"result":{"content":[]}}`)
		}, mcppool.ErrMalformed, "was answered with the id 999"},
		{"id as string", func(w http.ResponseWriter, m mcpwire.Message) {
			reply(w, m, strings.ReplaceAll(result("ok"), "ID", `"ID"`))
		}, "", ""},
		{"stream that ends without an answer", func(w http.ResponseWriter, m mcpwire.Message) {
			w.Header().Set("Content-Type", "text/event-stream")
			reply(w, m, ": ping\n\n")
		}, mcppool.ErrMalformed, "the answer's stream ended without an answer"},
		{"stream", func(w http.ResponseWriter, m mcpwire.Message) {
			w.Header().Set("Content-Type", "text/event-stream")
			reply(w, m, "data: "+`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\ndata: "+result("ok")+"\n\n")
		}, "", ""},
		{"cut connection", func(w http.ResponseWriter, m mcpwire.Message) {
			w.Header().Set("Content-Length", "1000")
			reply(w, m, `{"jsonrpc":"2.0",`)
		}, mcppool.ErrTransport, "unexpected EOF"},
		{"too many requests", func(w http.ResponseWriter, m mcpwire.Message) {
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}, mcppool.ErrTransport, "HTTP 429 Too Many Requests: slow down"},
		{"JSON-RPC error with a status", func(w http.ResponseWriter, m mcpwire.Message) {
			w.WriteHeader(http.StatusBadRequest)
			reply(w, m, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32050,"message":"quota","data":[1]}}`)
		}, mcppool.ErrRPC, "MCP error -32050: quota"},
		{"web page", func(w http.ResponseWriter, m mcpwire.Message) {
			w.Header().Set("Content-Type", "text/html")
			reply(w, m, "<html>")
		}, mcppool.ErrMalformed, `the content type is "text/html": <html>`},
		{"no result", func(w http.ResponseWriter, m mcpwire.Message) {
			reply(w, m, `{"jsonrpc":"2.0","id":ID,"result":null}`)
		}, mcppool.ErrMalformed, ""},
		{"too long", func(w http.ResponseWriter, m mcpwire.Message) {
			reply(w, m, result(strings.Repeat("x", 100_000)))
		}, mcppool.ErrMalformed, "it is longer than 50000 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openHTTP(t, &httpPeer{call: tt.call}, &mcppool.Options{MaxFrame: 50_000})
			r, err := s.Call(t.Context(), "x", nil)
			if tt.kind == "" {
				if err != nil || r.Text != "ok" {
					t.Errorf("Call() = %v, %v", r, err)
				}
				return
			}
			if err == nil {
				t.Fatalf("Call() = %+v", r)
			}
			if e := kindOf(t, err); e.Kind != tt.kind || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Call() = %v (%s), want %s with %q", err, e.Kind, tt.kind, tt.want)
			}
		})
	}
}

func TestHTTPHasItsOwnDeadline(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p := &httpPeer{call: func(http.ResponseWriter, mcpwire.Message) { <-release }}
	s := openHTTP(t, p, &mcppool.Options{CallTimeout: 20 * time.Millisecond})
	_, err := s.Call(t.Context(), "x", nil)
	if e := kindOf(t, err); e.Kind != mcppool.ErrTimeout {
		t.Errorf("Call() = %v", err)
	}
}

// C9: a server that was restarted forgot the session: a new one is opened,
// without the old id, and the call is sent once more.
func TestHTTPSessionThatWasForgotten(t *testing.T) {
	var p *httpPeer
	calls := 0
	p = &httpPeer{call: func(w http.ResponseWriter, m mcpwire.Message) {
		if calls++; calls == 2 || calls >= 4 {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		reply(w, m, result(fmt.Sprint("call ", calls)))
	}}
	s := openHTTP(t, p, nil)
	for _, want := range []string{"call 1", "call 3"} {
		if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != want {
			t.Fatalf("Call() = %v, %v, want %s", r, err, want)
		}
	}
	if _, err := s.Call(t.Context(), "x", nil); err == nil || calls != 5 {
		t.Errorf("a server that forgets at once: %v after %d calls", err, calls)
	}
	s.Close()
	var got []string
	for _, r := range p.requests {
		if strings.HasPrefix(r, "initialize") || strings.HasPrefix(r, "tools/call") {
			got = append(got, strings.TrimSuffix(r, " Bearer k"))
		}
	}
	want := []string{"initialize ", "tools/call s1", "tools/call s1", "initialize ", "tools/call s2", "tools/call s2", "initialize ", "tools/call s3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if notes := s.Notes(); len(notes) == 0 || !strings.Contains(notes[0], "no longer knows the session; opened a new one") {
		t.Errorf("notes: %q", notes)
	}
}

// Servers that say in other words that they have no such session.
func TestHTTPSessionThatWasForgottenInOtherWords(t *testing.T) {
	for _, message := range []string{"Bad Request: No valid session ID provided", "Session not found"} {
		t.Run(message, func(t *testing.T) {
			calls := 0
			s := openHTTP(t, &httpPeer{call: func(w http.ResponseWriter, m mcpwire.Message) {
				if calls++; calls == 1 {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					reply(w, m, fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%q}}`, message))
					return
				}
				reply(w, m, result("ok"))
			}}, nil)
			if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" || calls != 2 {
				t.Errorf("Call() = %v, %v after %d calls", r, err, calls)
			}
		})
	}
}

// C11: on a server of the initialize era, what it tells between calls comes
// on a stream that must be asked for. C12: that makes no noise.
func TestHTTPListensToLegacyServers(t *testing.T) {
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)

	p := &httpPeer{
		listens: make(chan struct{}),
		stream: `data: {"jsonrpc":"2.0","id":"s1","method":"roots/list"}` + "\n\n" +
			`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n",
		call: func(w http.ResponseWriter, m mcpwire.Message) { reply(w, m, result("x")) },
	}
	s := openHTTP(t, p, nil)
	<-p.listens
	deadline := time.Now().Add(30 * time.Second)
	for s.ListChanges() == 0 { // it was sent; wait until it was read
		if time.Now().After(deadline) {
			t.Fatal("the notification did not arrive")
		}
		if _, err := s.Call(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}

// A 404 of the new era is an unknown method, not a lost session.
func TestHTTPModern404IsAnError(t *testing.T) {
	s := openHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := mcpwire.Parse(body)
		if m.Method == "server/discover" {
			reply(w, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		reply(w, m, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`)
	}), nil)
	_, err := s.Call(t.Context(), "x", nil)
	if e := kindOf(t, err); e.Kind != mcppool.ErrRPC || e.RPC.Code != -32601 {
		t.Errorf("Call() = %v", err)
	}
}

func TestHTTPServerThatIsNotThere(t *testing.T) {
	h := httptest.NewServer(nil)
	h.Close()
	_, err := mcppool.Open(t.Context(), harness.Server{Name: "gone", URL: h.URL}, nil)
	if e := kindOf(t, err); e.Kind != mcppool.ErrTransport || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Open() = %v", err)
	}
}

// A URL that names no server is refused before anything is sent.
func TestURLOfNoServer(t *testing.T) {
	for _, transport := range []string{"", "http", "sse"} {
		_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", URL: "nonsense", Transport: transport}, nil)
		if err == nil || err.Error() != `connecting to server "p": "nonsense" is not the URL of a server` || kindOf(t, err).Kind != mcppool.ErrTransport {
			t.Errorf("by %q: %v", transport, err)
		}
	}
}

// TestSSEAddressElsewhere: messages carry our headers, so they go nowhere but
// to the server that we were told of.
func TestSSEAddressElsewhere(t *testing.T) {
	for name, address := range map[string]func(own string) string{
		"another host":   func(string) string { return "http://127.0.0.2:1/message" },
		"another port":   func(string) string { return "http://127.0.0.1:1/message" },
		"another scheme": func(own string) string { return "https" + strings.TrimPrefix(own, "http") + "/message" },
		"no address":     func(string) string { return "http://[/" },
	} {
		t.Run(name, func(t *testing.T) {
			var own string
			var posts atomic.Int32
			own = serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					posts.Add(1)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", address("http://"+r.Host))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", URL: own, Transport: "sse"}, patient)
			if err == nil || !strings.Contains(err.Error(), "as its address") || posts.Load() > 0 {
				t.Errorf("Open() = %v after %d messages", err, posts.Load())
			}
		})
	}
}

func TestSSETransport(t *testing.T) {
	lib := server.NewMCPServer("old", "1", server.WithToolCapabilities(false))
	lib.AddTool(mcp.NewTool("t"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("by SSE"), nil
	})
	h := servertest.NewTestServer(lib)
	defer h.Close()
	s := open(t, harness.Server{URL: h.URL + "/sse", Transport: "sse"}, nil)
	if r, err := s.Call(t.Context(), "t", nil); err != nil || r.Text != "by SSE" {
		t.Errorf("Call() = %v, %v", r, err)
	}
	s.Close()
}
