// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// CanPlay says why a subject cannot play a scenario with a mock model, in the
// dialect that it chooses: nil when nothing is known that keeps it from that.
func CanPlay(subject harness.Subject, s *scenarios.Scenario) error {
	return canPlay(subject, s, "")
}

// canPlay is [CanPlay] for the dialect of a model entry; empty leaves it to the
// scenario.
func canPlay(subject harness.Subject, s *scenarios.Scenario, dialect string) error {
	dialect = cmp.Or(dialect, s.Dialect)
	info, ok := subject.(harness.SubjectInfo)
	if !ok || info.Asks(dialect) == "" {
		return nil
	}
	p, known := profile.Lookup(s.Profile)
	if !known || p.Has(info.Asks(dialect)) {
		return nil
	}
	return fmt.Errorf("%s: profile %q has no %s, which the subject asks: choose the profile openai, or another that has it, or another dialect, where the subject speaks several (--provider), or a subject that speaks this one (in Go with run.Test)",
		cmp.Or(s.ProfilePos, s.Pos), p.Name, info.Asks(dialect))
}

// playable refuses scenarios that the subject cannot play with all models.
func (r *runner) playable(list []*scenarios.Scenario) error {
	var errs []error
	var said []string
	for i, s := range list {
		if i > 0 && list[i-1].Pos == s.Pos && list[i-1].Profile == s.Profile {
			continue // another case of the same file
		}
		for _, subject := range r.subjectsOf(s) {
			for _, e := range r.entries {
				if err := canPlay(subject.Subject, s, e.Dialect); err != nil && !slices.Contains(said, err.Error()) { // once for all cases
					errs, said = append(errs, err), append(said, err.Error())
				}
			}
		}
	}
	return errors.Join(errs...)
}
