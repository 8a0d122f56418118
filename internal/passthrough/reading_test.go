// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package passthrough_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/passthrough"
)

// TestOneReading: the journal reads odd answers as harness/mcppool does, whose
// TestOddFrames has what a client makes of them.
func TestOneReading(t *testing.T) {
	const ok = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}`
	const wrong = `{"jsonrpc":"2.0","id":777,"result":{"content":[{"type":"text","text":"wrong"}]}}`
	const accused = "unusable answer: request 1 was answered with the id "
	for _, tt := range []struct {
		name   string
		frames []string
		want   string // the text, the error or the trouble in the journal
	}{
		{"a result beside an error", []string{strings.TrimSuffix(ok, "}") + `,"error":{"code":-1,"message":"boom"}}`}, "ok"},
		{"an empty result beside an error", []string{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":0,"message":"Success"}}`}, ""},
		{"null beside an error", []string{`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1,"message":"boom"}}`}, "boom"},
		{"another id", []string{wrong, ok}, accused + "777"},
		{"the id null", []string{strings.Replace(wrong, "777", "null", 1), ok}, accused + "null"},
		{"an error with the id null", []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"boom"}}`}, "boom"},
		{"a batch", []string{"[" + ok + "]"}, "ok"},
		{"a message behind half of one", []string{`{"jsonrpc":"2.0","id":1,"res` + ok}, "ok"},
		{"no newline at the end", []string{ok + "NONEWLINE"}, "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := strings.ReplaceAll(strings.Join(tt.frames, "\n")+"\n", "NONEWLINE\n", "")
			s := passthrough.New(harness.Server{Name: "s", Dial: func(context.Context) (io.ReadWriteCloser, error) {
				return struct {
					io.Reader
					io.Writer
					io.Closer
				}{strings.NewReader(conn), io.Discard, io.NopCloser(nil)}, nil
			}}, nil)
			pipe, err := s.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(pipe, call(1, "x"))
			_, _ = io.ReadAll(pipe) // it ends
			if got := reading(s); got != tt.want {
				t.Errorf("over a pipe %q, want %q", got, tt.want)
			}

			events := ""
			for _, frame := range tt.frames {
				events += "data: " + strings.TrimSuffix(frame, "NONEWLINE") + "\n\n"
			}
			if got := readingHTTP(t, 200, "text/event-stream", events); got != tt.want {
				t.Errorf("over events %q, want %q", got, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		name, kind, body, want string
		status                 int // 0 is 200
	}{
		{name: "another type", kind: "text/plain", body: ok, want: "it answered with HTTP 200"},
		{name: "accepted", kind: "application/json", body: ok, want: "it answered with HTTP 202", status: 202},
		{name: "a result with an error's status", kind: "application/json", body: ok, want: "it answered with HTTP 500", status: 500},
		{name: "events with an error's status", kind: "text/event-stream", body: "data: " + ok + "\n\n", want: "its answer has no result", status: 500},
		{name: "an error with its status", kind: "text/plain", body: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"boom"}}`, want: "boom", status: 400},
		{"an event of another name", "text/event-stream", "event: result\ndata: " + ok + "\n\n", "its answer has no result", 0},
		{"an error in a body with no id", "application/json", `{"jsonrpc":"2.0","error":{"code":-1,"message":"boom"}}`, "boom", 0},
		{"a body with another id", "application/json", wrong, accused + "777", 0},
		{"a batch in a body", "application/json", "[" + ok + "]", "ok", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readingHTTP(t, cmp.Or(tt.status, 200), tt.kind, tt.body); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// reading is what the journal has of its only call.
func reading(s *passthrough.Server) string {
	x := s.Journal()[0]
	switch trouble := s.Trouble(); {
	case x.RPCError != nil:
		return x.RPCError.Message
	case len(trouble) > 0 && trouble[0].Request != "":
		return trouble[0].Why
	}
	return x.Text
}

func readingHTTP(t *testing.T, status int, kind, body string) string {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer upstream.Close()
	s := passthrough.New(harness.Server{Name: "s", URL: upstream.URL}, nil)
	h, err := s.Handler()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(call(1, "x"))))
	if w.Code != status {
		t.Fatalf("HTTP %d", w.Code)
	}
	return reading(s)
}
