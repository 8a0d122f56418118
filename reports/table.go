// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// table is a run in the order in which every writer shows it: scenarios down,
// models across, the attempts of one cell in order.
type table struct {
	Scenarios []*scenario
	Columns   []*column
	Total     tally
	Rules     []trials.RuleResult
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
	Model, Variant, Subject string
	Mode                    harness.Mode
	side                    side
}

// columnKey is the column of a trial.
func (t *Trial) columnKey() columnKey {
	k := keyOf(t.Key.Column())
	k.side = t.side
	return k
}

// axes counts the models and the variants that stand in columns.
func (tab *table) axes() (models, variants int) {
	m, v := map[string]bool{}, map[string]bool{}
	for _, c := range tab.Columns {
		m[c.key.Model] = true
		if c.key.Variant != "" {
			v[c.key.Variant] = true
		}
	}
	return len(m), len(v)
}

// tally counts trials by outcome, and what they took.
type tally struct {
	Passed, Failed, Errors, Skipped int
	Undecided                       int // checks, not trials
	ModelCalls, ToolCalls, Retries  int
	Usage                           trials.Tokens
	Cost                            float64 // dollars, of the trials that have a price
	Priced                          int     // these
	Uncounted                       int     // trials of whose tokens the endpoint said nothing
	durations, latency, ttft        []time.Duration
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
	y.Retries += t.Counts.Retries
	y.Usage = y.Usage.Add(t.Tokens)
	if t.Uncounted() {
		y.Uncounted++
	} else if t.Cost != nil {
		y.Cost += *t.Cost
		y.Priced++
	}
	if t.Outcome != harness.OutcomeSkipped {
		y.durations = append(y.durations, t.Duration)
		y.latency, y.ttft = append(y.latency, t.Latency...), append(y.ttft, t.TTFT...)
	}
	for _, v := range t.Verdicts {
		if v.State == trials.Undecided && !v.Advisory {
			y.Undecided++
		}
	}
}

// Tokens is the sum of all trials.
func (y tally) Tokens() string { return y.tokens(y.Usage.Total()) }

// tokens are those of all trials, as far as they are known.
func (y *tally) tokens(n int) string {
	switch {
	case y.Uncounted == 0:
		return thousands(n)
	case y.counted() == 0:
		return unknownUse
	}
	return "at least " + thousands(n)
}

// unknownUse stands for tokens of which the endpoint says nothing, and for what
// they cost.
const unknownUse = "unknown"

// counted are the trials that were played and whose tokens are known.
func (y *tally) counted() int { return y.Trials() - y.Skipped - y.Uncounted }

// Trials is all of them.
func (y tally) Trials() int { return y.Passed + y.Failed + y.Errors + y.Skipped }

// Judged is the denominator of every rate.
func (y tally) Judged() int { return y.Passed + y.Failed }

// Rate is the pass rate in words, "n/a" without a judged trial.
func (y tally) Rate() string {
	if y.Judged() == 0 {
		return "n/a"
	}
	return prose.Rate(float64(y.Passed) / float64(y.Judged()))
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
		parts = append(parts, prose.Count(y.Errors, "error"))
	}
	if y.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", y.Skipped))
	}
	words := strings.Join(parts, ", ") + " of " + prose.Count(y.Trials(), "trial")
	if y.Undecided > 0 {
		words += "; " + prose.Count(y.Undecided, "check") + " could not be judged"
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

type scenarioKey struct{ suite, name, of string }

// arrange sorts a run into its table.
func arrange(run *Run) *table {
	tab := &table{Rules: rules(run)}
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
			Source: trials.Source{Suite: k.suite, Scenario: k.name, Case: k.of},
			Cells:  make([][]*Trial, len(columns)),
		}
		scenarios[k] = s
		order[s] = len(run.Manifest.Scenarios)
		tab.Scenarios = append(tab.Scenarios, s)
		return s
	}
	for i, src := range run.Manifest.Scenarios {
		s := find(scenarioKey{src.Suite, src.Scenario, src.Case})
		s.Source, order[s] = src, min(order[s], i)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		s := find(scenarioKey{t.Suite, t.Scenario, t.Case})
		s.File = cmp.Or(s.File, t.File)
		c := at[t.columnKey()]
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
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Name(), b.Name()))
	})
	for _, s := range tab.Scenarios {
		for _, cell := range s.Cells {
			slices.SortStableFunc(cell, func(a, b *Trial) int { return cmp.Compare(a.Attempt, b.Attempt) })
		}
	}
	return tab
}

func keyOf(c trials.Column) columnKey {
	return columnKey{Model: c.Model, Variant: c.Variant, Subject: c.Subject, Mode: c.Mode}
}

// columnsOf finds the columns: models and variants in the order of the manifest, labelled
// with no more than tells them apart.
func columnsOf(run *Run) []*column {
	rank := map[string]int{}
	for i, m := range run.Manifest.Models {
		rank[m.Label] = i - len(run.Manifest.Models)
	}
	variant := map[string]int{}
	for i, v := range run.Manifest.Variants {
		variant[v] = i - len(run.Manifest.Variants)
	}
	found := map[columnKey]bool{}
	for i := range run.Trials {
		found[run.Trials[i].columnKey()] = true
	}
	keys := slices.Collect(maps.Keys(found))
	slices.SortFunc(keys, func(a, b columnKey) int {
		return cmp.Or(cmp.Compare(rank[a.Model], rank[b.Model]), cmp.Compare(a.Model, b.Model),
			cmp.Compare(variant[a.Variant], variant[b.Variant]), cmp.Compare(a.Variant, b.Variant),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.side, b.side))
	})
	variants, subjects, modes := map[string]bool{}, map[string]bool{}, map[harness.Mode]bool{}
	for _, k := range keys {
		variants[k.Variant], subjects[k.Subject], modes[k.Mode] = true, true, true
	}
	var out []*column
	for _, k := range keys {
		label := []string{cmp.Or(k.Model, "no model")}
		if len(variants) > 1 {
			label = append(label, cmp.Or(k.Variant, "no variant"))
		}
		if len(subjects) > 1 {
			label = append(label, cmp.Or(k.Subject, "no subject"))
		}
		if len(modes) > 1 {
			label = append(label, string(k.Mode))
		}
		if name := run.sides[k.side]; name != "" {
			label = append([]string{name}, label...)
		}
		out = append(out, &column{Label: oneLine(strings.Join(label, " · "), 120), key: k})
	}
	return out
}

// place is a trial with where it stands in the table.
type place struct {
	*Trial
	scenario            *scenario
	row, col            int    // of the scenario, and of the column
	column, attempt, id string // the first two are empty where there is one alone
}

// trials are all trials in the order of the table.
func (tab *table) trials() iter.Seq[place] {
	return func(yield func(place) bool) {
		for i, s := range tab.Scenarios {
			for c, cell := range s.Cells {
				for n, t := range cell {
					if !yield(place{t, s, i, c, columnName(tab, c), attempt(t, cell), trialID(i, c, n)}) {
						return
					}
				}
			}
		}
	}
}

// label names a trial in a line.
func (p place) label(most int) string {
	return strings.Join(strings.Fields(oneLine(p.scenario.Name(), most)+" "+p.column+" "+p.attempt), " ")
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
