// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	h := httptest.NewServer(f)
	t.Cleanup(h.Close)
	return h.URL
}

// In the initialize era giving up is told by a message, in the new one by the
// end of the request.
func TestHTTPCancellingIsTold(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprint("modern ", modern), func(t *testing.T) {
			called, ended, cancelled := make(chan struct{}), make(chan struct{}), make(chan string, 1)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				m, _ := mcpwire.Parse(body)
				switch m.Method {
				case "server/discover":
					if modern {
						reply(w, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`)
						return
					}
					reply(w, m, discoverRefused)
				case "initialize":
					w.Header().Set("Mcp-Session-Id", "s1")
					reply(w, m, initialized)
				case "notifications/cancelled":
					cancelled <- r.Header.Get("Mcp-Session-Id") + string(m.Params)
					w.WriteHeader(http.StatusAccepted)
				case "tools/call":
					close(called)
					<-r.Context().Done()
					close(ended)
				case "":
					w.WriteHeader(http.StatusMethodNotAllowed)
				}
			})
			s := open(t, harness.Server{URL: url}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-called
				cancel()
			}()
			if _, err := s.Call(ctx, "x", nil); err == nil || kindOf(t, err).Kind != mcppool.ErrCancelled {
				t.Errorf("Call() = %v", err)
			}
			<-ended
			if !modern {
				if got := <-cancelled; !strings.HasPrefix(got, "s1{") || !strings.Contains(got, `"requestId":3`) {
					t.Errorf("cancelled with %s", got)
				}
			}
			s.Close()
			if modern && len(cancelled) > 0 {
				t.Errorf("cancelled with %s", <-cancelled)
			}
		})
	}
}

// A server that refuses the last word of the handshake has not shaken hands.
func TestHTTPHandshakeThatIsRefused(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := mcpwire.Parse(body)
		switch m.Method {
		case "server/discover":
			reply(w, m, discoverRefused)
		case "initialize":
			reply(w, m, initialized)
		default:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", URL: url}, patient)
	want := `connecting to server "p": HTTP 503 Service Unavailable: not yet`
	if err == nil || err.Error() != want || kindOf(t, err).Kind != mcppool.ErrTransport {
		t.Errorf("got %v, want %s", err, want)
	}
}

// hurried is a clock on which waits take no time.
type hurried struct{ harness.Clock }

func (hurried) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// A stream that the server ends before the answer is taken up where it ended,
// if the server has prepared for that; the call is not made again.
func TestHTTPStreamIsTakenUpAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first string // of the call's stream
		then  string // of what is taken up
		want  string // the error
	}{
		{"with an answer", "id: 7\nretry: 3600000\ndata:\n\n", "data: " + result("ok") + "\n\n", ""},
		{"after progress", "id: 7\nretry: 3600000\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", "data: " + result("ok") + "\n\n", ""},
		{"in vain", "id: 7\nretry: 3600000\ndata:\n\n", "", "the answer's stream ended without an answer"},
		{"from a server that is gone", "id: 7\nretry: 3600000\ndata:\n\n", "GONE", "the answer's stream ended, and resuming it: "},
		{"refused", "id: 7\nretry: 3600000\ndata:\n\n", "REFUSED", "the answer's stream ended, and resuming it: HTTP 400 Bad Request: no such event"},
		{"not prepared", "retry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", "", "the answer's stream ended without an answer"},
		{"with another answer", "data: " + strings.ReplaceAll(result("ok"), "ID", "999") + "\n\n", "", "unusable answer: request 3 was answered with the id 999"},
		{"with no JSON", "data: oops\n\n", "", `(a line is not a JSON-RPC message (invalid character 'o' looking for beginning of value): "oops")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var id string
			calls, taken := 0, 0
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				m, _ := mcpwire.Parse(body)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case m.Method == "server/discover":
					reply(w, m, discoverRefused)
				case m.Method == "initialize":
					reply(w, m, initialized)
				case m.Method == "tools/call":
					calls++
					id = string(m.ID)
					w.Header().Set("Content-Type", "text/event-stream")
					reply(w, m, tt.first)
				case r.Header.Get("Last-Event-ID") == "7" && tt.then == "GONE":
					panic(http.ErrAbortHandler)
				case r.Header.Get("Last-Event-ID") == "7" && tt.then == "REFUSED":
					http.Error(w, "no such event", http.StatusBadRequest)
				case r.Header.Get("Last-Event-ID") == "7":
					taken++
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, strings.ReplaceAll(tt.then, "ID", id))
				case m.Method == "notifications/initialized":
					w.WriteHeader(http.StatusAccepted)
				default:
					w.WriteHeader(http.StatusMethodNotAllowed)
				}
			})
			s := open(t, harness.Server{URL: url}, &mcppool.Options{Clock: hurried{harness.SystemClock()}})
			r, err := s.Call(t.Context(), "x", nil)
			switch {
			case tt.want == "" && (err != nil || r.Text != "ok" || taken != 1):
				t.Errorf("Call() = %v, %v, taken up %d times", r, err, taken)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Call() = %v, %v, want %s", r, err, tt.want)
			}
			if calls != 1 {
				t.Errorf("%d calls", calls)
			}
			s.Close()
		})
	}
}

// A server that wants authorization is quoted.
func TestHTTPAuthorizationIsNamed(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://x/.well-known"`)
		http.Error(w, "no token", http.StatusUnauthorized)
	})
	_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", URL: url}, nil)
	want := `connecting to server "p": HTTP 401 Unauthorized (it requires authorization: Bearer resource_metadata="http://x/.well-known"): no token`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Notifications that come with the answer reach us, those after it harm
// nobody, and neither does a batch.
func TestHTTPManyMessagesInOneAnswer(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`
	for _, tt := range []struct{ name, kind, body string }{
		{"burst", "text/event-stream", strings.Repeat("data: "+note+"\n\n", 1000) + "data: " + result("ok") + "\n\ndata: " + note + "\n\n"},
		{"batch", "application/json", "[" + note + "," + result("ok") + "]"},
		{"batch in an event", "text/event-stream; charset=utf-8", "event: message\r\ndata: [" + note + ",\r\ndata: " + result("ok") + "]\r\n\r\n"},
		{"no blank line at the end", "text/event-stream", "data: " + note + "\n\ndata: " + result("ok")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := make(chan string, 2000)
			p := &httpPeer{call: func(w http.ResponseWriter, m mcpwire.Message) {
				w.Header().Set("Content-Type", tt.kind)
				reply(w, m, tt.body)
			}}
			s := openHTTP(t, p, &mcppool.Options{Notified: func(_, method string, _ json.RawMessage) { told <- method }})
			if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" {
				t.Errorf("Call() = %v, %v", r, err)
			}
			if want := min(strings.Count(tt.body, note), 1000); len(told) < want {
				t.Errorf("told %d times, want %d", len(told), want)
			}
			s.Close()
		})
	}
}

// What a server asks on the stream of a call is answered while the call goes
// on.
func TestHTTPQuestionDuringACall(t *testing.T) {
	answered := make(chan string, 1)
	p := &httpPeer{}
	p.call = func(w http.ResponseWriter, m mcpwire.Message) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\n")
		w.(http.Flusher).Flush()
		select {
		case frame := <-answered:
			reply(w, m, "data: "+result(strings.ReplaceAll(frame, `"`, "'"))+"\n\n")
		case <-time.After(30 * time.Second):
		}
	}
	s := openHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			if m, err := mcpwire.Parse(body); err == nil && m.IsResponse() {
				answered <- string(m.Frame)
				w.WriteHeader(http.StatusAccepted)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		p.ServeHTTP(w, r)
	}), nil)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != `{'jsonrpc':'2.0','id':'q','result':{}}` {
		t.Errorf("Call() = %v, %v", r, err)
	}
	s.Close()
}

// A server that refuses our answer to what it asked is noted.
func TestHTTPAnswerThatIsRefused(t *testing.T) {
	refused := make(chan struct{})
	p := &httpPeer{}
	p.call = func(w http.ResponseWriter, m mcpwire.Message) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-refused:
			reply(w, m, "data: "+result("ok")+"\n\n")
		case <-time.After(30 * time.Second):
		}
	}
	noted := make(chan string, 10)
	opts := *patient
	opts.Logf = func(format string, args ...any) { noted <- fmt.Sprintf(format, args...) }
	s := openHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if m, err := mcpwire.Parse(body); err == nil && m.IsResponse() {
			http.Error(w, "not asked", http.StatusBadRequest)
			close(refused)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		p.ServeHTTP(w, r)
	}), &opts)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" {
		t.Errorf("Call() = %v, %v", r, err)
	}
	if got, want := <-noted, `server "p": did not accept the client's answer: HTTP 400 Bad Request: not asked`; got != want {
		t.Errorf("noted %q, want %q", got, want)
	}
	s.Close()
}
