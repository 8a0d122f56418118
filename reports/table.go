// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// table is a run in the order in which every writer shows it: scenarios down,
// models across, the attempts of one cell in order.
type table struct {
	Scenarios []*scenario
	Columns   []*column
	Total     tally
}

type scenario struct {
	trials.Source
	Pos      harness.Position
	Critical bool
	Cells    [][]*Trial // one a column
	Tally    tally
}

type column struct {
	Label string
	Tally tally
	key   columnKey
}

type columnKey struct {
	Model, Subject string
	Mode           harness.Mode
}

// tally counts trials by outcome, and what they took.
type tally struct {
	Passed, Failed, Errors, Skipped int
	Undecided                       int // checks, not trials
	ModelCalls, ToolCalls           int
	Usage                           harness.Usage
	durations                       []time.Duration
}

func (y *tally) add(t *Trial) {
	switch t.Outcome {
	case harness.OutcomePassed:
		y.Passed++
	case harness.OutcomeFailed:
		y.Failed++
	case harness.OutcomeSkipped:
		y.Skipped++
	default:
		y.Errors++ // an outcome that nobody knows is no pass either
	}
	y.ModelCalls += t.Counts.ModelCalls
	y.ToolCalls += t.Counts.ToolCalls
	y.Usage = y.Usage.Add(t.Counts.Usage)
	if t.Outcome != harness.OutcomeSkipped {
		y.durations = append(y.durations, t.Duration)
	}
	for _, v := range t.Verdicts {
		if v.State == harness.Undecided {
			y.Undecided++
		}
	}
}

// Tokens is the sum of all trials.
func (y tally) Tokens() string { return thousands(y.Usage.TotalTokens) }

// Trials is all of them.
func (y tally) Trials() int { return y.Passed + y.Failed + y.Errors + y.Skipped }

// Judged is the denominator of every rate.
func (y tally) Judged() int { return y.Passed + y.Failed }

// Rate is the pass rate in words, "n/a" without a judged trial.
func (y tally) Rate() string {
	if y.Judged() == 0 {
		return "n/a"
	}
	// A rate that rounds to 100 must not hide a failure, nor 0 a pass.
	p := 100 * float64(y.Passed) / float64(y.Judged())
	s := fmt.Sprintf("%.0f%%", p)
	if (s == "100%" && y.Failed > 0) || (s == "0%" && y.Passed > 0) {
		s = fmt.Sprintf("%.1f%%", p)
	}
	return s
}

// Flaky reports whether trials of the same thing ended differently.
func (y tally) Flaky() bool { return y.Passed > 0 && y.Failed > 0 }

// Median and Slowest are of the trials that ran.
func (y tally) Median() string {
	if len(y.durations) == 0 {
		return "–"
	}
	d := slices.Sorted(slices.Values(y.durations))
	return durationText(d[(len(d)-1)/2])
}

func (y tally) Slowest() string {
	if len(y.durations) == 0 {
		return "–"
	}
	return durationText(slices.Max(y.durations))
}

// Words is the sentence under which a run is remembered.
func (y tally) Words() string {
	if y.Trials() == 0 {
		return "no trials"
	}
	parts := []string{fmt.Sprintf("%d passed", y.Passed)}
	if y.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", y.Failed))
	}
	if y.Errors > 0 {
		parts = append(parts, count(y.Errors, "error"))
	}
	if y.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", y.Skipped))
	}
	words := strings.Join(parts, ", ") + " of " + count(y.Trials(), "trial")
	if y.Undecided > 0 {
		words += "; " + count(y.Undecided, "check") + " could not be judged"
	}
	return words
}

// Outcome is that of the run: what an exit code would say.
func (y tally) Outcome() harness.Outcome {
	switch {
	case y.Failed > 0:
		return harness.OutcomeFailed
	case y.Errors > 0 || y.Undecided > 0 || y.Judged() == 0:
		return harness.OutcomeError
	default:
		return harness.OutcomePassed
	}
}

type scenarioKey struct{ file, name string }

// arrange sorts a run into its table.
func arrange(run *Run) *table {
	tab := &table{}
	columns := columnsOf(run)
	at := map[columnKey]int{}
	for i, c := range columns {
		at[c.key] = i
	}
	tab.Columns = columns
	scenarios := map[scenarioKey]*scenario{}
	order := map[*scenario]int{}
	find := func(k scenarioKey) *scenario {
		if s, ok := scenarios[k]; ok {
			return s
		}
		s := &scenario{
			Source: trials.Source{Name: k.name, File: k.file},
			Cells:  make([][]*Trial, len(columns)),
		}
		scenarios[k] = s
		order[s] = len(run.Manifest.Scenarios)
		tab.Scenarios = append(tab.Scenarios, s)
		return s
	}
	for i, src := range run.Manifest.Scenarios {
		s := find(scenarioKey{src.File, src.Name})
		s.Source, order[s] = src, min(order[s], i)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		s := find(scenarioKey{t.File, t.Scenario})
		c := at[keyOf(t)]
		s.Cells[c] = append(s.Cells[c], t)
		s.Pos, s.Critical = t.Pos, s.Critical || t.Critical
		if len(s.Tags) == 0 {
			s.Tags = t.Tags
		}
		s.Tally.add(t)
		columns[c].Tally.add(t)
		tab.Total.add(t)
	}
	slices.SortStableFunc(tab.Scenarios, func(a, b *scenario) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range tab.Scenarios {
		for _, cell := range s.Cells {
			slices.SortStableFunc(cell, func(a, b *Trial) int { return cmp.Compare(a.Attempt, b.Attempt) })
		}
	}
	return tab
}

func keyOf(t *Trial) columnKey { return columnKey{t.Model, t.Subject, t.Mode} }

// columnsOf finds the columns: models in the order of the manifest, labelled
// with no more than tells them apart.
func columnsOf(run *Run) []*column {
	rank := map[string]int{}
	for i, m := range run.Manifest.Models {
		rank[m.Asked] = i - len(run.Manifest.Models)
	}
	var keys []columnKey
	for i := range run.Trials {
		keys = append(keys, keyOf(&run.Trials[i]))
	}
	slices.SortFunc(keys, func(a, b columnKey) int {
		return cmp.Or(cmp.Compare(rank[a.Model], rank[b.Model]), cmp.Compare(a.Model, b.Model),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Mode, b.Mode))
	})
	keys = slices.Compact(keys)
	subjects, modes := map[string]bool{}, map[harness.Mode]bool{}
	for _, k := range keys {
		subjects[k.Subject], modes[k.Mode] = true, true
	}
	var out []*column
	for _, k := range keys {
		label := []string{cmp.Or(k.Model, "no model")}
		if len(subjects) > 1 {
			label = append(label, cmp.Or(k.Subject, "no subject"))
		}
		if len(modes) > 1 {
			label = append(label, string(k.Mode))
		}
		out = append(out, &column{Label: oneLine(strings.Join(label, " · "), 120), key: k})
	}
	return out
}

// failing reports whether a trial is one to look at.
func failing(t *Trial) bool {
	return t.Outcome != harness.OutcomePassed && t.Outcome != harness.OutcomeSkipped
}

// attempt names a trial among those of its cell; nothing when it is alone.
func attempt(t *Trial, cell []*Trial) string {
	if len(cell) < 2 {
		return ""
	}
	return fmt.Sprintf("#%d", t.Attempt)
}
