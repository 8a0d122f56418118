// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestSpendOfJudges: a budget is of what is paid, whoever was asked.
func TestSpendOfJudges(t *testing.T) {
	one, two := 1.0, 2.0
	r := trials.Record{Cost: &one, Tokens: trials.Tokens{Input: 3}, Judges: &trials.JudgeUse{Calls: 1, Tokens: trials.Tokens{Output: 4}, Cost: &two}}
	if got := trials.SpendOf(&r); got != (trials.Spend{Dollars: 3, Tokens: 7}) {
		t.Errorf("%+v", got)
	}
	r.Judges.Cost = nil
	if got := trials.SpendOf(&r); got != (trials.Spend{Dollars: 1, Tokens: 7, Unpriced: 1}) {
		t.Errorf("without a price: %+v", got)
	}
}
