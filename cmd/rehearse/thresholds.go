// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// thresholds reads the values of --threshold: 0.9, or tag=0.8 for a tag that one
// of the scenarios has.
func thresholds(given []string, list []*scenarios.Scenario) ([]trials.Threshold, error) {
	var known []string
	for _, s := range list {
		known = append(known, s.Tags...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var out []trials.Threshold
	for _, text := range given {
		t := trials.Threshold{}
		number := text
		if i := strings.LastIndex(text, "="); i >= 0 { // a tag may have one too
			t.Tag, number = strings.TrimSpace(text[:i]), text[i+1:]
			if !slices.Contains(known, t.Tag) {
				return nil, fmt.Errorf("--threshold %s: no scenario that is played has the tag %q%s", text, t.Tag, prose.DidYouMean(t.Tag, known))
			}
		}
		var err error
		if t.Rate, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil || !(t.Rate > 0 && t.Rate <= 1) {
			return nil, fmt.Errorf("--threshold %s: want a rate above 0 and at most 1, such as 0.9, or that of a tag, such as smoke=0.8", text)
		}
		if slices.ContainsFunc(out, func(o trials.Threshold) bool { return o.Tag == t.Tag }) {
			return nil, fmt.Errorf("--threshold %s: a second threshold for the same trials", text)
		}
		out = append(out, t)
	}
	return out, nil
}
