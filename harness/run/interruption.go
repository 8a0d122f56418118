// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// interruptible is the turn of a trial that is played, as far as the scenario
// says that it is interrupted.
type interruptible struct {
	mu     sync.Mutex // guards what follows
	at     *scenarios.Interruption
	calls  int // of the tool of at, in this turn
	struck bool
	end    context.CancelCauseFunc
	kill   func() (cut func()) // of the session that plays it; nil where none is killed
	// session plays the turn, and history is what it had written down when it was
	// killed.
	session harness.Session
	history []harness.Message
}

// begin makes the context of a turn. interrupted ends the turn, and reports
// whether it was interrupted.
func (i *interruptible) begin(ctx context.Context, at *scenarios.Interruption, session harness.Session) (turn context.Context, interrupted func() bool) {
	if at == nil {
		return ctx, func() bool { return false }
	}
	turn, end := context.WithCancelCause(ctx)
	i.mu.Lock()
	i.at, i.calls, i.struck, i.end, i.session = at, 0, false, end, session
	i.mu.Unlock()
	return turn, func() bool {
		end(nil)
		i.mu.Lock()
		defer i.mu.Unlock()
		i.at = nil
		return i.struck
	}
}

// kept is what the session that was killed had written down.
func (i *interruptible) kept() []harness.Message {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.history
}

// executed is told of a call of server.tool that a server has executed. It
// interrupts the turn if it is the call to do so at, and has its answer kept back
// then, so that the subject cannot be quicker.
func (i *interruptible) executed(tool string) (keep func(context.Context)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.at == nil || i.at.Tool != tool {
		return nil
	}
	if i.calls++; i.calls != i.at.Nth {
		return nil
	}
	i.struck = true
	if i.at.Kill {
		if r, ok := i.session.(Resumer); ok { // which lacks has looked for
			i.history = r.History()
		}
		cut := i.kill()
		i.end(errKilled)
		return func(ctx context.Context) {
			cut()
			<-ctx.Done()
		}
	}
	i.end(harness.ErrInterrupted)
	return func(ctx context.Context) { <-ctx.Done() }
}

// ranOnError is the error of a subject that went on with a turn that was
// interrupted.
type ranOnError struct{ grace time.Duration }

func (e *ranOnError) Error() string {
	return fmt.Sprintf("the subject did not end the turn within %s after it was interrupted, or killed", e.grace)
}

// interruptions are the checks that uninterrupted makes.
var interruptions = []string{(&scenarios.Interruption{}).Key(), (&scenarios.Interruption{Kill: true}).Key()}

// uninterrupted finds the turns that ended before they could be interrupted. With
// a script that is a mistake in it; a real model, or a recorded one, need not call
// the tool.
func (e *evidence) uninterrupted() {
	for i, turn := range e.scenario.Turns[:min(e.played.Turns, len(e.scenario.Turns))] {
		at, broke := turn.Interruption, e.played.Ended != nil && e.played.Ended.Turn == i+1
		if at == nil || broke || slices.Contains(e.played.Interrupted, i+1) {
			continue
		}
		v := trials.Verdict{
			Check: at.Key(), Turn: i + 1, Pos: at.Pos, State: trials.Undecided,
			Message: fmt.Sprintf("turn %d ended before call %d of %s, so nothing interrupted it", i+1, at.Nth, at.Tool),
		}
		if e.mode != harness.ModeMock {
			v.State = trials.Failed
		}
		e.verdicts = append(e.verdicts, v)
	}
}
