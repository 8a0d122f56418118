// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package breaker has circuit breakers: who fails again and again is left alone
// for a while, and then tried with care.
//
//	b := breaker.New("weather", &breaker.Options{}, time.Now, nil)
//	done, err := b.Allow()
//	if err != nil {
//		return err // not asked
//	}
//	answer, err := ask()
//	if err != nil {
//		done(breaker.Failure, err)
//	}
//
// A circuit is closed while calls go through, open while they are refused, and
// half-open while some go through as probes: when as many as there may be have
// succeeded it is closed, and one failure opens it again.
//
// The states are those of gobreaker. That library reads the machine's clock, so
// how long a circuit stays open is measured here, by a clock that is handed in.
package breaker

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Options are settings of a breaker.
type Options struct {
	// Failures is how many calls in a row fail before the circuit opens. 0 means 3.
	Failures int
	// OpenFor is how long it stays open. 0 means 60 s.
	OpenFor time.Duration
	// Probes is how many calls go through at once in the half-open state, and how
	// many must succeed. 0 means 2.
	Probes int
}

// State is that of a circuit.
type State string

// The states.
const (
	Closed   State = "closed"
	Open     State = "open"
	HalfOpen State = "half-open"
)

// Stats say how a circuit has fared.
type Stats struct {
	State    State // empty means that there is no breaker
	Failures int   // calls that failed in a row, the latest
	Opened   int   // how often the circuit was opened
	Refused  int   // calls that were not made
}

// Change is a change of the state of a circuit.
type Change struct {
	Of       string
	From, To State
	Err      error // the failure that opened it; nil for other changes
}

// Outcome is how a call ended.
type Outcome int

// The outcomes. A call that is Ignored says nothing about whom it asked.
const (
	Ignored Outcome = iota
	Success
	Failure
)

// RefusedError says that a call was not made.
type RefusedError struct {
	Of    string
	Last  error         // the failure that opened the circuit
	Again time.Duration // after which a call is made again; 0 when probes are under way
}

func (e *RefusedError) Error() string {
	if e.Again <= 0 {
		return "its circuit is half-open, and the calls that try it are under way"
	}
	return fmt.Sprintf("its circuit is open for another %v, because of the last failure: %v", e.Again.Round(time.Second), e.Last)
}

// Breaker guards one endpoint or server. A nil Breaker lets every call through.
type Breaker struct {
	of      string
	openFor time.Duration
	now     func() time.Time
	changed func(Change)
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu      sync.Mutex // guards the fields below; taken while gobreaker holds its own
	until   time.Time  // the circuit stays open
	last    error      // the failure that opened it
	failing error      // the failure that is being counted
	opened  int
	refused int
}

// New returns a breaker; nil where o is. changed is called with each change, as
// it happens; it must not use the breaker, and may be nil.
func New(of string, o *Options, now func() time.Time, changed func(Change)) *Breaker {
	if o == nil {
		return nil
	}
	b := &Breaker{of: of, openFor: cmp.Or(o.OpenFor, time.Minute), now: now, changed: changed}
	failures := uint32(max(1, cmp.Or(o.Failures, 3)))
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          of,
		MaxRequests:   uint32(max(1, cmp.Or(o.Probes, 2))),
		Timeout:       1, // the least there is: until says how long
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		OnStateChange: func(_ string, from, to gobreaker.State) { b.change(word(from), word(to)) },
		IsExcluded:    func(err error) bool { return errors.Is(err, errIgnored) },
	})
	return b
}

var errIgnored = errors.New("ignored")

func word(s gobreaker.State) State {
	switch s {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	}
	return Closed
}

// change is called by gobreaker.
func (b *Breaker) change(from, to State) {
	b.mu.Lock()
	c := Change{Of: b.of, From: from, To: to}
	if to == Open {
		b.opened++
		b.until, b.last = b.now().Add(b.openFor), b.failing
		c.Err = b.failing
	}
	b.mu.Unlock()
	if b.changed != nil {
		b.changed(c)
	}
}

// Allow asks whether a call may be made. The error is a [*RefusedError]. Without
// one, done must be called when the call is over, with its error if it failed.
func (b *Breaker) Allow() (done func(Outcome, error), err error) {
	if b == nil {
		return func(Outcome, error) {}, nil
	}
	if wait := b.wait(); wait > 0 {
		return nil, b.refuse(wait)
	}
	report, err := b.circuit.Allow()
	if err != nil {
		return nil, b.refuse(0)
	}
	return func(o Outcome, err error) {
		switch o {
		case Success:
			report(nil)
		case Failure:
			b.mu.Lock()
			b.failing = err
			b.mu.Unlock()
			report(cmp.Or(err, errFailed))
		default:
			report(errIgnored)
		}
	}, nil
}

var errFailed = errors.New("failed")

// wait is how long the circuit stays open.
func (b *Breaker) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until.Sub(b.now())
}

func (b *Breaker) refuse(again time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused++
	return &RefusedError{Of: b.of, Last: b.last, Again: again}
}

// Stats returns how the circuit has fared so far; of a nil Breaker, nothing.
func (b *Breaker) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	s := Stats{State: Open}
	if b.wait() <= 0 {
		s.State = word(b.circuit.State())
	}
	s.Failures = int(b.circuit.Counts().ConsecutiveFailures)
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Opened, s.Refused = b.opened, b.refused
	return s
}
