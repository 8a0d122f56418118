// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"sync"
)

// gauge counts what goes on, for those who wait until nothing does.
type gauge struct {
	mu   sync.Mutex // guards what follows
	n    int
	zero chan struct{} // closed when n becomes 0; nil when nobody waits
}

func (g *gauge) add(d int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n += d; g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

// wait waits until nothing goes on, or ctx ends.
func (g *gauge) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	zero := g.zero
	g.mu.Unlock()
	select {
	case <-zero:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
