// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
)

// Estimand is the question that an interval answers.
type Estimand string

// The estimands.
const (
	// FixedSuite is the pass rate of these scenarios and no others. It suits a
	// gate: did this suite get worse?
	FixedSuite Estimand = "this fixed suite"
	// ScenariosInGeneral is the pass rate of all scenarios that these are a
	// sample of. It suits a choice: is one model better?
	ScenariosInGeneral Estimand = "scenarios in general"
)

// ErrTooFew is wrapped by errors that more attempts or scenarios would cure.
var ErrTooFew = errors.New("too few data")

// Table is what one model, or anything else to be compared, did in a suite.
type Table struct {
	Name      string
	Scenarios []Scenario
}

// Scenario is one row of a [Table]: the attempts at one scenario.
type Scenario struct {
	// Name is unique in its table. Tables are compared on the scenarios whose
	// names both have.
	Name string
	// Cluster names what this scenario is a variation of, such as its template
	// or its set of tools: scenarios of a cluster are not counted as
	// independent. Empty means that the scenario is a cluster of its own.
	Cluster string
	// Attempts are the outcomes of its trials, in any order.
	Attempts []harness.Outcome
}

// Counts are attempts by their outcome.
type Counts struct {
	Passed, Failed  int
	Errors, Skipped int // in no denominator
}

// Valid is the denominator: the attempts that passed or failed.
func (c Counts) Valid() int { return c.Passed + c.Failed }

// LeftOut is a scenario, or in [Rank] a table, that a result does not rest on.
type LeftOut struct{ Name, Reason string }

// Interval holds the true value in a share Level of all suites. Its limits are
// between 0 and 1 for rates, and between -1 and 1 for differences.
type Interval struct{ Low, High, Level float64 }

// Contains reports whether x is in the interval, its limits included.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// Options are what all computations share. Nil is the zero value.
type Options struct {
	// Level of intervals, from 0.5 to 0.999999; a test is made at 1 - Level. 0
	// means 0.95.
	Level float64
	// Power at which minimum detectable effects are told, from 0.5 to
	// 0.999999. 0 means 0.8.
	Power float64
	// Resamples of the bootstrap of a comparison, at least 100. 0 means none.
	Resamples int
	// Seed of the bootstrap; results repeat it.
	Seed uint64
}

func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.Level = cmp.Or(out.Level, 0.95)
	out.Power = cmp.Or(out.Power, 0.8)
	err := cmp.Or(checkSure("level", out.Level), checkSure("power", out.Power))
	if err == nil && out.Resamples != 0 && out.Resamples < 100 {
		err = fmt.Errorf("%d resamples: want at least 100, or 0 for no bootstrap", out.Resamples)
	}
	return out, err
}

// checkSure looks at a level or a power. Beyond the limits quantiles are
// infinite, or 0 and divided by.
func checkSure(what string, x float64) error {
	if !(x >= 0.5 && x <= 0.999999) {
		return fmt.Errorf("%s %v: want a number from 0.5 to 0.999999", what, x)
	}
	return nil
}

// count sums outcomes.
func count(attempts []harness.Outcome) (Counts, error) {
	var c Counts
	for _, o := range attempts {
		switch o {
		case harness.OutcomePassed:
			c.Passed++
		case harness.OutcomeFailed:
			c.Failed++
		case harness.OutcomeError:
			c.Errors++
		case harness.OutcomeSkipped:
			c.Skipped++
		default:
			return c, fmt.Errorf("unknown outcome %q", o)
		}
	}
	return c, nil
}

// row is a scenario counted.
type row struct {
	name, cluster string
	Counts
}

// n is the number of attempts that count, and mean the share that passed.
func (r row) n() float64    { return float64(r.Valid()) }
func (r row) mean() float64 { return float64(r.Passed) / r.n() }

// within estimates p(1-p) of the scenario without bias, from two attempts on.
func (r row) within() float64 { return r.mean() * (1 - r.mean()) * r.n() / (r.n() - 1) }

// rows counts a table and keeps the scenarios with at least least valid
// attempts.
func (t Table) rows(least int) (kept []row, out []LeftOut, sum Counts, err error) {
	seen := map[string]bool{}
	for _, s := range t.Scenarios {
		if seen[s.Name] {
			return nil, nil, sum, fmt.Errorf("table %q has two scenarios called %q", t.Name, s.Name)
		}
		seen[s.Name] = true
		c, err := count(s.Attempts)
		if err != nil {
			return nil, nil, sum, fmt.Errorf("table %q, scenario %q: %w", t.Name, s.Name, err)
		}
		sum.Errors += c.Errors
		sum.Skipped += c.Skipped
		if n := c.Valid(); n < least {
			out = append(out, LeftOut{s.Name, fmt.Sprintf("%d of its attempts passed or failed, and %d are needed", n, least)})
			continue
		}
		sum.Passed += c.Passed
		sum.Failed += c.Failed
		kept = append(kept, row{s.Name, s.Cluster, c})
	}
	return kept, out, sum, nil
}

// clusters numbers the clusters of rows in the order in which they appear.
func clusters(rows []row) (of []int, n int) {
	type key struct {
		own  bool // a scenario called like a cluster is not in it
		name string
	}
	number := map[key]int{}
	for _, r := range rows {
		k := key{false, r.cluster}
		if r.cluster == "" {
			k = key{true, r.name}
		}
		if _, ok := number[k]; !ok {
			number[k] = len(number)
		}
		of = append(of, number[k])
	}
	return of, len(number)
}

// single reports whether no row has more than one valid attempt.
func single(rows []row) bool {
	return !slices.ContainsFunc(rows, func(r row) bool { return r.Valid() > 1 })
}

// unequal warns of tables whose rows do not all have the same number of
// attempts: in one sentence, however many there are.
func unequal(tables ...[]row) []string {
	n := func(a, b row) int { return cmp.Compare(a.Valid(), b.Valid()) }
	var counts []int
	for _, rows := range tables {
		if least, most := slices.MinFunc(rows, n).Valid(), slices.MaxFunc(rows, n).Valid(); least != most {
			counts = append(counts, least, most)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("scenarios have %d to %d judged attempts, and each scenario weighs the same: the rate is the mean over scenarios, not the share of trials that passed",
		slices.Min(counts), slices.Max(counts))}
}

// tooFewClusters is the error about what cannot stand for scenarios in general.
func tooFewClusters(n int, shared string) error {
	return fmt.Errorf("%w: %d independent scenarios%s, and an interval for %s needs 2", ErrTooFew, n, shared, ScenariosInGeneral)
}
