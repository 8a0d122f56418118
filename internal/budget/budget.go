// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package budget bounds what many keep in memory together, such as the journals
// of ten thousand conversations.
package budget

import (
	"container/list"
	"sync"
)

// Budget is what its holders may keep together. When they keep more, those
// that were busy last keep theirs the longest. The zero Budget has no bound. It
// is safe for concurrent use, and must not be copied.
type Budget struct {
	mu      sync.Mutex // guards what follows, and the fields of shares
	limit   int
	total   int
	holders list.List // of *Share that keep something; the one that was busy last is in front
}

// Share is what one holder has of a budget. A nil one belongs to none.
type Share struct {
	budget *Budget
	drop   func(bytes int) (kept int)
	kept   int
	place  *list.Element // among the holders; nil while nothing is kept
	closed bool
}

// Join returns a share of a budget, which is of limit bytes from now on; 0
// is no bound. drop is called to give up so many bytes or as many as can be,
// and returns how many are kept.
func (b *Budget) Join(limit int, drop func(bytes int) (kept int)) *Share {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	return &Share{budget: b, drop: drop}
}

// Keep says how many bytes the holder keeps now, and has others give up theirs
// where that is too much; at last the holder itself. No lock that drop takes
// may be held.
func (s *Share) Keep(bytes int) {
	if s == nil {
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set(s, bytes); s.place != nil {
		b.holders.MoveToFront(s.place)
	}
	for tries := b.holders.Len(); b.limit > 0 && b.total > b.limit && tries > 0 && b.holders.Len() > 0; tries-- {
		other, over := b.holders.Back().Value.(*Share), b.total-b.limit
		b.mu.Unlock()
		kept := other.drop(over)
		b.mu.Lock()
		if b.set(other, kept); other.place != nil && b.total > b.limit {
			b.holders.MoveToFront(other.place) // it has given what it can
		}
	}
}

// set notes what a holder keeps. mu is held.
func (b *Budget) set(s *Share, bytes int) {
	if s.closed {
		return
	}
	b.total += bytes - s.kept
	s.kept = bytes
	switch {
	case bytes > 0 && s.place == nil:
		s.place = b.holders.PushFront(s)
	case bytes == 0 && s.place != nil:
		b.holders.Remove(s.place)
		s.place = nil
	}
}

// Close gives the share back: its holder keeps nothing any more.
func (s *Share) Close() {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.budget.set(s, 0)
	s.closed = true
}

// Total is what all holders keep.
func (b *Budget) Total() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}
