// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// TestNthCountsWhatOthersStruck: the third start is the third, also where
// another fault has struck the second.
func TestNthCountsWhatOthersStruck(t *testing.T) {
	var faults []fault.Fault
	for n := 2; n <= 4; n++ {
		faults = append(faults, fault.Fault{Kind: fault.DieAtStart, Match: fault.Match{Method: fault.Start, Nth: n}})
	}
	p := fault.NewPlayer(faults)
	var struck []int
	for start := 1; start <= 6; start++ {
		f, err := p.Next(&fault.Event{Method: fault.Start, Transport: fault.Stdio})
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			struck = append(struck, start)
		}
	}
	if diff := cmp.Diff([]int{2, 3, 4}, struck); diff != "" {
		t.Errorf("starts that were struck (-want +got):\n%s", diff)
	}
}
