// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// inVariants are the scenarios in the variants in which they are played.
func (r *runner) inVariants(list []*scenarios.Scenario) ([]*scenarios.Scenario, error) {
	wanted := r.opts.Variants
	var known []string
	for _, s := range list {
		known = append(known, s.Variants()...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, w := range wanted {
		if slices.Contains(known, w) {
			continue
		}
		if len(known) == 0 {
			return nil, fmt.Errorf("variant %q: no suite that is played has variants", w)
		}
		return nil, fmt.Errorf("no suite that is played has the variant %q%s", w, prose.MeantOr(w, known, "; they have "+strings.Join(known, ", ")))
	}
	var out []*scenarios.Scenario
	for _, s := range list {
		has, played := s.Variants(), s.Played()
		if len(wanted) > 0 && len(has) > 0 {
			played = slices.DeleteFunc(played, func(s *scenarios.Scenario) bool { return !slices.Contains(wanted, s.Variant) })
		}
		if len(played) == 0 {
			return nil, fmt.Errorf("%s: suite %q has no variant %s; it has %s", s.Pos, s.Suite, strings.Join(wanted, ", "), strings.Join(has, ", "))
		}
		out = append(out, played...)
	}
	return out, nil
}
