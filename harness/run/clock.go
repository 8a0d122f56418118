// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// virtualClock is the real clock plus the waits that were skipped. A wait
// costs nothing, but time passes.
type virtualClock struct {
	start time.Time
	// expired is called once when the time limit has passed, as far as
	// skipped waits bring it about; a timer watches real time.
	limit   time.Duration
	expired func()

	mu      sync.Mutex // guards what follows
	skipped time.Duration
	timers  map[*timer]struct{} // that are to go off
	set     int                 // timers so far
	// waiting counts the answers that are waited for, and the timers that went
	// off and whose owners have not seen to it.
	waiting int
	begun   map[*byte]time.Duration // what had been skipped when the client began each wait
	// hanging counts the answers that are not to come. Of some of them the client
	// has given up, and the server has yet to hear of it.
	hanging, givenUp int
	newest           int // how many timers had been set when the last of their requests arrived
	// unsettled counts those before which something may have been said that
	// nobody can see whether the client has read.
	unsettled int
	inboxes   map[inbox]struct{} // by which subjects read
	changed   chan struct{}      // closed when one of the counts changes
}

func newVirtualClock(start time.Time, limit time.Duration, expired func()) *virtualClock {
	return &virtualClock{start: start, limit: limit, expired: expired, timers: make(map[*timer]struct{}), begun: make(map[*byte]time.Duration), inboxes: make(map[inbox]struct{}), changed: make(chan struct{})}
}

func (c *virtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// now is the time; c.mu is held.
func (c *virtualClock) now() time.Time { return time.Now().Add(c.skipped) }

// change makes a change that those who hang are to look at.
func (c *virtualClock) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.tell()
}

// tell has those who hang look at what has changed; c.mu is held.
func (c *virtualClock) tell() {
	if c.hanging == 0 {
		return
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *virtualClock) Sleep(ctx context.Context, d time.Duration) error {
	if d == harness.Forever {
		c.hang(ctx, 0)
		return context.Cause(ctx)
	}
	for more := true; more && ctx.Err() == nil; {
		var step time.Duration
		step, more = c.advance(func() time.Duration { return d })
		d -= step
	}
	return context.Cause(ctx)
}

// advance has what is left of a wait pass, or as much of it as passes until a timer
// goes off. It returns how much that was, and whether the wait goes on. left is
// called with c.mu held.
func (c *virtualClock) advance(left func() time.Duration) (step time.Duration, more bool) {
	c.mu.Lock()
	d := left()
	if d <= 0 {
		c.mu.Unlock()
		return 0, false
	}
	step, next := c.next(d)
	late := c.skip(step, next)
	c.mu.Unlock()
	if late {
		c.expired()
		return step, false
	}
	if next != nil {
		next.f()
	}
	return step, true
}

// realWaits is a clock whose waits are not skipped.
type realWaits struct{ harness.Clock }

func (realWaits) Waiting(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

func (realWaits) Sleep(ctx context.Context, d time.Duration) error {
	return harness.SystemClock().Sleep(ctx, d)
}

// skip has time pass until a timer goes off, if any does, and reports whether
// the limit has passed; c.mu is held.
func (c *virtualClock) skip(d time.Duration, until *timer) (late bool) {
	c.skipped += d
	now := c.now()
	if until != nil {
		c.goOff(until)
	}
	for t := range c.timers {
		if t.kind == harness.Deadline {
			t.real.Reset(t.at.Sub(now))
		}
	}
	return c.limit > 0 && now.Sub(c.start) > c.limit
}

// next returns how much of a wait passes until a timer goes off, and which; c.mu
// is held.
func (c *virtualClock) next(d time.Duration) (time.Duration, *timer) {
	var first *timer
	now := c.now()
	for t := range c.timers {
		in := t.after
		switch t.kind {
		case harness.Unanswered:
			continue
		case harness.Deadline:
			in = max(t.at.Sub(now), 0)
		}
		if in < d || in == d && t.kind == harness.Silence {
			d, first = in, t
		}
	}
	return d, first
}

// Waiting counts an answer that is waited for. One inside of another is not
// counted again.
func (c *virtualClock) Waiting(ctx context.Context) (inner context.Context, done func()) {
	if ctx.Value(waitKey{}) == c {
		return ctx, func() {}
	}
	key := new(byte)
	c.change(func() {
		c.waiting++
		c.begun[key] = c.skipped
	})
	return context.WithValue(ctx, waitKey{}, c), sync.OnceFunc(func() {
		c.change(func() {
			c.waiting--
			delete(c.begun, key)
		})
	})
}

type waitKey struct{}

// lostAfter is how long, by the real clock, answers that are to come hold up
// time at the most: one may be lost silently.
const lostAfter = 5 * time.Second

// hang has time pass while an answer is waited for that is not to come, until
// ctx ends. It does not while others are to come, or while the subject reads.
// What was set to go off when the request arrived does so, in order, until one of
// it ends ctx; what is set later is about something else.
func (c *virtualClock) hang(ctx context.Context, settle time.Duration) {
	c.change(func() {
		c.hanging++
		c.unsettled++
		arrived := c.set
		if a, ok := ctx.Value(arrivedKey{}).(*received); ok {
			arrived = a.timers
		}
		c.newest = max(c.newest, arrived)
	})
	settled := sync.OnceFunc(func() { c.change(func() { c.unsettled-- }) })
	if settle > 0 {
		defer time.AfterFunc(settle, settled).Stop()
	} else {
		settled()
	}
	defer c.change(func() {
		c.hanging--
		c.givenUp = max(0, c.givenUp-1)
	})
	defer settled()
	lost := time.NewTimer(lostAfter)
	defer lost.Stop()
	for anyway := false; ctx.Err() == nil; {
		c.mu.Lock()
		changed := c.changed
		var again <-chan time.Time
		var first *timer
		late := false
		switch open := c.hanging - c.givenUp; {
		case open == 0 || ctx.Err() != nil, !anyway && (c.waiting > open || c.unsettled > 0):
		case !anyway && !c.allRead():
			again = time.After(time.Millisecond)
		default:
			var in time.Duration
			if in, first = c.soonest(); first != nil {
				late = c.skip(in, first)
			}
		}
		c.mu.Unlock()
		switch {
		case late:
			c.expired()
			return
		case first != nil:
			first.f()
			anyway = false
			lost.Reset(lostAfter)
			continue
		}
		select {
		case <-changed:
		case <-again:
		case <-lost.C:
			anyway = true
		case <-ctx.Done():
		}
	}
}

// allRead reports whether subjects have read all that was said to them; c.mu is
// held.
func (c *virtualClock) allRead() bool {
	for s := range c.inboxes {
		if !s.AllRead() {
			return false
		}
	}
	return true
}

// soonest returns the timer that is to go off first of those that were set
// before the last request arrived whose answer hangs, and how long that takes; c.mu is held.
func (c *virtualClock) soonest() (left time.Duration, first *timer) {
	now := c.now()
	for t := range c.timers {
		// Of the time since a timer was set, the part that has really passed is not
		// counted: it differs each time.
		in := max(t.after-(c.skipped-t.since), 0)
		if t.kind == harness.Deadline {
			in = max(t.at.Sub(now), 0)
		}
		if t.n <= c.newest && (first == nil || in < left || in == left && t.n < first.n) {
			left, first = in, t
		}
	}
	return left, first
}

// timer is a function to call when time has passed: in a wait that is skipped,
// or by the real clock.
type timer struct {
	c    *virtualClock
	kind harness.TimerKind
	f    func()
	real *time.Timer

	// What follows is guarded by c.mu.
	n     int // of the timers that were set
	after time.Duration
	since time.Duration // what had been skipped when it was set
	at    time.Time
	rang  bool // it went off, and nobody has seen to it
}

func (c *virtualClock) AfterFunc(d time.Duration, kind harness.TimerKind, f func()) harness.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c: c, kind: kind, f: f}
	t.real = time.AfterFunc(d, func() {
		c.mu.Lock()
		_, running := c.timers[t]
		if running {
			c.goOff(t)
		}
		c.mu.Unlock()
		if running {
			f()
		}
	})
	t.start(d)
	return t
}

// start sets the timer; c.mu is held.
func (t *timer) start(d time.Duration) {
	c := t.c
	c.set++
	t.n, t.after, t.since, t.at = c.set, d, c.skipped, c.now().Add(d)
	c.timers[t] = struct{}{}
}

// goOff notes that a timer has gone off; c.mu is held.
func (c *virtualClock) goOff(t *timer) {
	t.real.Stop()
	delete(c.timers, t)
	t.rang = true
	c.waiting++
	c.tell()
}

// stop takes the timer off the clock, and reports whether it was running; c.mu
// is held.
func (t *timer) stop() bool {
	c := t.c
	_, running := c.timers[t]
	delete(c.timers, t)
	if t.rang {
		t.rang = false
		c.waiting--
		if t.kind == harness.Unanswered && c.givenUp < c.hanging {
			c.givenUp++
		}
		c.tell()
	}
	return running
}

func (t *timer) Stop() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.real.Stop()
	return t.stop()
}

func (t *timer) Reset(d time.Duration) bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	running := t.stop()
	t.real.Reset(d)
	t.start(d)
	return running
}

// total returns how much waiting was skipped.
func (c *virtualClock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipped
}
