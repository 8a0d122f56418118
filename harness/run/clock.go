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

	mu      sync.Mutex // guards skipped
	skipped time.Duration
}

func (c *virtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

func (c *virtualClock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	c.mu.Lock()
	c.skipped += d
	passed := time.Since(c.start) + c.skipped
	c.mu.Unlock()
	if c.limit > 0 && passed > c.limit {
		c.expired()
		return context.Cause(ctx)
	}
	return nil
}

// patient is a clock whose waits are not skipped.
type patient struct{ harness.Clock }

func (patient) Sleep(ctx context.Context, d time.Duration) error {
	return harness.SystemClock().Sleep(ctx, d)
}

// total returns how much waiting was skipped.
func (c *virtualClock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipped
}
