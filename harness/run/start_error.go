// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// startErrorExpected reports whether an expectation judges an error with which
// the subject cannot be opened.
func startErrorExpected(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Expect, func(s score.Scorer) bool {
		_, ok := s.(score.StartError)
		return ok
	})
}

// gaveUpAtStart reports whether err, with which the first turn has ended, is an
// error at the start that an expectation judges: a program is started with its
// first turn, so that it has given up by then if it asked the model nothing.
func (t *trial) gaveUpAtStart(ctx context.Context, err error) bool {
	panicked := (*panicError)(nil)
	if err == nil || ctx.Err() != nil || errors.As(err, &panicked) || !startErrorExpected(t.scenario) ||
		errors.Is(err, harness.ErrUnable) || errors.Is(err, harness.ErrUnavailable) {
		return false
	}
	asked := false
	t.model.each(func(*harness.Exchange) bool {
		asked = true
		return false
	})
	return !asked
}
