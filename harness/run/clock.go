// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"maps"
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
	alarms  map[*alarm]struct{}
	asked   int // requests that clients wait for
	idlers  int // answers that are not to come
	// deadlines are at times, whatever happens until then.
	deadlines map[*deadline]struct{}
}

func newVirtualClock(start time.Time, limit time.Duration, expired func()) *virtualClock {
	return &virtualClock{start: start, limit: limit, expired: expired, alarms: make(map[*alarm]struct{}), deadlines: make(map[*deadline]struct{})}
}

func (c *virtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

func (c *virtualClock) Sleep(ctx context.Context, d time.Duration) error {
	for d > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		step, call := c.next(d)
		passed := c.skip(step)
		if c.limit > 0 && passed > c.limit {
			c.expired()
			return context.Cause(ctx)
		}
		d -= step
		if call != nil {
			call()
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// patient is a clock whose waits are not skipped.
type patient struct{ harness.Clock }

func (patient) Sleep(ctx context.Context, d time.Duration) error {
	return harness.SystemClock().Sleep(ctx, d)
}

// skip has time pass, and returns how much has passed since the start.
func (c *virtualClock) skip(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += d
	now := time.Now().Add(c.skipped)
	for dl := range c.deadlines {
		dl.real.Reset(dl.at.Sub(now))
	}
	return now.Sub(c.start)
}

// next returns how much of a wait passes until the first alarm or deadline,
// and what to call then. An alarm that is set for longer than the wait does not
// go off: whoever set it may be about to set it anew, and is not given the time
// for that.
func (c *virtualClock) next(d time.Duration) (time.Duration, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first *alarm
	for a := range c.alarms {
		if !a.idle && a.after <= d && (first == nil || a.after < first.after) {
			first = a
		}
	}
	if first != nil {
		d = first.after
	}
	var due *deadline
	now := time.Now().Add(c.skipped)
	for dl := range c.deadlines {
		if left := max(dl.at.Sub(now), 0); left < d {
			d, due = left, dl
		}
	}
	switch {
	case due != nil:
		due.real.Stop()
		delete(c.deadlines, due)
		return d, due.f
	case first != nil:
		first.real.Stop()
		delete(c.alarms, first)
		return d, first.f
	}
	return d, nil
}

// idleGrace is how long, by the real clock, nothing may happen before time is
// skipped: what else is under way is given the time to end.
const idleGrace = 50 * time.Millisecond

// idlePatience is how long, by the real clock, requests that are to be answered
// hold up time at the most: one may be lost without a word.
const idlePatience = 5 * time.Second

// Asked tells that a client waits for the answer to a request, until answered
// is called.
func (c *virtualClock) Asked() (answered func()) {
	add := func(n int) {
		c.mu.Lock()
		c.asked += n
		c.mu.Unlock()
	}
	add(1)
	return sync.OnceFunc(func() { add(-1) })
}

// busy reports whether more requests are under way than hang.
func (c *virtualClock) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked > c.idlers
}

// Idle has time pass while an answer is waited for that is not to come, until
// ctx ends. It does not while other requests are to be answered. What was set
// to go off when the wait began does so, in order, until one of it ends ctx;
// what is set later is about something else.
func (c *virtualClock) Idle(ctx context.Context) {
	c.mu.Lock()
	alarms, deadlines := maps.Clone(c.alarms), maps.Clone(c.deadlines)
	c.idlers++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.idlers--
		c.mu.Unlock()
	}()
	began := time.Now()
	for harness.SystemClock().Sleep(ctx, idleGrace) == nil {
		if c.busy() && time.Since(began) < idlePatience {
			continue
		}
		step, call := c.soonest(alarms, deadlines)
		if call == nil {
			<-ctx.Done()
			return
		}
		if passed := c.skip(step); c.limit > 0 && passed > c.limit {
			c.expired()
			return
		}
		call()
	}
}

// soonest takes what is to go off first of some alarms and deadlines that are
// still set. It returns how long that takes, and what to call then.
func (c *virtualClock) soonest(alarms map[*alarm]struct{}, deadlines map[*deadline]struct{}) (time.Duration, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left time.Duration
	var call, take func()
	for a := range alarms {
		// The moment that has really passed is not counted: it differs each time.
		if in := max(a.after-(c.skipped-a.since), 0); c.set(a) && (call == nil || in < left) {
			left, call = in, a.f
			take = func() {
				a.real.Stop()
				delete(c.alarms, a)
			}
		}
	}
	now := time.Now().Add(c.skipped)
	for dl := range deadlines {
		_, set := c.deadlines[dl]
		if in := max(dl.at.Sub(now), 0); set && (call == nil || in < left) {
			left, call = in, dl.f
			take = func() {
				dl.real.Stop()
				delete(c.deadlines, dl)
			}
		}
	}
	if call == nil {
		return 0, nil
	}
	take()
	return left, call
}

// set reports whether an alarm is still to go off; c.mu is held.
func (c *virtualClock) set(a *alarm) bool {
	_, set := c.alarms[a]
	return set
}

// deadline is a function to call at a time.
type deadline struct {
	at   time.Time
	f    func()
	real *time.Timer // for the time that passes without being skipped
}

// At calls f once the clock shows t, unless it is stopped before; see
// [harness.WithTimeout].
func (c *virtualClock) At(t time.Time, f func()) (stop func()) {
	dl := &deadline{at: t, f: f}
	take := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.deadlines[dl]
		delete(c.deadlines, dl)
		return there
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	dl.real = time.AfterFunc(t.Sub(time.Now().Add(c.skipped)), func() {
		if take() {
			f()
		}
	})
	c.deadlines[dl] = struct{}{}
	return func() {
		dl.real.Stop()
		take()
	}
}

// alarm is a function to call when time has passed in which nothing happens:
// in a wait that is skipped, or by the real clock.
type alarm struct {
	c     *virtualClock
	after time.Duration
	since time.Duration // what had been skipped when it was set
	idle  bool          // no wait has it go off, only [virtualClock.Idle]
	f     func()
	real  *time.Timer
}

// AfterFunc implements [harness.Alarms].
func (c *virtualClock) AfterFunc(d time.Duration, f func()) interface {
	Stop() bool
	Reset(d time.Duration) bool
} {
	return c.alarm(&alarm{c: c, f: f}, d)
}

// WhenIdle is AfterFunc for the client of a mock server: that it waits does not
// bring the server's scripted waits to its notice, only that no answer is to
// come at all.
func (c *virtualClock) WhenIdle(d time.Duration, f func()) interface {
	Stop() bool
	Reset(d time.Duration) bool
} {
	return c.alarm(&alarm{c: c, f: f, idle: true}, d)
}

func (c *virtualClock) alarm(a *alarm, d time.Duration) *alarm {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.after, a.since = d, c.skipped
	a.real = time.AfterFunc(d, func() {
		if a.forget() {
			a.f()
		}
	})
	c.alarms[a] = struct{}{}
	return a
}

// forget takes the alarm off the clock, and reports whether it was there.
func (a *alarm) forget() bool {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	_, running := a.c.alarms[a]
	delete(a.c.alarms, a)
	return running
}

func (a *alarm) Stop() bool {
	a.real.Stop()
	return a.forget()
}

func (a *alarm) Reset(d time.Duration) bool {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	_, running := a.c.alarms[a]
	a.after, a.since = d, a.c.skipped
	a.real.Reset(d)
	a.c.alarms[a] = struct{}{}
	return running
}

// total returns how much waiting was skipped.
func (c *virtualClock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipped
}
