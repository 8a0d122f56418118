// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"fmt"
	"sync"
)

// cues are what held results and changes wait for.
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

// hold waits for a cue, or until ctx ends.
func (c *cues) hold(ctx context.Context, name string) error {
	c.set(func() { c.held[name]++ })
	defer c.set(func() { c.held[name]-- })
	return c.await(ctx, func() bool { return c.given[name] })
}

// reset forgets the cues that were given.
func (c *cues) reset() {
	c.set(func() { clear(c.given) })
}

// Cue lets go the results that are held until the cue of that name and those
// that would be, and makes the changes that wait for it.
func (s *Server) Cue(name string) {
	s.cues.set(func() { s.cues.given[name] = true })
	if s.changes != nil {
		s.changes.cued(name)
	}
}

// AwaitHeld waits until a result is held until the cue of that name.
func (s *Server) AwaitHeld(ctx context.Context, name string) error {
	if err := s.cues.await(ctx, func() bool { return s.cues.held[name] > 0 }); err != nil {
		return fmt.Errorf("waiting for a call of %q that is held until %q: %w", s.script.Name, name, err)
	}
	return nil
}
