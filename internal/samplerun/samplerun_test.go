// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package samplerun_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/samplerun"
)

// A run is what its seed makes of it, and has what reports have to show.
func TestWrite(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := samplerun.Write(dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	first, err := os.ReadFile(filepath.Join(a, trials.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(filepath.Join(b, trials.RecordsFile)); err != nil || string(first) != string(second) {
		t.Errorf("the second run differs from the first (%v)", err)
	}
	records, err := trials.ReadFile(filepath.Join(a, trials.RecordsFile))
	if err != nil || len(records) != 600 {
		t.Fatalf("%d records (%v), want 600", len(records), err)
	}
	outcomes, states := map[harness.Outcome]int{}, map[trials.AlignmentStatus]int{}
	for _, r := range records {
		outcomes[r.Outcome]++
		if _, err := trials.ReadDetail(a, r); err != nil {
			t.Error(err)
		}
		for _, v := range r.Verdicts {
			if v.Alignment != nil {
				for _, row := range v.Alignment.Rows {
					states[row.Status]++
				}
			}
		}
	}
	for _, o := range []harness.Outcome{harness.OutcomePassed, harness.OutcomeFailed, harness.OutcomeError} {
		if outcomes[o] == 0 {
			t.Errorf("no trial is %s", o)
		}
	}
	for _, s := range []trials.AlignmentStatus{trials.AlignMatched, trials.AlignMismatched, trials.AlignMissing, trials.AlignExtra} {
		if states[s] == 0 {
			t.Errorf("no call is %s", s)
		}
	}
}
