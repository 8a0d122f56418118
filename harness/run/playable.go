// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
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
	name, path := lacking(subject, s, dialect)
	if path == "" {
		return nil
	}
	return fmt.Errorf("%s: profile %q has no %s, which the subject asks: choose the profile openai, or another that has it, or another dialect, where the subject speaks several (--provider), or a subject that speaks this one (in Go with run.Test)",
		cmp.Or(s.ProfilePos, s.Pos), name, path)
}

// lacking is the profile of a scenario that lacks the path which the subject asks,
// and that path; empty where nothing is known to be lacking.
func lacking(subject harness.Subject, s *scenarios.Scenario, dialect string) (name, path string) {
	info, ok := subject.(harness.SubjectInfo)
	if !ok {
		return "", ""
	}
	path = info.Asks(cmp.Or(dialect, s.Dialect))
	p, known := profile.Lookup(s.Profile)
	if path == "" || !known || p.Has(path) {
		return "", ""
	}
	return p.Name, path
}

// oneDialect is the dialect of a subject that asks the same path whatever it is to
// speak; empty for a subject that speaks several.
func oneDialect(subject harness.Subject) string {
	info, ok := subject.(harness.SubjectInfo)
	if !ok || info.Asks("") == "" {
		return ""
	}
	for _, d := range dialects.All() {
		if info.Asks(d.Name) != info.Asks("") {
			return ""
		}
	}
	return dialects.EndpointOf(info.Asks("")).Name()
}

// speechless says why a subject that speaks one dialect cannot play the trial: the
// scenario's endpoint does not have it.
func (t *trial) speechless() error {
	own := oneDialect(t.subject.Subject)
	if own == "" || t.opts.Mode != harness.ModeMock {
		return nil
	}
	name, path := lacking(t.subject.Subject, t.scenario, t.entry.Dialect)
	if path == "" {
		return nil
	}
	return fmt.Errorf("%w: it speaks %s alone, and the scenario's endpoint, profile %s, has no %s", harness.ErrUnable, own, name, path)
}

// playable refuses scenarios that a subject cannot play with all models, unless it
// speaks one dialect alone: trials whose endpoint lacks that are skipped.
func (r *runner) playable(list []*scenarios.Scenario) error {
	var errs []error
	var said []string
	for i, s := range list {
		if i > 0 && list[i-1].Pos == s.Pos && list[i-1].Profile == s.Profile {
			continue // another case of the same file
		}
		for _, subject := range r.subjectsOf(s) {
			if oneDialect(subject.Subject) != "" {
				continue
			}
			for _, e := range r.entries {
				if err := canPlay(subject.Subject, s, e.Dialect); err != nil && !slices.Contains(said, err.Error()) { // once for all cases
					errs, said = append(errs, err), append(said, err.Error())
				}
			}
		}
	}
	return errors.Join(errs...)
}
