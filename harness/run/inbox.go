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
// on a connection that is not watched: such as that of a subject in another
// process, or of a server with a process of its own.
const unwatched = 50 * time.Millisecond

func (c *serverClock) Sleep(ctx context.Context, d time.Duration) error {
	if d != harness.Forever {
		return c.virtualClock.Sleep(ctx, d)
	}
	settle := unwatched
	if c.watched.Load() {
		settle = 0
	}
	c.hang(ctx, settle)
	return context.Cause(ctx)
}

// Waiting notes which timers had been set when a request arrived.
func (c *serverClock) Waiting(ctx context.Context) (context.Context, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return context.WithValue(ctx, arrivedKey{}, c.set), func() {}
}

type arrivedKey struct{}

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
