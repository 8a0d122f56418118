// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// bounds reads --budget, or finds the budget of the project, and --rate.
func bounds(opts *run.Options, flags *runFlags, paths []string) (err error) {
	if flags.rate != "" {
		if opts.Rate, err = trials.ParseRate(flags.rate); err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
	}
	if flags.budget == "" {
		opts.Budget, err = flags.models.budget(paths)
		return err
	}
	if opts.Budget, err = trials.ParseBudget(flags.budget); err != nil {
		return fmt.Errorf("--budget: %w", err)
	}
	return nil
}

// overBudget says why trials were not played, if it was the budget.
func overBudget(r *run.Result) string {
	if !r.OverBudget {
		return ""
	}
	return fmt.Sprintf(", because the budget of %s is used up", r.Manifest.Budget)
}

// largerBudget is the flag with which all of a run can be played, if its trials
// go on to use what they used so far; empty where the budget is not used up.
func largerBudget(r *run.Result) string {
	if !r.OverBudget {
		return ""
	}
	b, s := r.Manifest.Budget, r.Spent
	whole := float64(r.Manifest.Planned) / float64(cmp.Or(len(r.Records), r.Manifest.Planned))
	if b.Dollars > 0 {
		b.Dollars = math.Ceil(max(b.Dollars, s.Dollars*whole)*100+1) / 100
	}
	if b.Tokens > 0 {
		b.Tokens = (int(max(float64(b.Tokens), float64(s.Tokens)*whole))/1000 + 1) * 1000
	}
	return " --budget " + b.String()
}
