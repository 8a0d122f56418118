// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestCloseBehindAServerThatIsGone: a session ends with its server, which needs
// not be told.
func TestCloseBehindAServerThatIsGone(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", typeJSON)
		w.Header().Set(mcpwire.HeaderSession, "s1")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer h.Close()
	answered := 0
	c, err := New(Options{
		URL: h.URL, Take: func([]mcpwire.Message, *mcpwire.JunkError) { answered++ }, Waits: func(json.RawMessage) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := mcpwire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Send(t.Context(), m, nil) // whether it is the answer, only who asks knows
	if answered != 1 || c.Session() != "s1" {
		t.Fatalf("%d answers, session %q", answered, c.Session())
	}
	h.Close()
	c.Close()
}
