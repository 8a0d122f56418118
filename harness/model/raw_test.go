// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rawReply is an answer, byte for byte.
type rawReply struct {
	status int    // 0 means 200
	header string // further header lines, each ended with CRLF
	body   string
	hold   bool // the connection stays open until the client closes it
}

// rawServer answers each request with the next of its replies, on loopback
// and without net/http in the way.
type rawServer struct {
	url string

	mu      sync.Mutex // guards all below
	replies []rawReply
	heads   []*http.Request
	bodies  []string
}

func serveRaw(t *testing.T, replies ...rawReply) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{url: "http://" + l.Addr().String() + "/v1", replies: replies}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.answer(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return s
}

func (s *rawServer) answer(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, _ := io.ReadAll(req.Body)
	s.mu.Lock()
	s.heads = append(s.heads, req)
	s.bodies = append(s.bodies, string(body))
	var r rawReply
	if len(s.replies) > 0 {
		r, s.replies = s.replies[0], s.replies[1:]
	}
	s.mu.Unlock()
	if r.status == 0 {
		r.status = 200
	}
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nConnection: close\r\n%s\r\n%s", r.status, http.StatusText(r.status), r.header, r.body)
	if r.hold {
		_, _ = conn.Read(make([]byte, 1))
	}
}

func (s *rawServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies
}

const (
	ctStream = "Content-Type: text/event-stream\r\n"
	ctJSON   = "Content-Type: application/json\r\n"
	ctHTML   = "Content-Type: text/html\r\n"
)

// fakeClock never waits and remembers what it was asked to.
type fakeClock struct {
	harness.Clock
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return context.Cause(ctx)
}

func newFakeClock() *fakeClock {
	return &fakeClock{Clock: harness.SystemClock(), now: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}
}

// once is a client that does not repeat.
func once(url string) *Client {
	return NewOpenAI(Config{BaseURL: url, APIKey: "key", Retry: retry.Policy{MaxAttempts: 1}, Clock: newFakeClock(), Transport: noReuse()})
}

// noReuse is a transport that leaves no connection behind.
func noReuse() *http.Transport { return &http.Transport{DisableKeepAlives: true} }

// heard is what came of a request.
type heard struct {
	text, reasoning string // of the deltas, as withdrawn
	events          []Event
	done            *Done
	err             error
}

func ask(t *testing.T, c *Client, req *Request) heard {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var h heard
	for event, err := range c.Generate(ctx, req) {
		if err != nil {
			h.err = err
			continue
		}
		h.events = append(h.events, event)
		switch e := event.(type) {
		case TextDelta:
			h.text += e.Text
		case ReasoningDelta:
			h.reasoning += e.Text
		case Withdrawn:
			h.text, h.reasoning = "", ""
		case Done:
			h.done = &e
		}
	}
	if (h.done == nil) == (h.err == nil) {
		t.Errorf("sequence ended with done %v and error %v; want exactly one", h.done, h.err)
	}
	return h
}

func hello(stream bool) *Request {
	return &Request{
		Model:    "test-model",
		Messages: []harness.Message{{Role: harness.RoleUser, Text: "hi"}},
		Stream:   stream,
	}
}
