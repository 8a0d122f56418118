// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/retry"
)

const (
	// raiseAfter is how many requests in a row must be answered well before an
	// endpoint is asked by one more trial at a time.
	raiseAfter = 8
	// longestPause bounds what is waited because an endpoint asks for it. An
	// endpoint that asks for more is out of quota: the requests are sent, and
	// what they are answered is recorded.
	longestPause = 2 * time.Minute
	// overloaded is a status of Anthropic's.
	overloaded = 529
)

// throttles are those of the endpoints of a run, or of all runs of a test.
type throttles struct {
	mu  sync.Mutex // guards the rest, and what throttles hold
	all map[string]*throttle
	// changed is closed, and replaced, when another trial may begin.
	changed chan struct{}
}

func newThrottles() *throttles {
	return &throttles{all: map[string]*throttle{}, changed: make(chan struct{})}
}

// of is the throttle of an endpoint. Of the rates that are given for one, the
// lowest counts; most is the number of trials at a time.
func (s *throttles) of(base string, most int, gap time.Duration) *throttle {
	s.mu.Lock()
	defer s.mu.Unlock()
	base = strings.TrimRight(base, "/")
	t := s.all[base]
	if t == nil {
		most = max(most, 1)
		t = &throttle{set: s, most: most, limit: most, asking: map[*trial]int{}, told: map[*trial]bool{}}
		s.all[base] = t
	}
	t.gap = max(t.gap, gap)
	return t
}

// wake has those who wait for a change look again. s.mu is held.
func (s *throttles) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// throttle keeps to what an endpoint bears. It bounds how many trials ask at a
// time: all that run, at first; half as many once the endpoint has too many
// requests; one more after some good answers. It bounds the rate of requests,
// and it waits when the endpoint asks for that.
//
// What is counted is trials, not requests: a subject that sends several requests
// at a time may read the answer to one of them only when it has that of another,
// so that a bound on requests could have a trial wait for itself.
type throttle struct {
	set  *throttles
	most int // trials at a time

	gap     time.Duration  // between two requests
	limit   int            // trials at a time, now
	running int            // trials that were begun, and have not ended
	asking  map[*trial]int // requests under way, by trial
	waiting []*waiter      // for their turn, the first one first
	next    time.Time      // before which the rate allows no request
	until   time.Time      // before which the endpoint wants none
	// told are the trials that the endpoint has asked to wait: how a subject
	// takes that is its own decision, which is judged.
	told map[*trial]bool
	// round counts the reductions. An answer to a request of an earlier round
	// says nothing of the present limit.
	round, good int
}

type waiter struct {
	who  *trial
	turn chan struct{} // closed when it is its turn
}

// begin counts a trial that begins, and reports whether it may. A nil throttle,
// of a run that asks no endpoint, lets all begin. t.set.mu is held.
func (t *throttle) begin() bool {
	if t == nil {
		return true
	}
	if t.running >= t.limit {
		return false
	}
	t.running++
	return true
}

// end takes note of the end of a trial. t.set.mu is held.
func (t *throttle) end() {
	if t != nil {
		t.running--
	}
}

// forget drops what is known of a trial, once it sends nothing more.
func (t *throttle) forget(who *trial) {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	delete(t.told, who)
}

// request is one that was let through.
type request struct {
	of    *throttle
	who   *trial
	round int
}

// enter waits until a request may be sent. The error is that of ctx.
func (t *throttle) enter(ctx context.Context, who *trial) (*request, error) {
	if err := t.turn(ctx, who); err != nil {
		return nil, err
	}
	for {
		t.set.mu.Lock()
		now := time.Now()
		at, own := t.until, t.told[who]
		delete(t.told, who)
		if own || !now.Before(at) {
			at = t.next
			if at.Before(now) {
				at = now
			}
			t.next = at.Add(t.gap)
			r := &request{t, who, t.round}
			t.set.mu.Unlock()
			if err := sleep(ctx, at.Sub(now)); err != nil {
				r.leave()
				return nil, err
			}
			return r, nil
		}
		t.set.mu.Unlock()
		if err := sleep(ctx, at.Sub(now)); err != nil {
			(&request{of: t, who: who}).leave()
			return nil, err
		}
	}
}

// turn waits until fewer trials ask than may.
func (t *throttle) turn(ctx context.Context, who *trial) error {
	t.set.mu.Lock()
	if t.asking[who] > 0 || len(t.asking) < t.limit && len(t.waiting) == 0 {
		t.asking[who]++
		t.set.mu.Unlock()
		return nil
	}
	w := &waiter{who, make(chan struct{})}
	t.waiting = append(t.waiting, w)
	t.set.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	t.set.mu.Lock()
	i := slices.Index(t.waiting, w)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.set.mu.Unlock()
	if i < 0 { // its turn came meanwhile
		(&request{of: t, who: who}).leave()
	}
	return ctx.Err()
}

// grant lets those go on whose turn it is. t.mu is held.
func (t *throttle) grant() {
	for len(t.waiting) > 0 && len(t.asking) < t.limit {
		who := t.waiting[0].who
		t.waiting = slices.DeleteFunc(t.waiting, func(w *waiter) bool {
			if w.who != who {
				return false
			}
			t.asking[who]++
			close(w.turn)
			return true
		})
	}
}

// answered takes note of what a request was answered.
func (r *request) answered(status int, h http.Header) {
	if r == nil {
		return
	}
	t := r.of
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	now := time.Now()
	asked := retry.After(h, now)
	switch {
	case status == http.StatusTooManyRequests, status == overloaded, status == http.StatusServiceUnavailable && asked > 0:
		if r.round == t.round {
			t.limit = max(1, t.limit/2)
			t.round++
			t.good = 0
		}
		if asked > 0 && asked <= longestPause {
			if until := now.Add(asked); until.After(t.until) {
				t.until = until
			}
			t.told[r.who] = true
		}
	case status < 300 && r.round == t.round && t.limit < t.most:
		if t.good++; t.good >= raiseAfter {
			t.limit++
			t.good = 0
			t.grant()
			t.set.wake()
		}
	}
}

// leave takes note of the end of a request.
func (r *request) leave() {
	if r == nil {
		return
	}
	t := r.of
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	if t.asking[r.who]--; t.asking[r.who] == 0 {
		delete(t.asking, r.who)
		t.grant()
	}
}

// sleep waits, in real time: an endpoint knows no other.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
