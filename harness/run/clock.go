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
}

func newVirtualClock(start time.Time, limit time.Duration, expired func()) *virtualClock {
	return &virtualClock{start: start, limit: limit, expired: expired, alarms: make(map[*alarm]struct{})}
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
		step, alarm := c.next(d)
		c.mu.Lock()
		c.skipped += step
		passed := time.Since(c.start) + c.skipped
		c.mu.Unlock()
		if c.limit > 0 && passed > c.limit {
			c.expired()
			return context.Cause(ctx)
		}
		d -= step
		if alarm != nil {
			alarm.f()
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

// next returns how much of a wait passes until the first alarm goes off. One
// that is set for longer than the wait does not: whoever set it may be about
// to set it anew, and is not given the time for that.
func (c *virtualClock) next(d time.Duration) (time.Duration, *alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first *alarm
	for a := range c.alarms {
		if a.after <= d && (first == nil || a.after < first.after) {
			first = a
		}
	}
	if first == nil {
		return d, nil
	}
	delete(c.alarms, first)
	first.real.Stop()
	return first.after, first
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
