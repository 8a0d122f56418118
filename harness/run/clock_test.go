// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestHang has clients wait for answers that are not to come. Time passes for
// them when all that is waited for hangs, and at no other time: the real clock
// has no part in it.
func TestHang(t *testing.T) {
	// wait is a client with a time limit. It returns when that is over, and how
	// much time that took.
	wait := func(c *virtualClock, ctx context.Context, limit time.Duration) (context.Context, func() time.Duration) {
		from := c.Now()
		ctx, done := c.Waiting(ctx)
		ctx, cancel := context.WithCancel(ctx)
		timer := c.AfterFunc(limit, harness.Unanswered, cancel)
		return ctx, func() time.Duration {
			<-ctx.Done()
			timer.Stop()
			done()
			return c.Now().Sub(from)
		}
	}
	newClock := func() *virtualClock {
		return newVirtualClock(time.Now(), 0, func() { t.Error("the limit has passed") })
	}
	hang := func(c *virtualClock, ctx context.Context) { _ = c.Sleep(ctx, harness.Forever) }

	t.Run("one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, start := newClock(), time.Now()
			ctx, over := wait(c, t.Context(), time.Minute)
			go hang(c, ctx)
			if took := over(); took != time.Minute || time.Since(start) != 0 {
				t.Errorf("the client waited %v, really %v", took, time.Since(start))
			}
		})
	})
	t.Run("until the other is answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, start := newClock(), time.Now()
			_, answered := c.Waiting(t.Context())
			ctx, over := wait(c, t.Context(), time.Minute)
			go hang(c, ctx)
			synctest.Wait()
			time.Sleep(3 * time.Second) // a machine can be as slow as that
			if ctx.Err() != nil {
				t.Error("the time limit passed while there was an answer to come")
			}
			answered()
			if took := over(); took != time.Minute+3*time.Second || time.Since(start) != 3*time.Second {
				t.Errorf("the client waited %v, really %v", took, time.Since(start))
			}
		})
	})
	t.Run("the other is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, start := newClock(), time.Now()
			_, answered := c.Waiting(t.Context())
			defer answered()
			ctx, over := wait(c, t.Context(), time.Minute)
			go hang(c, ctx)
			if over(); time.Since(start) != lostAfter {
				t.Errorf("really waited %v, want %v", time.Since(start), lostAfter)
			}
		})
	})
	t.Run("until what was said is read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClock()
			ours, theirs := mcpwire.Pipe()
			(&serverClock{virtualClock: c}).watch(theirs)
			if _, err := ours.Write([]byte("half a word")); err != nil {
				t.Fatal(err)
			}
			ctx, over := wait(c, t.Context(), time.Minute)
			go hang(c, ctx)
			time.Sleep(time.Second)
			if ctx.Err() != nil {
				t.Error("the time limit passed while there was something to read")
			}
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			if took := over(); took < time.Minute {
				t.Errorf("the client waited %v", took)
			}
			ours.Close()
		})
	})
	t.Run("one after the other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClock()
			late := c.AfterFunc(time.Hour, harness.Deadline, func() { t.Error("the deadline passed in the wait for a first answer") })
			_, over := wait(c, t.Context(), time.Minute)
			never, end := context.WithCancel(t.Context())
			defer end()
			go hang(c, never) // the server does not hear that the client gave up
			over()
			synctest.Wait()
			if !late.Stop() {
				t.Error("the deadline went off")
			}
			// The next answer is not held to be hanging because the last one was.
			ctx, over := wait(c, t.Context(), time.Minute)
			synctest.Wait()
			if ctx.Err() != nil {
				t.Error("the next request ran out of time while it was being answered")
			}
			go hang(c, ctx)
			over()
		})
	})
	t.Run("begun when the client had gone on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClock()
			hung, _ := (&serverClock{virtualClock: c}).Waiting(t.Context())
			hung, end := context.WithCancel(hung)
			defer end()
			// The client took half an answer for a whole one, and asks the next.
			ctx, over := wait(c, t.Context(), time.Minute)
			go hang(c, hung)
			synctest.Wait()
			if ctx.Err() != nil {
				t.Error("the next request ran out of time while it was being answered")
			}
			go hang(c, ctx)
			over()
		})
	})
	t.Run("what is inside of a wait", func(t *testing.T) {
		c := newClock()
		ctx, done := c.Waiting(t.Context())
		_, inner := c.Waiting(ctx)
		if c.waiting != 1 {
			t.Errorf("%d answers are waited for, want 1", c.waiting)
		}
		inner()
		done()
		if c.waiting != 0 {
			t.Errorf("%d answers are waited for in the end", c.waiting)
		}
	})
}

// TestTimers has timers of each kind in a wait that is skipped.
func TestTimers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  harness.TimerKind
		after time.Duration
		waits []time.Duration
		want  bool
	}{
		{"a deadline in a wait", harness.Deadline, 5 * time.Second, []time.Duration{6 * time.Second}, true},
		{"a deadline over two waits", harness.Deadline, 5 * time.Second, []time.Duration{3 * time.Second, 3 * time.Second}, true},
		{"a deadline not yet", harness.Deadline, 5 * time.Second, []time.Duration{2 * time.Second, 2 * time.Second}, false},
		{"silence in one wait", harness.Silence, 5 * time.Second, []time.Duration{5 * time.Second}, true},
		{"silence broken", harness.Silence, 5 * time.Second, []time.Duration{3 * time.Second, 3 * time.Second}, false},
		{"a slow answer", harness.Unanswered, 5 * time.Second, []time.Duration{time.Hour}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newVirtualClock(time.Now(), 0, nil)
				rang := false
				timer := c.AfterFunc(tt.after, tt.kind, func() { rang = true })
				for _, d := range tt.waits {
					if err := c.Sleep(t.Context(), d); err != nil {
						t.Fatal(err)
					}
				}
				if rang != tt.want || timer.Stop() == tt.want {
					t.Errorf("it went off: %v, want %v", rang, tt.want)
				}
			})
		})
	}
}

// TestWatchedConn has a connection over loopback say whether its reader has come
// back for more.
func TestWatchedConn(t *testing.T) {
	if !seesUnread {
		t.Skip("what is unread is not known on this system")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := newVirtualClock(time.Now(), 0, nil)
	clock := &serverClock{virtualClock: c}
	conn, err := clock.dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	all := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.allRead()
	}
	if all() {
		t.Error("nobody reads, and all is read")
	}
	if _, err := peer.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	read := make(chan byte)
	go func() {
		b := make([]byte, 1)
		for {
			if _, err := conn.Read(b); err != nil {
				close(read)
				return
			}
			read <- b[0]
		}
	}()
	if <-read; all() {
		t.Error("half of it is unread, and all is read")
	}
	for <-read; !all(); {
		runtime.Gosched()
	}
	conn.Close()
	<-read
	if !all() || len(c.inboxes) > 0 {
		t.Error("a closed connection is still watched")
	}
}
