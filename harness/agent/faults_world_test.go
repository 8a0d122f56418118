// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// world is the virtual time of one conversation over a socket. A wait of the
// client costs nothing. A wait of the mock ends when the client has read all
// that was sent and waits as well; then time passes, and whatever the client
// has set an alarm for goes off. So nothing hangs on how fast the machine is.
type world struct {
	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	now     time.Time
	request int  // the last one made, from 1
	sent    int  // bytes of the body of its reply
	read    int  // of those, by the client
	waiting bool // the client waits for the head, or for more of the body
	alarms  map[*alarm]struct{}
}

func newWorld() *world {
	w := &world{now: time.Unix(1767225600, 0), alarms: make(map[*alarm]struct{})}
	w.changed = sync.NewCond(&w.mu)
	return w
}

func (w *world) update(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.changed.Broadcast()
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// alarm is a timer of the client's.
type alarm struct {
	w  *world
	at time.Time
	f  func()
}

func (a *alarm) Stop() bool {
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	_, running := a.w.alarms[a]
	delete(a.w.alarms, a)
	return running
}

func (a *alarm) Reset(d time.Duration) bool {
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	_, running := a.w.alarms[a]
	a.at = a.w.now.Add(d)
	a.w.alarms[a] = struct{}{}
	return running
}

// clientClock is the client's view of the world.
type clientClock struct {
	harness.Clock
	w *world
}

func (c clientClock) Now() time.Time { return c.w.time() }

func (c clientClock) Sleep(ctx context.Context, d time.Duration) error {
	c.w.update(func() { c.w.now = c.w.now.Add(d) })
	return ctx.Err()
}

func (c clientClock) AfterFunc(d time.Duration, _ harness.TimerKind, f func()) harness.Timer {
	a := &alarm{w: c.w, f: f}
	a.Reset(d)
	return a
}

// mockClock is the mock's view of the world.
type mockClock struct {
	harness.Clock
	w *world
}

func (c mockClock) Now() time.Time { return c.w.time() }

func (c mockClock) Sleep(ctx context.Context, d time.Duration) error {
	w := c.w
	defer context.AfterFunc(ctx, func() { w.update(func() {}) })()
	w.mu.Lock()
	// A request that the client has given up has no say in the time.
	mine := func() bool { return w.request == ctx.Value(requestKey{}) }
	for !(mine() && w.waiting && w.read == w.sent) && ctx.Err() == nil {
		w.changed.Wait()
	}
	if ctx.Err() != nil {
		w.mu.Unlock()
		return ctx.Err()
	}
	until := w.now.Add(d)
	var first *alarm
	for a := range w.alarms {
		if !a.at.After(until) && (first == nil || a.at.Before(first.at)) {
			first = a
		}
	}
	if first == nil {
		w.now = until
		w.mu.Unlock()
		return ctx.Err()
	}
	w.now = first.at
	delete(w.alarms, first)
	w.mu.Unlock()
	first.f()
	<-ctx.Done()
	return ctx.Err()
}

// loopback is a server on a socket for one conversation after the other.
type loopback struct {
	url  string
	mock atomic.Pointer[served]
}

type served struct {
	mock  *mockllm.Mock
	world *world
}

func newLoopback(t *testing.T) *loopback {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &loopback{url: "http://" + l.Addr().String() + "/v1"}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return h
}

// serve makes mock the one that answers, and returns the way to it.
func (h *loopback) serve(mock *mockllm.Mock, w *world) *counted {
	h.mock.Store(&served{mock, w})
	return &counted{w: w, base: &http.Transport{}}
}

func (h *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.mock.Load()
	n, _ := strconv.Atoi(r.Header.Get("X-Request"))
	ctx := context.WithValue(r.Context(), requestKey{}, n)
	s.mock.ServeHTTP(&countedWriter{ResponseWriter: w, w: s.world, request: n}, r.WithContext(ctx))
}

// requestKey is where a context has the number of its request.
type requestKey struct{}

// countedWriter counts what the mock sends.
type countedWriter struct {
	http.ResponseWriter
	w       *world
	request int
}

func (c *countedWriter) Write(p []byte) (int, error) {
	c.w.update(func() {
		if c.w.request == c.request {
			c.w.sent += len(p)
		}
	})
	return c.ResponseWriter.Write(p)
}

func (c *countedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// counted counts what the client reads.
type counted struct {
	w    *world
	base *http.Transport
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	c.w.update(func() {
		c.w.request++
		c.w.sent, c.w.read, c.w.waiting = 0, 0, true
		r.Header.Set("X-Request", strconv.Itoa(c.w.request))
	})
	resp, err := c.base.RoundTrip(r)
	c.w.update(func() { c.w.waiting = false })
	if err == nil {
		resp.Body = &countedBody{resp.Body, c.w}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	w *world
}

func (b *countedBody) Read(p []byte) (int, error) {
	b.w.update(func() { b.w.waiting = true })
	n, err := b.ReadCloser.Read(p)
	b.w.update(func() { b.w.waiting, b.w.read = false, b.w.read+n })
	return n, err
}
