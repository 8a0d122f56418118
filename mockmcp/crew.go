// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"sync"
)

// crew runs functions in goroutines that stay for the next one: checking
// arguments goes deep, and a new goroutine grows its stack anew each time.
type crew struct {
	jobs    chan func()
	workers sync.WaitGroup
}

// run runs f, in a goroutine that has nothing to do or in a new one. ctx is
// how long that one stays.
func (c *crew) run(ctx context.Context, f func()) {
	select {
	case c.jobs <- f:
	default:
		c.workers.Go(func() { c.work(ctx, f) })
	}
}

func (c *crew) work(ctx context.Context, f func()) {
	for {
		f()
		select {
		case f = <-c.jobs:
		case <-ctx.Done():
			return
		}
	}
}
