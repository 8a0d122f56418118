// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

func TestRetry(t *testing.T) {
	limited := func(header string) rawReply {
		return plain(429, ctJSON+header, `{"error":{"message":"slow down","type":"rate_limit_error"}}`)
	}
	good := plain(200, ctJSON, whole)
	for _, tc := range []struct {
		name     string
		replies  []rawReply
		requests int
		slept    []time.Duration
		kind     ErrorKind
		says     string
	}{
		{name: "Retry-After in seconds", replies: []rawReply{limited("Retry-After: 7\r\n"), good}, requests: 2, slept: []time.Duration{7 * time.Second}},
		{name: "Retry-After as a date", replies: []rawReply{limited("Retry-After: Mon, 05 Jan 2026 09:00:30 GMT\r\n"), good}, requests: 2, slept: []time.Duration{30 * time.Second}},
		{name: "retry-after-ms goes before", replies: []rawReply{limited("Retry-After-Ms: 250\r\nRetry-After: 7\r\n"), good}, requests: 2, slept: []time.Duration{250 * time.Millisecond}},
		{name: "backoff without Retry-After", replies: []rawReply{plain(503, "", ""), plain(502, "", ""), good}, requests: 3, slept: []time.Duration{time.Second, 2 * time.Second}},
		{name: "attempts used up", replies: []rawReply{limited(""), limited(""), limited(""), good}, requests: 3, slept: []time.Duration{time.Second, 2 * time.Second}, kind: KindRateLimit, says: "rate_limit (HTTP 429): slow down (after 3 attempts)"},
		{name: "Retry-After too long", replies: []rawReply{limited("Retry-After: 3600\r\n"), good}, requests: 1, kind: KindRateLimit, says: "slow down"},
		{name: "a bad request is not repeated", replies: []rawReply{plain(400, ctJSON, `{"error":{"message":"no"}}`), good}, requests: 1, kind: KindBadRequest, says: "no"},
		{name: "an overflow is not repeated", replies: []rawReply{plain(500, ctJSON, `{"error":{"message":"This model's maximum context length is 8192 tokens"}}`), good}, requests: 1, kind: KindContextOverflow, says: "maximum context length"},
		{name: "a miss is not repeated", replies: []rawReply{plain(422, ctJSON+"X-Should-Retry: false\r\n", `{"error":{"type":"rehearse_miss","message":"nothing scripted"}}`), good}, requests: 1, kind: KindMiss, says: "nothing scripted"},
		{name: "x-should-retry false", replies: []rawReply{plain(503, "X-Should-Retry: false\r\n", ""), good}, requests: 1, kind: KindServer},
		{name: "x-should-retry true", replies: []rawReply{plain(400, "X-Should-Retry: true\r\n", ""), good}, requests: 2, slept: []time.Duration{time.Second}},
		{name: "no reply at all", replies: []rawReply{{status: -1}, good}, requests: 2, slept: []time.Duration{time.Second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serveRaw(t, tc.replies...)
			clock := newFakeClock()
			c := NewOpenAI(Config{BaseURL: s.url, Clock: clock, Transport: noReuse(), Retry: retry.Policy{Initial: time.Second, Jitter: -1}})
			h := ask(t, c, hello(false))
			if tc.kind == "" && h.err != nil {
				t.Fatal(h.err)
			}
			if tc.kind != "" {
				var e *Error
				if !errors.As(h.err, &e) || e.Kind != tc.kind || !strings.Contains(e.Error(), tc.says) {
					t.Errorf("got %v; want kind %s and %q", h.err, tc.kind, tc.says)
				}
			}
			if got := len(s.requests()); got != tc.requests {
				t.Errorf("got %d requests, want %d", got, tc.requests)
			}
			if diff := cmp.Diff(tc.slept, clock.slept); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutStreamIsWithdrawn(t *testing.T) {
	cut := stream(events(say("Hel"), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, "")))
	s := serveRaw(t, cut, stream(events(say("Hello"), stop)+done))
	c := NewOpenAI(Config{BaseURL: s.url, Clock: newFakeClock(), Transport: noReuse()})
	h := ask(t, c, hello(true))
	if h.err != nil {
		t.Fatal(h.err)
	}
	if h.text != "Hello" || h.done.Message.Text != "Hello" || h.done.Message.Calls != nil {
		t.Errorf("got text %q and message %+v", h.text, h.done.Message)
	}
	var withdrawn []Withdrawn
	for _, e := range h.events {
		if w, ok := e.(Withdrawn); ok {
			withdrawn = append(withdrawn, w)
		}
	}
	if len(withdrawn) != 1 || withdrawn[0].Text != "Hel" || withdrawn[0].Attempt != 1 || withdrawn[0].Err == nil {
		t.Errorf("withdrawn: got %+v", withdrawn)
	}
	if got := s.requests(); len(got) != 2 || got[0] != got[1] {
		t.Errorf("the second request differs from the first: %q", got)
	}
}

func TestCancelled(t *testing.T) {
	s := serveRaw(t, rawReply{header: ctStream, body: events(say("Hel")), hold: true})
	c := NewOpenAI(Config{BaseURL: s.url, Clock: newFakeClock(), Transport: noReuse()})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	var got error
	for event, err := range c.Generate(ctx, hello(true)) {
		if err != nil {
			got = err
		}
		if _, ok := event.(TextDelta); ok {
			cancel(why)
		}
	}
	if !errors.Is(got, why) || got.Error() != `asking model "test-model": enough` {
		t.Errorf("got %v", got)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
}

// TestConnectionIsKept has a second request go over the connection of the
// first, whose stream was read to [DONE] only.
func TestConnectionIsKept(t *testing.T) {
	var mu sync.Mutex
	conns := make(map[string]bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		conns[r.RemoteAddr] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(say("Hello"), stop)+done)
	}))
	defer s.Close()
	c := NewOpenAI(Config{BaseURL: s.URL, Transport: s.Client().Transport})
	for range 5 {
		if h := ask(t, c, hello(true)); h.err != nil {
			t.Fatal(h.err)
		}
	}
	if len(conns) != 1 {
		t.Errorf("got %d connections, want 1", len(conns))
	}
}

func TestBreakingOff(t *testing.T) {
	s := serveRaw(t, rawReply{header: ctStream, body: events(say("Hel")), hold: true})
	c := NewOpenAI(Config{BaseURL: s.url, Transport: noReuse()})
	for range c.Generate(t.Context(), hello(true)) {
		break // goleak and the server's cleanup see whether anything is left
	}
}

// TestMissOfATransport: what a cassette has no answer for is not asked again.
func TestMissOfATransport(t *testing.T) {
	asked := 0
	c := NewOpenAI(Config{BaseURL: "http://127.0.0.1", Clock: newFakeClock(), Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		asked++
		return nil, fmt.Errorf("cassette a: %w", harness.ErrMiss)
	})})
	var e *Error
	if err := ask(t, c, hello(false)).err; !errors.As(err, &e) || e.Kind != KindMiss || asked != 1 {
		t.Errorf("%v, asked %d times, want a miss once", err, asked)
	}
}

// roundTrip is a transport without a socket.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silent is a body that says nothing until it is closed or ctx ends.
type silent struct {
	ctx   context.Context
	first io.Reader
}

func (s silent) Read(p []byte) (int, error) {
	if n, err := s.first.Read(p); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s silent) Close() error { return nil }

func TestSilence(t *testing.T) {
	for _, tc := range []struct {
		name string
		body string
	}{
		{"before the reply", ""},
		{"within the reply", events(say("Hel"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewOpenAI(Config{
					BaseURL: "http://model.test/v1", IdleTimeout: time.Minute, Retry: retry.Policy{MaxAttempts: 1},
					Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						if tc.body == "" {
							<-r.Context().Done()
							return nil, r.Context().Err()
						}
						return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: silent{r.Context(), strings.NewReader(tc.body)}}, nil
					}),
				})
				var got error
				for _, err := range c.Generate(t.Context(), hello(true)) {
					got = err
				}
				var e *Error
				if !errors.As(got, &e) || e.Kind != KindTimeout || !strings.Contains(e.Error(), "silent for 1m0s") {
					t.Errorf("got %v, want an error of kind timeout", got)
				}
			})
		})
	}
}

func TestLimits(t *testing.T) {
	call := func(args string) string {
		return delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"`+args+`"}}]}`, "")
	}
	for _, tc := range []struct {
		name  string
		cfg   Config
		plain bool
		reply rawReply
		says  string
	}{
		{name: "body", cfg: Config{MaxBodyBytes: 1000}, plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"content":"`+strings.Repeat("x", 2000)+`"}}]}`), says: "longer than 1000 bytes"},
		{name: "body of a stream", cfg: Config{MaxBodyBytes: 1000}, reply: stream(strings.Repeat(": hi\n\n", 1000)), says: "longer than 1000 bytes"},
		{name: "event", cfg: Config{MaxEventBytes: 1000}, reply: stream(events(say(strings.Repeat("x", 2000)))), says: "more than 1000 bytes"},
		{name: "event of many lines", cfg: Config{MaxEventBytes: 1000}, reply: stream(strings.Repeat("data: \n", 2000)), says: "more than 1000 bytes"},
		{name: "arguments", cfg: Config{MaxArgumentBytes: 1000}, reply: stream(strings.Repeat(events(call(strings.Repeat("x", 300))), 5)), says: `arguments of tool call "f" are longer than 1000 bytes`},
		{name: "number of calls", reply: stream(events(delta(`{"tool_calls":[`+strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f","arguments":"{}"}},`, 2000), ",")+`]}`, ""))), says: "more than 1024 tool calls"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serveRaw(t, tc.reply)
			tc.cfg.BaseURL, tc.cfg.Transport = s.url, noReuse()
			h := ask(t, NewOpenAI(tc.cfg), hello(!tc.plain))
			var e *Error
			if !errors.As(h.err, &e) || e.Kind != KindTooLarge || !strings.Contains(e.Error(), tc.says) {
				t.Fatalf("got %v, want an error of kind too_large with %q", h.err, tc.says)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("got %d requests, want 1", n)
			}
		})
	}
}

// TestHugeReply reads a reply of 100 MB with the default limits, without
// holding it.
func TestHugeReply(t *testing.T) {
	c := NewOpenAI(Config{
		BaseURL: "http://model.test/v1",
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader(`{"choices":[{"message":{"content":"`), io.LimitReader(xs{}, 100<<20), strings.NewReader(`"}}]}`))
			return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: io.NopCloser(body)}, nil
		}),
	})
	for _, streaming := range []bool{false, true} {
		h := ask(t, c, hello(streaming))
		var e *Error
		if !errors.As(h.err, &e) || e.Kind != KindTooLarge {
			t.Errorf("stream %v: got %v, want an error of kind too_large", streaming, h.err)
		}
	}
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestOpenEnd(t *testing.T) {
	s := serveRaw(t, stream(events(say("Hel"), say("lo"))), rawReply{header: ctStream + "Content-Length: 9999\r\n", body: events(say("Hel"))})
	c := NewOpenAI(Config{BaseURL: s.url, OpenEnd: true, Clock: newFakeClock(), Transport: noReuse(), Retry: retry.Policy{MaxAttempts: 1}})
	if h := ask(t, c, hello(true)); h.err != nil || h.done.Message.Text != "Hello" {
		t.Errorf("an end in order: got %+v", h)
	}
	if h := ask(t, c, hello(true)); h.err == nil {
		t.Errorf("a reset: got %+v, want an error", h.done)
	}
}

func TestDone(t *testing.T) {
	s := serveRaw(t, rawReply{header: ctStream + "X-Request-Id: req-1\r\n", body: events(say("Hello"), stop,
		`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}}`) + done})
	h := ask(t, once(s.url), hello(true))
	want := &Done{
		Message:      harness.Message{Role: harness.RoleAssistant, Text: "Hello"},
		FinishReason: "stop",
		Usage:        harness.Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7, ReasoningTokens: 1, CachedTokens: 4},
		Model:        "m-1", ID: "c1", RequestID: "req-1",
	}
	if diff := cmp.Diff(want, h.done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

func TestErrorHasRequestIDAndBody(t *testing.T) {
	s := serveRaw(t, plain(200, ctHTML+"X-Request-Id: req-2\r\n", "<p>busy</p>"))
	h := ask(t, once(s.url), hello(false))
	var e *Error
	if !errors.As(h.err, &e) || e.RequestID != "req-2" || string(e.Body) != "<p>busy</p>" || e.Status != 200 || e.Attempts != 1 {
		t.Errorf("got %+v", e)
	}
}
