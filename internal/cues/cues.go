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
	"slices"
	"sync"
)

// Board knows which cues were given and what waits for which.
type Board struct {
	mu      sync.Mutex // guards what follows
	given   map[string]bool
	held    map[string]int
	wanted  map[string]bool // something has waited for it
	changed chan struct{}   // closed when any of it changes
}

// New returns a board on which no cue was given.
func New() *Board {
	return &Board{given: make(map[string]bool), held: make(map[string]int), wanted: make(map[string]bool), changed: make(chan struct{})}
}

// Give lets go what waits for a cue, and what will.
func (b *Board) Give(name string) { b.set(func() { b.given[name] = true }) }

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
	b.set(func() {
		b.held[name]++
		b.wanted[name] = true
	})
	defer b.set(func() { b.held[name]-- })
	return b.await(ctx, func() bool { return b.given[name] })
}

// AwaitHeld waits until something waits for a cue. The error is that of ctx.
func (b *Board) AwaitHeld(ctx context.Context, name string) error {
	return b.await(ctx, func() bool { return b.held[name] > 0 })
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
