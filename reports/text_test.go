// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"io"
	"runtime"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/samplerun"
)

// TestTextGrowsWithTrials: what the text of a run takes grows with its trials,
// and not with their square.
func TestTextGrowsWithTrials(t *testing.T) {
	allocated := func(scenarios int) uint64 {
		dir := t.TempDir()
		if err := samplerun.Write(dir, &samplerun.Options{Scenarios: scenarios, Attempts: 2, Seed: 1, NoDetails: true}); err != nil {
			t.Fatal(err)
		}
		run, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := Text(io.Discard, run, nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(25), allocated(200)
	t.Logf("%d bytes for few, %d for eight times as many", few, many)
	if many > 12*few {
		t.Errorf("eight times the trials take %d times the memory (%d and %d bytes)", many/few, few, many)
	}
}

// TestHeadline: a message is printed where the table of mismatches does not say it.
func TestHeadline(t *testing.T) {
	differs := []trials.Mismatch{{Path: "n", Rule: "equal", Want: "1", Got: "2"}}
	for _, tt := range []struct {
		name string
		v    trials.Verdict
		want bool
	}{
		{"no table", trials.Verdict{State: trials.Failed, Message: "no"}, true},
		{"mismatches", trials.Verdict{State: trials.Failed, Message: "n: want 1, got …", Mismatches: differs, MismatchesOnly: true}, false},
		{"mismatches and more", trials.Verdict{State: trials.Failed, Message: "want it to contain x; n: want 1, got 2", Mismatches: differs}, true},
		{"undecided after one", trials.Verdict{State: trials.Undecided, Message: "unknown after n: want 1, got 2", Mismatches: differs, MismatchesOnly: true}, true},
		{"conduct", trials.Verdict{State: trials.Failed, Conduct: true, Message: "changed to n: want 1, got 2", Mismatches: differs}, true},
		{"calls", trials.Verdict{State: trials.Failed, Message: "no", Alignment: &trials.Alignment{Rows: make([]trials.AlignmentRow, 1)}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := headline(&tt.v); (got != "") != tt.want {
				t.Errorf("the headline is %q", got)
			}
		})
	}
}
