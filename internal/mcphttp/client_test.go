// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
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

// skipping is a clock on which waits take no time.
type skipping struct {
	harness.Clock
	slept []time.Duration
}

func (s *skipping) Sleep(ctx context.Context, d time.Duration) error {
	s.slept = append(s.slept, d)
	return ctx.Err()
}

// TestResumedByTheClock: the wait that a server asks for before the stream of an
// answer is resumed is one of the clock.
func TestResumedByTheClock(t *testing.T) {
	answered := false
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", typeEvents)
		switch {
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, "id: 7\nretry: 3600000\ndata:\n\n")
		case r.Header.Get(mcpwire.HeaderLastEventID) == "7":
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		}
	}))
	defer h.Close()
	clock := &skipping{Clock: harness.SystemClock()}
	c, err := New(Options{
		URL: h.URL, Clock: clock, Take: func([]mcpwire.Message, *mcpwire.JunkError) { answered = true }, Waits: func(json.RawMessage) bool { return !answered },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := mcpwire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Send(ctx, m, nil); err != nil || !answered || len(clock.slept) != 1 || clock.slept[0] != time.Hour {
		t.Errorf("%v, answered %v, waits %v, want one of an hour", err, answered, clock.slept)
	}
}
