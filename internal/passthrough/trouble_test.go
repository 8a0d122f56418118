// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package passthrough_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/passthrough"
)

// TestTrouble has servers that leave a call without an answer.
func TestTrouble(t *testing.T) {
	const deep = 20_000
	tests := []struct {
		name   string
		server func(pipe io.ReadWriteCloser) // after it has read the call
		want   []passthrough.Trouble
		failed bool
	}{
		{"it answers", func(p io.ReadWriteCloser) {
			fmt.Fprintln(p, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		}, nil, false},
		{
			"it goes away", func(p io.ReadWriteCloser) { p.Close() },
			[]passthrough.Trouble{{Request: "tools/call ok", Why: "it disconnected"}},
			true,
		},
		{"it answers what cannot be read", func(p io.ReadWriteCloser) {
			fmt.Fprintln(p, `{"jsonrpc":"2.0","id":1,"result":`+strings.Repeat("[", deep)+strings.Repeat("]", deep)+"}")
		}, []passthrough.Trouble{{Request: "tools/call ok", Why: "its answer is unreadable: invalid character '[' exceeded max depth"}}, true},
		{"it answers another request", func(p io.ReadWriteCloser) {
			fmt.Fprintln(p, `{"jsonrpc":"2.0","id":9,"result":{"content":[]}}`)
		}, []passthrough.Trouble{{Request: "tools/call ok", Why: "unusable answer: request 1 was answered with the id 9"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := passthrough.New(harness.Server{Name: "s", Dial: func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := mcpwire.Pipe()
				go func() {
					if _, err := mcpwire.NewReader(ours, nil).Next(); err == nil {
						tt.server(ours)
					}
				}()
				return theirs, nil
			}}, nil)
			conn, err := p.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(conn, call(1, "ok"))
			_, _ = mcpwire.NewReader(conn, nil).Next() // whatever it is
			if d := cmp.Diff(tt.want, p.Trouble()); d != "" {
				t.Errorf("trouble (-want +got):\n%s", d)
			}
			if x := p.Journal()[0]; x.Failed != tt.failed {
				t.Errorf("failed is %v, want %v", x.Failed, tt.failed)
			}
			p.Close()
			if _, err := p.Dial(t.Context()); err == nil {
				t.Error("a connection was opened after Close")
			}
		})
	}
}

// TestTroubleOverHTTP is the same for servers with a URL.
func TestTroubleOverHTTP(t *testing.T) {
	long := func(kind, begin string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			// A server that leaves a request unread resets the connection, after
			// a while in which a busy reader of its answer may not be done.
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, begin+`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
			part := bytes.Repeat([]byte("x"), 1<<20)
			for range mcpwire.DefaultMaxFrame / len(part) {
				_, _ = w.Write(part)
			}
			_, _ = io.WriteString(w, `"}]}}`+"\n\n")
		}
	}
	tests := []struct {
		name   string
		server http.HandlerFunc
		want   string // the reason; empty for none
	}{
		{"it answers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"}\"{"}]}} `)
		}, ""},
		{"it hangs up", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}, "EOF"},
		{"its answer breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
		}, "its answer broke off: "},
		{"an error page", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, "it answered with HTTP 500"},
		{"no result", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{}`)
		}, "unusable answer: neither method, result nor error"},
		{"an answer that is too long", long("application/json", ""), "its answer exceeds the size limit"},
		{"an event that is too long", long("text/event-stream", "data: "), "its answer exceeds the size limit"},
		{"events without one", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\n\n")
		}, "its answer has no result"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			upstream := httptest.NewServer(tt.server)
			defer upstream.Close()
			p := passthrough.New(harness.Server{Name: "s", URL: upstream.URL}, nil)
			h, err := p.Handler()
			if err != nil {
				t.Fatal(err)
			}
			front := httptest.NewServer(h)
			defer front.Close()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			if res, err := client.Post(front.URL, "application/json", strings.NewReader(call(1, "ok"))); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			trouble := p.Trouble()
			if tt.want == "" {
				if len(trouble) > 0 || p.Journal()[0].Failed || p.Journal()[0].Text != `}"{` {
					t.Errorf("trouble %+v, journal %+v", trouble, p.Journal())
				}
				return
			}
			if len(trouble) != 1 || trouble[0].Request != "tools/call ok" || !strings.Contains(trouble[0].Why, tt.want) || !p.Journal()[0].Failed {
				t.Errorf("trouble %+v, want one with %q; journal %+v", trouble, tt.want, p.Journal())
			}
		})
	}
}

// TestTroubleBesideACancelledCall: an answer with a strange id was meant for the
// call that the client waits for, and not for one that it has given up.
func TestTroubleBesideACancelledCall(t *testing.T) {
	p := passthrough.New(harness.Server{Name: "s", Dial: func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := mcpwire.Pipe()
		go func() {
			for r := mcpwire.NewReader(ours, nil); ; {
				m, err := r.Next()
				if err != nil {
					return
				}
				if m.Method == mcpwire.NoticeCancelled {
					fmt.Fprintln(ours, `{"jsonrpc":"2.0","id":9,"result":{"content":[]}}`)
				}
			}
		}()
		return theirs, nil
	}}, nil)
	defer p.Close()
	conn, err := p.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{call(1, "first"), call(2, "second"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`} {
		fmt.Fprintln(conn, line)
	}
	if _, err := mcpwire.NewReader(conn, nil).Next(); err != nil {
		t.Fatal(err)
	}
	want := []passthrough.Trouble{{Request: "tools/call first"}, {Request: "tools/call second", Why: "unusable answer: request 2 was answered with the id 9"}}
	if d := cmp.Diff(want, p.Trouble()); d != "" {
		t.Errorf("trouble (-want +got):\n%s", d)
	}
}
