// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

const httpScenario = `scenario: peer
servers:
  s: {url: %q, transport: http}
turns:
  - user: go
    replies:
      - calls: [s.ask: {n: 1}]
      - say: done
    expect: [{calls: [s.ask]}, {answer: {contains: [done]}}]
`

// hostileHTTP is an MCP server over streamable HTTP that answers politely all
// but calls, and these as answer does.
func hostileHTTP(answer func(w http.ResponseWriter, r *http.Request, head string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, err := mcpwire.Parse(body)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case !m.IsRequest():
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			answer(w, r, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"content":[`)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(politely(m).Encode())
		}
	}
}

// TestHostileHTTPServer is [TestHostileServer] for a server with a URL.
func TestHostileHTTPServer(t *testing.T) {
	type answer = func(w http.ResponseWriter, r *http.Request, head string)
	sends := func(kind, before string, fill func(w io.Writer, head string)) answer {
		return func(w http.ResponseWriter, _ *http.Request, head string) {
			w.Header().Set("Content-Type", kind)
			fill(w, before+head)
		}
	}
	const asJSON, asEvents = "application/json", "text/event-stream"
	whole := func(s string) func(io.Writer, string) {
		return func(w io.Writer, head string) { _, _ = io.WriteString(w, head+s) }
	}
	long := func(kilos int) func(io.Writer, string) {
		return func(w io.Writer, head string) {
			endless(w, head+`{"type":"text","text":"`, kilos, kilo("x"), `"}]}}`)
		}
	}
	tests := []struct {
		name   string
		answer answer
		told   string
	}{
		{"fine", sends(asJSON, "", whole(`{"type":"text","text":"fine"}]}}`)), "fine"},
		{"hangs up", func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }, "EOF"},
		{"breaks off", func(w http.ResponseWriter, _ *http.Request, head string) {
			w.Header().Set("Content-Type", asJSON)
			w.Header().Set("Content-Length", "100000")
			_, _ = io.WriteString(w, head)
		}, "EOF"},
		{"an error page", func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusInternalServerError)
			endless(w, "<html>out of cheese", 1000, kilo("x"), "")
		}, "500"},
		{"not JSON", sends(asJSON, "", whole("oops")), "Error: "},
		{"events without an answer", sends(asEvents, ": ", whole("\n\n")), "the answer's stream ended without an answer"},
		{"100,000 deep", sends(asJSON, "", whole(`],"structuredContent":`+nested(100_000)+`}}`)), "exceeded max depth"},
		{"70 MB", sends(asJSON, "", long(70_000)), "it is longer than 67108864 bytes"},
		{"70 MB in an event", sends(asEvents, "data: ", long(70_000)), "an event is longer than 67108864 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			upstream := httptest.NewServer(hostileHTTP(tt.answer))
			defer upstream.Close()
			dir := t.TempDir()
			put(t, dir, "s.yaml", fmt.Sprintf(httpScenario, upstream.URL))
			run := inProcess
			if strings.HasPrefix(tt.name, "70 MB") {
				run = rehearse // which measures what that takes
			}
			_, detail := run(t, dir, "run", filepath.Join(dir, "s.yaml"), "--out", filepath.Join(dir, "out")).wants(t, "")
			told(t, detail, tt.told)
		})
	}
}

// TestHTTPServerThatIsNone has URLs where no MCP server is.
func TestHTTPServerThatIsNone(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tests := []struct {
		name    string
		handler http.Handler // nil: nobody listens
		says    string
	}{
		{"nobody listens", nil, "connection refused"},
		{"a page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { endless(w, "<html>", 1000, kilo("x"), "") }), "lists no tools"},
		{"nothing there", http.NotFoundHandler(), "is this the URL of an MCP server?"},
		{"a redirect to itself", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}), "redirect"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := closed.URL
			if tt.handler != nil {
				upstream := httptest.NewServer(tt.handler)
				defer upstream.Close()
				url = upstream.URL
			}
			dir := t.TempDir()
			put(t, dir, "s.yaml", fmt.Sprintf(httpScenario, url))
			e := inProcess(t, dir, "run", filepath.Join(dir, "s.yaml"), "--out", filepath.Join(dir, "out"))
			e.wants(t, trials.CauseEndpoint, `server "s" (`+url+`) lists no tools`, tt.says)
		})
	}
}
