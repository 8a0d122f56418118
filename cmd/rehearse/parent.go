// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"time"
)

// parentHelp is what --with-parent does.
const parentHelp = "end when the process that started this one does"

// parent tells whether the process that started this one is still there.
type parent struct {
	// ended waits until it is gone, or ctx ends. Nil means that of the system.
	ended func(ctx context.Context)
}

// with returns a context that ends with ctx and with the parent.
func (p *parent) with(ctx context.Context, stdin io.Reader) (context.Context, context.CancelFunc) {
	ended := p.ended
	if ended == nil {
		id := parentID()
		ended = func(ctx context.Context) { parentEnded(ctx, id, stdin) }
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		ended(ctx)
		cancel()
	}()
	return ctx, cancel
}

// parentPoll is how often the parent is looked for where the system does not
// report its end.
const parentPoll = 250 * time.Millisecond

// parentPolled looks for the parent until it is another one.
func parentPolled(ctx context.Context, id int, current func() int) {
	tick := time.NewTicker(parentPoll)
	defer tick.Stop()
	for current() == id {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
