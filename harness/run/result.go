// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// Result is what a run came to.
type Result struct {
	// Dir is the run folder; empty when no files are written.
	Dir      string
	Manifest trials.Manifest
	// Records of the trials that were finished, in the order of their end; first
	// those that a resumed run kept.
	Records []trials.Record
	// Spent is what these used. OverBudget says that the budget was used up
	// before all trials had begun.
	Spent      trials.Spend
	OverBudget bool
}

// ExitCode is the exit status of a program for this run: 0 when all trials
// passed, 1 when one failed or no trial of the run checked anything, 3 when
// none failed but some could not be judged or were not run. Where the run has
// rules ([trials.JudgeRules]) these decide in place of single trials: 1 when one
// was missed, 3 when none was but one could not be judged or trials were not run.
func (r *Result) ExitCode() int {
	unjudged := len(r.Records) < r.Manifest.Planned
	if r.Manifest.Ruled() {
		code := trials.RulesExitCode(trials.JudgeRules(&r.Manifest, r.Records))
		if code == 0 && (unjudged || len(r.Records) == 0) {
			code = 3
		}
		return code
	}
	for _, t := range r.Records {
		switch t.Outcome {
		case harness.OutcomeFailed:
			return 1
		case harness.OutcomeError:
			unjudged = true
		case harness.OutcomePassed, harness.OutcomeSkipped:
		}
	}
	switch {
	case r.checkedNothing():
		return 1
	case unjudged:
		return 3
	}
	return 0
}

// checkedNothing reports whether the run came to its end without any check.
// Where an endpoint is down there is nothing to check, and that is known; a
// check that did not run for other reasons is not. A recording is what a trial
// in mode record is for.
func (r *Result) checkedNothing() bool {
	if len(r.Records) < r.Manifest.Planned || r.Manifest.Shard != (trials.Shard{}) {
		return false // another shard may check something
	}
	for _, t := range r.Records {
		if t.Counts.Checks > 0 || t.Mode == harness.ModeRecord && t.Cassette != "" || t.Outcome == harness.OutcomePassed || t.Outcome == harness.OutcomeFailed ||
			t.Outcome == harness.OutcomeError && t.Cause != nil && t.Cause.Kind != trials.CauseScenario {
			return false
		}
	}
	return true
}

// judged fills in what the trials come to together.
func (r *Result) judged() {
	m := &r.Manifest
	m.Rules = trials.JudgeRules(m, r.Records)
	if r.checkedNothing() && m.Rules == nil {
		m.Warnings = append(m.Warnings, checkedNothing)
	}
}

// checkedNothing warns of a run that shows nothing.
const checkedNothing = "nothing was checked in the whole run, so it counts as failed (exit code 1)"

// finish fills in what is known at the end only.
func (r *Result) finish(interrupted bool, l *ledger) {
	m := &r.Manifest
	m.Finished = time.Now().UTC()
	missing := m.Planned - len(r.Records)
	r.Spent, r.OverBudget = l.spent(), missing > 0 && l.usedUp()
	m.Interrupted = missing > 0 && (interrupted || r.OverBudget)
	m.Warnings = append(m.Warnings, l.warnings(missing)...)
	r.judged()
	for i := range m.Models {
		seen := map[string]bool{}
		for _, rec := range r.Records {
			for _, name := range rec.Answered {
				if rec.Model == m.Models[i].Label && !seen[name] {
					seen[name] = true
					m.Models[i].Answered = append(m.Models[i].Answered, name)
				}
			}
		}
		slices.Sort(m.Models[i].Answered)
	}
}
