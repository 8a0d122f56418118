// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// cues are what held replies wait for.
type cues struct {
	mu      sync.Mutex // guards what follows
	given   map[string]bool
	held    map[string]int
	changed chan struct{} // closed when any of it changes
}

func newCues() *cues {
	return &cues{given: make(map[string]bool), held: make(map[string]int), changed: make(chan struct{})}
}

// set makes a change and tells those who wait.
func (c *cues) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until ready holds.
func (c *cues) await(ctx context.Context, ready func() bool) error {
	for {
		c.mu.Lock()
		ok, changed := ready(), c.changed
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Cue lets go the replies that are held until the cue of that name, and those
// that would be. POST /rehearse/cue/NAME does the same.
func (m *Mock) Cue(name string) {
	m.cues.set(func() { m.cues.given[name] = true })
}

// AwaitHeld waits until a request is held until the cue of that name.
func (m *Mock) AwaitHeld(ctx context.Context, name string) error {
	if err := m.cues.await(ctx, func() bool { return m.cues.held[name] > 0 }); err != nil {
		return fmt.Errorf("waiting for a request that is held until %q: %w", name, err)
	}
	return nil
}

// hold waits for the cue of a reply. It does not return when the client goes
// away before or the mock is closed.
func (m *Mock) hold(x *exchange, r *reply) {
	if r.Hold == "" {
		return
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	m.cues.set(func() { m.cues.held[r.Hold]++ })
	err := m.cues.await(ctx, func() bool { return m.cues.given[r.Hold] })
	m.cues.set(func() { m.cues.held[r.Hold]-- })
	if err != nil {
		m.record(x.entry, nil)
		panic(http.ErrAbortHandler)
	}
}

func (m *Mock) serveCue(x *exchange) {
	m.Cue(x.rest)
	x.w.WriteHeader(http.StatusNoContent)
}
