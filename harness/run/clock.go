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
	alarms  map[*alarm]struct{}
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
		if a.after <= d && (first == nil || a.after < first.after) {
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
	f     func()
	real  *time.Timer
}

// AfterFunc implements [harness.Alarms].
func (c *virtualClock) AfterFunc(d time.Duration, f func()) interface {
	Stop() bool
	Reset(d time.Duration) bool
} {
	a := &alarm{c: c, after: d, f: f}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.real = time.AfterFunc(d, func() {
		if a.forget() {
			f()
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
	a.after = d
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
