// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Pass is the rule by which a scenario has passed, from all its attempts in one
// [Column]. The zero rule is that all attempts that count pass.
type Pass struct {
	// AtLeast is how many attempts must pass; of fewer that are planned, all.
	AtLeast int `json:"at_least,omitempty"`
	// Rate is the least share of the attempts that count that must pass, above
	// 0 and up to 1.
	Rate float64 `json:"rate,omitempty"`
	// Pos is where the rule stands.
	Pos harness.Position `json:"pos,omitzero"`
}

func (p Pass) String() string {
	switch {
	case p.AtLeast > 0:
		return "at least " + prose.Count(p.AtLeast, "attempt")
	case p.Rate > 0:
		return "at least " + prose.Percent(p.Rate)
	default:
		return "all attempts"
	}
}

// Threshold is the least pass rate of many scenarios, in one [Column]: passed
// attempts by those that count.
type Threshold struct {
	// Suite is the name of the suite that it is about. Empty means all scenarios
	// of the run.
	Suite string `json:"suite,omitempty"`
	// Tag of the scenarios that it is about. Empty means all.
	Tag string `json:"tag,omitempty"`
	// Rate is above 0 and at most 1.
	Rate float64 `json:"rate"`
	// Pos is where the threshold stands; zero for one of the command line.
	Pos harness.Position `json:"pos,omitzero"`
}

func (t Threshold) String() string {
	name := "overall"
	if t.Tag != "" {
		name = "tag " + t.Tag
	}
	if t.Suite != "" {
		name += " of suite " + t.Suite
	}
	return name + ": at least " + prose.Percent(t.Rate)
}

// covers reports whether a threshold is about a scenario.
func (t Threshold) covers(s Source) bool {
	return (t.Suite == "" || s.Suite == t.Suite) && (t.Tag == "" || slices.Contains(s.Tags, t.Tag))
}

// Column is what trials are counted apart by: what of their [Key] is neither
// scenario nor attempt.
type Column struct {
	Subject string       `json:"subject,omitempty"`
	Model   string       `json:"model,omitempty"`
	Variant string       `json:"variant,omitempty"`
	Mode    harness.Mode `json:"mode,omitempty"`
}

// Column of a trial.
func (k Key) Column() Column { return Column{k.Subject, k.Model, k.Variant, k.Mode} }

// RuleState is what became of a rule.
type RuleState string

// The states of a rule.
const (
	RuleMet      RuleState = "met"
	RuleMissed   RuleState = "missed"
	RuleUnjudged RuleState = "unjudged" // too little counts to tell
)

// RuleResult is what became of one rule in one [Column].
type RuleResult struct {
	// Rule in words: "pass: at least 4 attempts", "overall: at least 90 %".
	Rule string `json:"rule"`
	// Suite, Scenario and Case are set for the rule of a scenario.
	Suite    string `json:"suite,omitempty"`
	Scenario string `json:"scenario,omitempty"`
	Case     string `json:"case,omitempty"`
	Column
	State RuleState `json:"state"`
	// Passed of Judged is the count that decides; Errors and Skipped are in no
	// denominator.
	Passed  int `json:"passed"`
	Judged  int `json:"judged"`
	Errors  int `json:"errors,omitempty"`
	Skipped int `json:"skipped,omitempty"`
	// Message says why a rule could not be judged.
	Message string `json:"message,omitempty"`
	// Pos is where the rule stands, or the scenario that it is about.
	Pos harness.Position `json:"pos,omitzero"`
}

// Name is the scenario with its case, as [Key.Name]; empty for a threshold.
func (r RuleResult) Name() string { return nameOf(r.Scenario, r.Case) }

// String is the result in a line, without its column.
func (r RuleResult) String() string {
	text := r.Rule
	if r.Scenario != "" {
		text = r.Name() + ": " + text
	}
	text += fmt.Sprintf(": %d of %d passed", r.Passed, r.Judged)
	if r.Errors > 0 {
		text += ", " + prose.Count(r.Errors, "error")
	}
	if r.Message != "" {
		text += "; " + r.Message
	}
	return text
}

func (r *RuleResult) add(o harness.Outcome) {
	switch o {
	case harness.OutcomePassed:
		r.Passed++
		r.Judged++
	case harness.OutcomeFailed:
		r.Judged++
	case harness.OutcomeSkipped:
		r.Skipped++
	default:
		r.Errors++
	}
}

// reaches reports whether the share that passed is at least rate, but for the
// rounding of the product.
func (r *RuleResult) reaches(rate float64) bool {
	return float64(r.Passed) >= rate*float64(r.Judged)-1e-9
}

// The shares of errors, among attempts that were played, above which a rule is not
// met by the attempts that count: of all that a threshold covers, as of a run that
// is held against a baseline, and of those at one scenario, whose few attempts a
// single error is soon a tenth of.
const (
	maxErrors      = 0.1
	maxErrorsOfOne = 0.5
)

// met notes that what counts is enough, unless the share of errors is above most
// and they could have made it too little, had they failed.
func (r *RuleResult) met(rate, most float64) {
	r.State = RuleMet
	played := r.Judged + r.Errors
	if float64(r.Errors) > most*float64(played) && float64(r.Passed) < rate*float64(played)-1e-9 {
		r.State = RuleUnjudged
		r.Message = fmt.Sprintf("%d of %s are errors, and could have failed", r.Errors, prose.Count(played, "trial"))
	}
}

// Ruled reports whether a run has rules: then they decide its exit code, not
// single trials.
func (m *Manifest) Ruled() bool {
	return len(m.Thresholds) > 0 || slices.ContainsFunc(m.Scenarios, func(s Source) bool { return s.Pass != nil })
}

// JudgeRules judges the rules of a run in each column by itself; nil where it has
// none. A scenario that has no rule and that no threshold covers must pass in
// all attempts. A rule of which nothing counts, or a whole scenario does not, is
// unjudged, unless it is missed by what counts. So is a threshold of whose trials
// more than a tenth are errors, and the rule of a scenario of whose attempts more
// than half are, where these could have failed it. Records are those of different
// trials: no two of them have one [Key].
func JudgeRules(m *Manifest, records []Record) []RuleResult {
	if !m.Ruled() {
		return nil
	}
	var columns []Column
	type cell struct {
		suite, scenario, of string
		column              Column
	}
	cells := map[cell][]Record{}
	for _, r := range records {
		c := r.Key.Column()
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
		at := cell{r.Suite, r.Scenario, r.Case, c}
		cells[at] = append(cells[at], r)
	}
	slices.SortFunc(columns, func(a, b Column) int {
		rank := func(c Column) int {
			return slices.IndexFunc(m.Models, func(x Model) bool { return x.Label == c.Model })
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Variant, b.Variant),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Mode, b.Mode))
	})
	var out []RuleResult
	for _, c := range columns {
		for _, t := range m.Thresholds {
			r := RuleResult{Rule: t.String(), Column: c, Pos: t.Pos}
			var lost []string // scenarios of which nothing counts
			planned := 0
			for _, s := range m.Scenarios {
				if !t.covers(s) {
					continue
				}
				one := RuleResult{}
				for _, rec := range cells[cell{s.Suite, s.Scenario, s.Case, c}] {
					r.add(rec.Outcome)
					one.add(rec.Outcome)
					planned++
				}
				if one.Judged == 0 && one.Errors > 0 {
					lost = append(lost, s.Name())
				}
			}
			if planned == 0 {
				continue // it is about none of the scenarios that were played
			}
			switch {
			case r.Judged > 0 && !r.reaches(t.Rate):
				r.State = RuleMissed
			case r.Judged == 0:
				r.State, r.Message = RuleUnjudged, "no trial counts"
			case len(lost) > 0:
				r.State, r.Message = RuleUnjudged, "no trial counts of "+someOf(lost)
			default:
				r.met(t.Rate, maxErrors)
			}
			out = append(out, r)
		}
		for _, s := range m.Scenarios {
			list := cells[cell{s.Suite, s.Scenario, s.Case, c}]
			covered := slices.ContainsFunc(m.Thresholds, func(t Threshold) bool { return t.covers(s) })
			if len(list) == 0 || s.Pass == nil && covered {
				continue
			}
			out = append(out, s.judgePass(c, list))
		}
	}
	return out
}

// judgePass judges the rule of a scenario in one column.
func (s Source) judgePass(c Column, list []Record) RuleResult {
	var p Pass
	if s.Pass != nil {
		p = *s.Pass
	}
	r := RuleResult{Rule: "pass: " + p.String(), Suite: s.Suite, Scenario: s.Scenario, Case: s.Case, Column: c, Pos: cmp.Or(p.Pos, list[0].Pos)}
	for _, rec := range list {
		r.add(rec.Outcome)
	}
	failed := r.Judged - r.Passed
	switch {
	case p.AtLeast > 0:
		planned := max(s.Trials, len(list))
		need := min(p.AtLeast, planned)
		switch {
		case r.Passed >= need:
			r.State = RuleMet
		case planned-failed-r.Skipped < need:
			r.State = RuleMissed
		default:
			r.State = RuleUnjudged
			r.Message = fmt.Sprintf("%s not count, and could have passed", doOf(planned-r.Judged-r.Skipped))
		}
	case r.Judged == 0:
		r.State, r.Message = RuleUnjudged, "no trial counts"
	case p.Rate > 0 && r.reaches(p.Rate), p.Rate == 0 && failed == 0:
		r.met(cmp.Or(p.Rate, 1), maxErrorsOfOne)
	default:
		r.State = RuleMissed
	}
	if r.Judged == 0 && r.State == RuleMissed { // all were skipped
		r.State, r.Message = RuleUnjudged, "no trial counts"
	}
	return r
}

func doOf(n int) string {
	if n == 1 {
		return "1 attempt does"
	}
	return fmt.Sprintf("%d attempts do", n)
}

// someOf lists the first few names.
func someOf(names []string) string {
	const most = 5
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}

// RulesExitCode is the exit code that rules stand for: 1 when one was missed, 3
// when none was but some could not be judged, else 0.
func RulesExitCode(rules []RuleResult) int {
	code := 0
	for _, r := range rules {
		switch r.State {
		case RuleMissed:
			return 1
		case RuleUnjudged:
			code = 3
		case RuleMet:
		}
	}
	return code
}
