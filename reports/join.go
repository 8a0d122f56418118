// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// Join makes one run of several, as [trials.Join] does: a report of mocks and of
// recordings, of models that were run apart.
func Join(runs ...*Run) (*Run, error) {
	parts := make([]trials.Part, len(runs))
	of := make([]map[trials.Key]Trial, len(runs))
	for i, r := range runs {
		parts[i] = trials.Part{Dir: r.Dir, Manifest: r.Manifest}
		of[i] = map[trials.Key]Trial{}
		for _, t := range r.Trials {
			parts[i].Records = append(parts[i].Records, t.Record)
			of[i][t.Key] = t
		}
	}
	joined, err := trials.Join(parts...)
	if err != nil {
		return nil, err
	}
	out := &Run{Manifest: joined.Manifest}
	for i, rec := range joined.Records {
		t := of[joined.From[i]][rec.Key]
		t.Record = rec
		out.Trials = append(out.Trials, t)
	}
	for _, r := range runs {
		for _, w := range r.Warnings {
			out.Warnings = append(out.Warnings, r.Manifest.Name+": "+w)
		}
	}
	return out, nil
}
