// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// impatient is a client that goes away once a stream has begun.
type impatient struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (w impatient) Flush() {
	w.ResponseRecorder.Flush()
	w.leave()
}

// FuzzHTTP checks that whatever comes over HTTP has an answer, that its JSON is
// whole, and that the server can be closed afterwards. The first of two
// requests may open a session, which the second one is told of.
func FuzzHTTP(f *testing.F) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}`
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":1}`
	for _, seed := range []struct{ method, head, body string }{
		{"POST", "Content-Type: application/json", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"build","arguments":{"id":"m1"}}}`},
		{"POST", "Content-Type: application/json", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`},
		{"POST", "Content-Type: application/json\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/list", `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{` + meta + `}}`},
		{"POST", "Content-Type: application/json\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: build", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"build","arguments":{"id":"m1"},"requestState":"x","inputResponses":{},` + meta + `}}`},
		{"POST", "Content-Type: application/json\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen", `{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`},
		{"POST", "Content-Type: text/plain\nOrigin: http://evil.example", "\x7fELF"},
		{"GET", "Accept: text/event-stream\nLast-Event-ID: 1-2", ""},
		{"DELETE", "Mcp-Session-Id: other", ""},
	} {
		f.Add(true, seed.method, seed.head, []byte(seed.body))
		f.Add(false, seed.method, seed.head, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, open bool, method, head string, body []byte) {
		s, err := mockmcp.New(world(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ask := func(method, head string, body []byte) *httptest.ResponseRecorder {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", bytes.NewReader(body))
			if err != nil {
				t.Skip("no method")
			}
			for line := range strings.Lines(head) {
				name, value, _ := strings.Cut(line, ":")
				r.Header.Add(name, strings.TrimSpace(value))
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(impatient{w, cancel}, r)
			if w.Code < 200 || w.Code > 599 {
				t.Errorf("status %d", w.Code)
			}
			if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
				t.Errorf("no JSON: %q", w.Body)
			}
			return w
		}
		if open {
			session := ask("POST", "Content-Type: application/json\nAccept: application/json, text/event-stream", []byte(initialize)).Header().Get("Mcp-Session-Id")
			if session == "" {
				t.Fatal("initialize opened no session")
			}
			head += "\nMcp-Session-Id: " + session
		}
		ask(method, head, body)
	})
}
