// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// A server that dies in three calls in a row is left alone for a minute. The
// circuits of two servers are two.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []string
		pool := mcppool.NewPool(&mcppool.Options{Breaker: new(mcppool.Breaker), MaxRestarts: 99, CircuitChanged: func(c mcppool.CircuitChange) {
			changes = append(changes, fmt.Sprintf("%s: %s", c.Of, c.To))
		}})
		defer pool.Close()
		p, q := &mortal{}, &mortal{}
		s, err := pool.Open(t.Context(), harness.Server{Name: "p", Dial: p.dial})
		if err != nil {
			t.Fatal(err)
		}
		other, err := pool.Open(t.Context(), harness.Server{Name: "q", Dial: q.dial})
		if err != nil {
			t.Fatal(err)
		}
		call := func(s *mcppool.Session, tool string) error {
			_, err := s.Call(t.Context(), tool, nil)
			return err
		}
		for range 3 {
			if err := call(s, "die"); err == nil {
				t.Fatal("it lives")
			}
		}
		err = call(s, "live")
		var e *mcppool.Error
		if !errors.As(err, &e) || e.Kind != mcppool.ErrOpen || !strings.HasPrefix(err.Error(), `calling "live" on server "p": its circuit is open for another 1m0s, because of the last failure: calling "die" on server "p": the server disconnected`) {
			t.Errorf("got %v", err)
		}
		if err := call(other, "live"); err != nil {
			t.Error(err)
		}
		stats := pool.Stats()
		if d := cmp.Diff([]mcppool.Circuit{{State: "open", Opened: 1, Refused: 1}, {State: "closed"}}, []mcppool.Circuit{stats[0].Circuit, stats[1].Circuit}); d != "" || stats[0].Calls != 3 {
			t.Errorf("%d calls; (-want +got):\n%s", stats[0].Calls, d)
		}
		time.Sleep(time.Minute)
		for range 2 {
			if err := call(s, "live"); err != nil {
				t.Error(err)
			}
		}
		if d := cmp.Diff([]string{"p: open", "p: half-open", "p: closed"}, changes); d != "" {
			t.Errorf("changes (-want +got):\n%s", d)
		}
	})
}

// What a server refuses, what the caller gives up, and most of 4xx say nothing
// about it.
func TestBreakerCounts(t *testing.T) {
	var status atomic.Int64
	mock, err := mockmcp.New(mockmcp.Script{Name: "m", Tools: []mockmcp.Tool{
		{Name: "t", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "ok"}, nil
		}},
		{Name: "refuses", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{RPCError: &jsonrpc.Error{Code: -32000, Message: "no"}}, nil
		}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mock.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := int(status.Load()); code != 0 {
			http.Error(w, "no", code)
			return
		}
		mock.Handler().ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, tc := range []struct {
		name, tool string
		status     int64
		opens      bool
	}{
		{"no such tool", "none", 0, false},
		{"refused", "refuses", 0, false},
		{"400", "t", 400, false},
		{"403", "t", 403, false},
		{"408", "t", 408, true},
		{"429", "t", 429, true},
		{"500", "t", 500, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status.Store(0)
			s := open(t, harness.Server{Name: "m", URL: server.URL + "/mcp"}, &mcppool.Options{Breaker: &mcppool.Breaker{Failures: 1}, MaxRestarts: -1})
			status.Store(tc.status)
			if _, err := s.Call(t.Context(), tc.tool, nil); err == nil && tc.status != 0 {
				t.Fatal("no error")
			}
			if opened := s.Stats().Circuit.Opened == 1; opened != tc.opens {
				t.Errorf("opened %v, want %v", opened, tc.opens)
			}
			status.Store(0)
		})
	}
	t.Run("given up, and closed", func(t *testing.T) {
		s := open(t, harness.Server{Name: "m", URL: server.URL + "/mcp"}, &mcppool.Options{Breaker: &mcppool.Breaker{Failures: 1}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Call(ctx, "t", nil); err == nil {
			t.Error("no error")
		}
		s.Close()
		if _, err := s.Call(t.Context(), "t", nil); err == nil {
			t.Error("no error")
		}
		if c := s.Stats().Circuit; c.Opened != 0 {
			t.Errorf("%+v", c)
		}
	})
	// Two that fail in a row open the circuit: a server that answers in between, if
	// only to refuse, has not failed twice in a row.
	for _, tc := range []struct {
		name, tool   string
		status       int64
		fails, opens bool
	}{
		{"an answer in between", "t", 0, false, false},
		{"a refusal in between", "refuses", 0, true, false},
		{"403 in between", "t", 403, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t, harness.Server{Name: "m", URL: server.URL + "/mcp"}, &mcppool.Options{Breaker: &mcppool.Breaker{Failures: 2}, MaxRestarts: -1})
			for _, call := range []struct {
				tool   string
				status int64
				fails  bool
			}{{"t", 500, true}, {tc.tool, tc.status, tc.fails}, {"t", 500, true}} {
				status.Store(call.status)
				if _, err := s.Call(t.Context(), call.tool, nil); (err != nil) != call.fails {
					t.Errorf("%s, status %d: %v", call.tool, call.status, err)
				}
			}
			if opened := s.Stats().Circuit.Opened == 1; opened != tc.opens {
				t.Errorf("opened %v, want %v", opened, tc.opens)
			}
			status.Store(0)
		})
	}
}
