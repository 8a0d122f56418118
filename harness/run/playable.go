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

// CanPlay says why a subject cannot play a scenario with a mock model: nil when
// nothing is known that keeps it from that.
func CanPlay(subject harness.Subject, s *scenarios.Scenario) error {
	info, ok := subject.(harness.SubjectInfo)
	if !ok || info.Asks() == "" {
		return nil
	}
	p, known := profile.Lookup(s.Profile)
	if !known || p.Has(info.Asks()) {
		return nil
	}
	return fmt.Errorf("%s: profile %q has no %s, and this subject uses nothing else: choose the profile openai, or another that has it, or play the scenario with a subject that speaks this dialect (in Go with run.Test)",
		cmp.Or(s.ProfilePos, s.Pos), p.Name, info.Asks())
}

// playable refuses scenarios that the subject cannot play.
func playable(subject harness.Subject, list []*scenarios.Scenario) error {
	var errs []error
	var said []string
	for i, s := range list {
		if i > 0 && list[i-1].Pos == s.Pos && list[i-1].Profile == s.Profile {
			continue // another case of the same file
		}
		if err := CanPlay(subject, s); err != nil && !slices.Contains(said, err.Error()) { // once for all cases
			errs, said = append(errs, err), append(said, err.Error())
		}
	}
	return errors.Join(errs...)
}
