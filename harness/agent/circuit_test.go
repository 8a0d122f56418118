// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
)

// told is what a turn came to: changes of circuits, and the answer or the error.
func told(t *testing.T, c *Conversation) []string {
	t.Helper()
	var out []string
	for event, err := range c.Send(t.Context(), "hi") {
		if err != nil {
			out = append(out, err.Error())
			break
		}
		switch e := event.(type) {
		case CircuitChanged:
			out = append(out, e.String())
		case Answer:
			out = append(out, e.Text)
		}
	}
	return out
}

// TestBreaker opens the circuit of an endpoint by three calls that fail, and
// closes it by two that do not.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := []any{model.TextDelta{Text: "I"}, &model.Error{Kind: model.KindServer, Status: 503, Message: "busy", Attempts: 3}}
		m := &script{replies: [][]any{down, down, said("a"), down, down, down, said("b"), said("c"), said("d")}}
		a := New(Config{Model: m, Breaker: new(mcppool.Breaker)})
		c, other := a.Conversation(), a.Conversation()
		const busy = "server (HTTP 503): busy (after 3 attempts)"
		var got [][]string
		turn := func(c *Conversation) { got = append(got, told(t, c)) }
		for range 6 {
			turn(c)
		}
		turn(c)
		time.Sleep(59 * time.Second)
		turn(other)
		if stats := a.Circuit(); stats != (mcppool.Circuit{State: mcppool.CircuitOpen, Opened: 1, Refused: 2}) {
			t.Errorf("%+v", stats)
		}
		time.Sleep(time.Second)
		turn(other)
		turn(c)
		if d := cmp.Diff([][]string{
			{busy},
			{busy},
			{"a"},
			{busy},
			{busy},
			{"the circuit of the model's endpoint is open, after " + busy, busy},
			{"circuit_open: the endpoint was not asked: its circuit is open for another 1m0s, because of the last failure: " + busy},
			{"the circuit of the model's endpoint is open, after " + busy, "circuit_open: the endpoint was not asked: its circuit is open for another 1s, because of the last failure: " + busy},
			{"the circuit of the model's endpoint is half-open", "b"},
			{"the circuit of the model's endpoint is half-open", "the circuit of the model's endpoint is closed", "c"},
		}, got); d != "" {
			t.Errorf("turns (-want +got):\n%s", d)
		}
		if late := told(t, a.Conversation()); cmp.Diff([]string{"d"}, late) != "" { // what was before it is not its business
			t.Errorf("a later conversation: %q", late)
		}
		if stats := a.Circuit(); stats != (mcppool.Circuit{State: mcppool.CircuitClosed, Opened: 1, Refused: 2}) {
			t.Errorf("%+v", stats)
		}
	})
}

// TestBreakerCounts has errors that say something about the endpoint, and others.
func TestBreakerCounts(t *testing.T) {
	for _, tc := range []struct {
		err   error
		opens bool
	}{
		{&model.Error{Kind: model.KindServer, Status: 500}, true},
		{&model.Error{Kind: model.KindRateLimit, Status: 429}, true},
		{&model.Error{Kind: model.KindQuota, Status: 429}, true},
		{&model.Error{Kind: model.KindTimeout, Status: 408}, true},
		{&model.Error{Kind: model.KindConnection}, true},
		{&model.Error{Kind: model.KindCutStream}, true},
		{&model.Error{Kind: model.KindMalformed, Status: 200}, true},
		{fmt.Errorf("wrapped: %w", &model.Error{Kind: model.KindReset}), true},
		{&model.Error{Kind: model.KindBadRequest, Status: 400}, false},
		{&model.Error{Kind: model.KindAuth, Status: 401}, false},
		{&model.Error{Kind: model.KindContextOverflow, Status: 500}, false},
		{&model.Error{Kind: model.KindContentFilter}, false},
		{&model.Error{Kind: model.KindInvalid}, false},
		{&model.Error{Kind: model.KindMiss, Status: 422}, false},
		{errors.New("a model of the user's own"), false},
	} {
		a := New(Config{Model: &script{replies: [][]any{{tc.err}}}, Breaker: &mcppool.Breaker{Failures: 1}})
		told(t, a.Conversation())
		if opened := a.Circuit().Opened == 1; opened != tc.opens {
			t.Errorf("%v: opened %v, want %v", tc.err, opened, tc.opens)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := outcomeOf(ctx, &model.Error{Kind: model.KindServer}); got != 0 {
		t.Error("a call that the caller gave up counts")
	}
	a := New(Config{Model: &script{replies: [][]any{{model.TextDelta{Text: "x"}, &model.Error{Kind: model.KindServer}}}}, Breaker: &mcppool.Breaker{Failures: 1}})
	for range a.Conversation().Send(t.Context(), "hi") {
		break
	}
	if a.Circuit().Opened != 0 {
		t.Error("a turn that the caller broke off counts")
	}
	if s := New(Config{Model: &script{}}).Circuit(); s != (mcppool.Circuit{}) {
		t.Errorf("without a breaker: %+v", s)
	}
}

// TestSubjectBreaker has a breaker in a trial, on its clock: on the machine's the
// circuit would stay open.
func TestSubjectBreaker(t *testing.T) {
	fails := 0
	clock := &quickClock{Clock: harness.SystemClock(), now: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}
	env, _ := mockEnv(t)
	env.Clock, env.Settings.Extra = clock, map[string]any{"breaker": true}
	env.Endpoint.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
		fails++
		return nil, errors.New("no route")
	})
	s, err := Subject(nil).Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var notes []string
	for range 4 {
		report, err := s.Send(t.Context(), "hi")
		var e *harness.EndpointError
		if !errors.As(err, &e) {
			t.Fatalf("got %v", err)
		}
		notes = append(notes, string(report.Stop))
		if n := len(report.Notes); n > 0 && len(notes) == 3 {
			notes = append(notes, report.Notes[n-1])
		}
	}
	if d := cmp.Diff([]string{"connection", "connection", "connection", `the circuit of the model's endpoint is open, after connection: Post "` + env.Endpoint.BaseURL + `/chat/completions": no route (after 3 attempts)`, "circuit_open"}, notes); d != "" || fails != 9 {
		t.Errorf("%d requests; (-want +got):\n%s", fails, d)
	}
	_ = clock.Sleep(t.Context(), time.Minute)
	if report, _ := s.Send(t.Context(), "hi"); report.Stop != "connection" || fails != 12 {
		t.Errorf("after a minute: %s, %d requests", report.Stop, fails)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
