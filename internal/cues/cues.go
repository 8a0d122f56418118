// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package cues lets something wait until a cue of a name is given, and others
// wait until something waits. Both mocks hold answers by it.
//
//	b := cues.New()
//	go func() { _ = b.Hold(ctx, "go") }()
//	_ = b.AwaitHeld(ctx, "go") // something waits now
//	b.Give("go")
package cues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Known says that a script waits for no cue of that name; nil where it does. names
// are those that it waits for, and all says that there are no others.
func Known(name string, names []string, all bool) error {
	if !all || slices.Contains(names, name) {
		return nil
	}
	there := "; it waits for none"
	if len(names) > 0 {
		there = "; there are " + strings.Join(names, ", ")
	}
	return fmt.Errorf("the script does not wait for the cue %q%s", name, prose.MeantOr(name, names, there))
}

// Board knows which cues were given and what waits for which.
type Board struct {
	mu      sync.Mutex // guards what follows
	given   map[string]bool
	holds   map[*hold]struct{}
	wanted  map[string]bool // something has waited for it
	changed chan struct{}   // closed when any of it changes
}

// hold is somebody who waits for a cue.
type hold struct {
	name string
	end  context.CancelCauseFunc
}

// New returns a board on which no cue was given.
func New() *Board {
	return &Board{given: make(map[string]bool), holds: make(map[*hold]struct{}), wanted: make(map[string]bool), changed: make(chan struct{})}
}

// Give lets go what waits for a cue, and what will.
func (b *Board) Give(name string) {
	b.set(func() {
		b.given[name] = true
		for h := range b.holds {
			if h.name == name {
				h.end(errGiven)
			}
		}
	})
}

// Reset forgets the cues that were given.
func (b *Board) Reset() {
	b.set(func() {
		clear(b.given)
		clear(b.wanted)
	})
}

// InVain are the cues, sorted, that something waited for and that were never
// given.
func (b *Board) InVain() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for name := range b.wanted {
		if !b.given[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Hold waits for a cue. The error is that of ctx.
func (b *Board) Hold(ctx context.Context, name string) error {
	held, done := b.Held(ctx, name)
	defer done()
	<-held.Done()
	if context.Cause(held) == errGiven {
		return nil
	}
	return context.Cause(held)
}

// errGiven ends the context of a hold whose cue was given.
var errGiven = errors.New("the cue was given")

// Held is a context that ends when a cue is given: before [Board.Give] returns.
// done says that nothing waits with it any more.
func (b *Board) Held(ctx context.Context, name string) (held context.Context, done func()) {
	held, cancel := context.WithCancelCause(ctx)
	h := &hold{name, cancel}
	b.set(func() {
		b.holds[h] = struct{}{}
		b.wanted[name] = true
		if b.given[name] {
			cancel(errGiven)
		}
	})
	return held, func() {
		b.set(func() { delete(b.holds, h) })
		cancel(nil)
	}
}

// AwaitHeld waits until something waits for a cue. The error is that of ctx.
func (b *Board) AwaitHeld(ctx context.Context, name string) error {
	return b.await(ctx, func() bool {
		for h := range b.holds {
			if h.name == name {
				return true
			}
		}
		return false
	})
}

// set makes a change and tells those who wait.
func (b *Board) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	close(b.changed)
	b.changed = make(chan struct{})
}

// await waits until ready holds.
func (b *Board) await(ctx context.Context, ready func() bool) error {
	for {
		b.mu.Lock()
		ok, changed := ready(), b.changed
		b.mu.Unlock()
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
