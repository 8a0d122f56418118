// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// guard waits for f; when ctx has ended it waits a little longer and then
// leaves f behind. A panic is an error.
func guard[T any](ctx context.Context, t *trial, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errGone}
		defer func() {
			if p := recover(); p != nil {
				t.logf("panic: %v\n%s", p, debug.Stack())
				r.err = &panicError{p, panicStack()}
			}
			done <- r
		}()
		if r.v, r.err = f(); r.err != nil {
			_ = r.err.Error() // which may panic: of a pointer that is nil
		}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(t.opts.Grace)
	defer late.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-late.C:
		var none T
		return none, errAbandoned
	}
}

// panicError is a panic of the subject.
type panicError struct {
	value any
	stack string // where, a line a frame; empty when that is not known
}

func (e *panicError) Error() string { return fmt.Sprintf("the subject panicked: %v", e.value) }

// panicStack is the stack of the panic that is being recovered, down to
// [guard]: without addresses, so that two trials that panic alike say the same.
// The log has the whole of it.
func panicStack() string {
	pcs := make([]uintptr, 200)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var lines []string
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking, lines = true, nil
		case strings.Contains(f.Function, "harness/run.guard["):
			more = !panicking
		case panicking && !strings.HasPrefix(f.Function, "runtime.") && !strings.Contains(f.Function, "harness/run.(*trial)"):
			lines = append(lines, fmt.Sprintf("\n    at %s (%s:%d)", f.Function, f.File, f.Line))
		}
		if !more {
			break
		}
	}
	const most = 16
	if n := len(lines); n > most {
		lines = append(lines[:most], fmt.Sprintf("\n    ... %d more", n-most))
	}
	return strings.Join(lines, "")
}
