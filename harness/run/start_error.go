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

// judgedAtStart reports whether err, with which the subject could not be opened, is
// left to an expectation to judge. So is one of the first turn when the model was
// asked nothing by then: a program is started with its first turn.
func (t *trial) judgedAtStart(ctx context.Context, err error) bool {
	panicked := (*panicError)(nil)
	switch {
	case err == nil || ctx.Err() != nil || errors.As(err, &panicked) || errors.Is(err, harness.ErrUnable):
		return false
	case errors.Is(err, harness.ErrUnavailable) && !errors.Is(err, harness.ErrGaveUp):
		return false
	}
	return startErrorExpected(t.scenario)
}

// asked reports whether the model was asked anything.
func (t *trial) asked() (asked bool) {
	t.model.each(func(*harness.Exchange) bool {
		asked = true
		return false
	})
	return asked
}
