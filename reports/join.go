// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// Join makes one run of several: a report of mocks and of recordings, of
// models that were run apart. Of a trial that is in several the last one
// counts. Times go from the first beginning to the last end.
func Join(runs ...*Run) *Run {
	out := &Run{}
	m := &out.Manifest
	var names, modes, subjects []string
	at := map[trials.Key]int{}
	for n, r := range runs {
		o := r.Manifest
		names, modes, subjects = with(names, o.Name), with(modes, string(o.Mode)), with(subjects, o.Subject)
		if n == 0 {
			m.Schema, m.Rehearse, m.Go, m.Seed, m.Started, m.Finished = o.Schema, o.Rehearse, o.Go, o.Seed, o.Started, o.Finished
		}
		if o.Started.Before(m.Started) {
			m.Started = o.Started
		}
		if o.Finished.After(m.Finished) {
			m.Finished = o.Finished
		}
		m.Interrupted = m.Interrupted || o.Interrupted
		m.Planned += o.Planned
		for _, model := range o.Models {
			if !slices.ContainsFunc(m.Models, func(x trials.Model) bool { return x.Asked == model.Asked }) {
				m.Models = append(m.Models, model)
			}
		}
		for _, s := range o.Scenarios {
			if !slices.ContainsFunc(m.Scenarios, func(x trials.Source) bool { return x.Name == s.Name && x.File == s.File }) {
				m.Scenarios = append(m.Scenarios, s)
			}
		}
		for _, t := range r.Trials {
			if i, ok := at[t.Key]; ok {
				out.Trials[i] = t
				m.Planned--
				continue
			}
			at[t.Key] = len(out.Trials)
			out.Trials = append(out.Trials, t)
		}
		for _, w := range o.Warnings {
			m.Warnings = append(m.Warnings, o.Name+": "+w)
		}
		for _, w := range r.Warnings {
			out.Warnings = append(out.Warnings, o.Name+": "+w)
		}
	}
	m.Name, m.Mode, m.Subject = strings.Join(names, " + "), harness.Mode(strings.Join(modes, " and ")), strings.Join(subjects, " and ")
	return out
}

// with adds a text that is not there yet.
func with(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
