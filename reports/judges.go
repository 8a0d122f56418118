// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// checkName is the name of a check, and says of a judge that decides nothing
// that it is advisory.
func checkName(v *trials.Verdict) string {
	if v.Advisory {
		return oneLine(v.Check, 80) + ", advisory"
	}
	return oneLine(v.Check, 80)
}

// judgeUse says what LLM judges took; empty where none was asked.
func judgeUse(use *trials.JudgeUse) string {
	if use == nil {
		return ""
	}
	text := fmt.Sprintf("%s, %s tokens", prose.Count(use.Calls, "call"), thousands(use.Tokens.Total()))
	if use.Cost != nil {
		text += ", " + dollars(*use.Cost)
	}
	return text
}

// judgeSum is what the judges of all trials took. The cost is that of those
// whose price is known.
func judgeSum(tab *table) *trials.JudgeUse {
	var sum *trials.JudgeUse
	for at := range tab.trials() {
		use := at.Judges
		if use == nil {
			continue
		}
		if sum == nil {
			sum = &trials.JudgeUse{}
		}
		sum.Calls += use.Calls
		sum.Tokens = sum.Tokens.Add(use.Tokens)
		if use.Cost != nil {
			cost := *use.Cost
			if sum.Cost != nil {
				cost += *sum.Cost
			}
			sum.Cost = &cost
		}
	}
	return sum
}
