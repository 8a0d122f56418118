// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// patience is the time limit of one request: so long without an answer or
// progress, and so long in all.
type patience struct {
	limit time.Duration
	total time.Duration // 0 when the request tells no progress
	clock harness.Clock

	mu    sync.Mutex // guards the fields below
	timer harness.Timer
	words int    // how much progress was told
	last  string // the last of it
	spent bool   // total ran out
}

// begin returns a context that ends when the patience does.
func (p *patience) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, answered := p.clock.Waiting(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = p.clock.AfterFunc(p.limit, harness.Unanswered, func() { cancel(context.DeadlineExceeded) })
	stop := func() bool { return true }
	if p.total > 0 {
		stop = p.clock.AfterFunc(p.total, harness.Unanswered, func() {
			p.mu.Lock()
			p.spent = true
			p.mu.Unlock()
			cancel(context.DeadlineExceeded)
		}).Stop
	}
	return ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer.Stop()
		stop()
		answered()
		cancel(nil)
	}
}

// progress is what notifications/progress says.
type progress struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress json.Number     `json:"progress"`
	Total    json.Number     `json:"total"`
	Message  string          `json:"message"`
}

func (p progress) String() string {
	s := p.Progress.String()
	if p.Total != "" {
		s += " of " + p.Total.String()
	}
	if p.Message != "" {
		s += ", " + prose.Excerpt(p.Message, 100)
	}
	return s
}

// heard begins the wait anew.
func (p *patience) heard(what progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words++
	p.last = what.String()
	if p.timer.Stop() { // else it has run out
		p.timer.Reset(p.limit)
	}
}

// overtime is the error of a patience that ran out.
type overtime string

func (e overtime) Error() string { return string(e) }
func (overtime) Unwrap() error   { return context.DeadlineExceeded }

// ran is the error for a patience that ran out.
func (p *patience) ran(babble string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("no answer within %v", p.limit)
	switch {
	case p.spent && p.words == 0:
		text = fmt.Sprintf("no answer within %v", p.total)
	case p.spent:
		text = fmt.Sprintf("no answer within the total limit of %v, although progress arrived at %s", p.total, p.last)
	case p.words > 0:
		text += " after its last progress, " + p.last
	}
	return overtime(text + babble)
}
