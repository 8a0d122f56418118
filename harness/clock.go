// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"math"
	"time"
)

// Clock tells the time, waits and calls back. A virtual clock makes a scripted
// wait cost nothing. Embed [SystemClock] in one that does only some of it in a
// way of its own.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or until ctx ends, and then returns ctx's error.
	// [Forever] is the wait of whoever gives no answer: a clock that skips waits
	// lets time pass then, once all that is waited for is not to come.
	Sleep(ctx context.Context, d time.Duration) error
	// AfterFunc calls f when d has passed, unless it is stopped or reset before,
	// as [time.AfterFunc] does. Whoever set the timer stops it in any case: of
	// one that went off, that says that what f began has been seen to.
	AfterFunc(d time.Duration, kind TimerKind, f func()) Timer
	// Waiting tells that an answer is waited for, until done is called: a client
	// tells its clock, and a mock its own. What waits with the context that is
	// returned is part of the same wait.
	Waiting(ctx context.Context) (inner context.Context, done func())
}

// Forever is longer than anybody waits; see [Clock].
const Forever time.Duration = math.MaxInt64

// Timer is what [Clock.AfterFunc] returns. A [time.Timer] is one.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// TimerKind is what a [Timer] is for. It tells a clock that skips waits which of
// them have the timer go off.
type TimerKind int

// The kinds of timers.
const (
	// Deadline goes off at its time, whatever happens until then.
	Deadline TimerKind = iota
	// Silence goes off in a wait that is as long as itself: nothing came for so
	// long. Of several shorter waits none does it, for whoever is waiting may be
	// about to reset the timer.
	Silence
	// Unanswered goes off when no answer is to come in time: of a request that is
	// scripted to have none, or a later one, once all others that are waited for
	// have theirs.
	Unanswered
)

// SystemClock is the machine's clock.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (systemClock) AfterFunc(d time.Duration, _ TimerKind, f func()) Timer {
	return time.AfterFunc(d, f)
}

func (systemClock) Waiting(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
