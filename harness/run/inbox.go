// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// inbox is a connection by which a subject reads what a mock server says.
type inbox interface {
	// AllRead reports whether the subject has read all that was said, and has
	// come back for more.
	AllRead() bool
}

// serverClock is a [virtualClock] for one mock server.
type serverClock struct {
	*virtualClock
	// watched says that the connections of subjects are inboxes of the clock.
	watched atomic.Bool
}

// unwatched is how long, by the real clock, what a server has said is under way
// on a connection that is not watched: such as that of a server with a process of
// its own. Answers are counted all the same; this is for what a server says
// besides, such as notifications.
const unwatched = 50 * time.Millisecond

func (c *serverClock) Sleep(ctx context.Context, d time.Duration) error {
	settle := unwatched
	if c.watched.Load() {
		settle = 0
	}
	if d == harness.Forever {
		c.hang(ctx, settle)
		return context.Cause(ctx)
	}
	a, ok := ctx.Value(arrivedKey{}).(*received)
	if !ok {
		return c.virtualClock.Sleep(ctx, d)
	}
	c.pass(ctx, a, d, settle)
	return context.Cause(ctx)
}

// Waiting notes when a request arrived.
func (c *serverClock) Waiting(ctx context.Context) (context.Context, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return context.WithValue(ctx, arrivedKey{}, &received{timers: c.set, begun: c.skipped}), func() {}
}

type arrivedKey struct{}

// received is a request that a mock server has, and its scripted waits so far.
type received struct {
	timers int // that had been set
	// What has to be skipped until the waits are over, and had been when they began.
	until, begun time.Duration
}

// pass lets a scripted wait of a request pass. The waits of requests that are under
// way at the same time overlap: a wait begins when the client began to wait, as
// far as that is known, and not when others have had time skipped.
func (c *virtualClock) pass(ctx context.Context, a *received, d, settle time.Duration) {
	c.mu.Lock()
	if a.until == 0 {
		first := true
		for _, begun := range c.begun {
			if first || begun > a.begun {
				a.begun, first = begun, false
			}
		}
		a.until = a.begun
	}
	a.until += d
	patient := c.patient(a)
	c.mu.Unlock()
	if !patient {
		c.outlast(ctx, a, settle)
		return
	}
	for more := true; more && ctx.Err() == nil; {
		_, more = c.advance(func() time.Duration { return a.until - c.skipped })
	}
}

// patient reports whether no client has a limit for answers that is shorter than
// the wait of a request; c.mu is held.
func (c *virtualClock) patient(a *received) bool {
	for t := range c.timers {
		if t.kind == harness.Unanswered && t.n <= a.timers && t.since+t.after < a.until {
			return false
		}
	}
	return true
}

// outlast lets a wait pass that is longer than a client waits. No answer is to
// come until it is over, or the client has given up.
func (c *virtualClock) outlast(ctx context.Context, a *received, settle time.Duration) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c.mu.Lock()
	left := a.until - c.skipped
	c.mu.Unlock()
	over := c.AfterFunc(left, harness.Deadline, end).(*timer)
	defer over.Stop()
	c.mu.Lock()
	over.n = a.timers // it is about this request
	c.mu.Unlock()
	c.hang(ctx, settle)
}

func (c *serverClock) watch(s inbox) {
	c.watched.Store(true)
	c.change(func() { c.inboxes[s] = struct{}{} })
}

// dialPipe opens the pipes of a mock server, which are watched.
func (c *serverClock) dialPipe(dial func(context.Context) (io.ReadWriteCloser, error)) func(context.Context) (io.ReadWriteCloser, error) {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		rw, err := dial(ctx)
		if pipe, ok := rw.(*mcpwire.PipeEnd); ok {
			c.watch(pipe)
		}
		return rw, err
	}
}

// dial opens connections of the kind of HTTP, which are watched.
func (c *serverClock) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil || !seesUnread {
		return conn, err
	}
	s := &watchedConn{Conn: conn, clock: c.virtualClock}
	c.watch(s)
	return s, nil
}

// watchedConn is a connection on loopback, where what was sent is at once there
// to be read.
type watchedConn struct {
	net.Conn
	clock   *virtualClock
	reading atomic.Int32
}

func (c *watchedConn) Read(p []byte) (int, error) {
	c.reading.Add(1)
	defer c.reading.Add(-1)
	return c.Conn.Read(p)
}

func (c *watchedConn) AllRead() bool { return c.reading.Load() > 0 && unread(c.Conn) == 0 }

func (c *watchedConn) Close() error {
	c.clock.change(func() { delete(c.clock.inboxes, c) })
	return c.Conn.Close()
}
