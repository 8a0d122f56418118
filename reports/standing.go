// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

// estimand is the question that the page answers: which model is better is a
// choice, and the scenarios are a sample.
const estimand = stats.ScenariosInGeneral

// standing is what the outcomes of a table allow to be said of its columns.
type standing struct {
	// Said says that there is something to be said: several columns, several
	// attempts, or a real endpoint. What a mock does once is no sample.
	Said  bool
	Rates []rated // one a column
	K     int     // of pass^k: the least attempts of any scenario, at most 10
	Best  int     // a column; -1 where there is none
	Tied  []int   // with the best, in the order of the columns
	Apart []int   // that share too few judged scenarios with the best, or have too few
	Pairs []pair
	Notes []string // what could not be computed
}

// rated is a column's rates.
type rated struct {
	stats.Rate
	Err error
	Hat *stats.Rate // pass^k; nil where there are too few data
}

// pair is two columns compared.
type pair struct {
	stats.Comparison
	A, B int
}

// names are the columns as internal/stats names them in what it says. Names must
// differ: where two columns have one label, all have their numbers too.
func (tab *table) names() []string {
	labels := make([]string, len(tab.Columns))
	for c, col := range tab.Columns {
		labels[c] = col.Label
	}
	if len(slices.Compact(slices.Sorted(slices.Values(labels)))) == len(labels) {
		return labels
	}
	for c := range labels {
		labels[c] += fmt.Sprintf(", column %d", c+1)
	}
	return labels
}

// outcomes are the columns as internal/stats wants them.
func (tab *table) outcomes() []stats.Table {
	out := make([]stats.Table, len(tab.Columns))
	for c, name := range tab.names() {
		out[c].Name = name
		for i, s := range tab.Scenarios {
			if len(s.Cells[c]) == 0 {
				continue
			}
			row := stats.Scenario{Name: fmt.Sprint(i)}
			for _, t := range s.Cells[c] {
				o := t.Outcome
				if outcomeOf(o).Word != string(o) {
					o = harness.OutcomeError // one that nobody knows judges nothing
				}
				row.Attempts = append(row.Attempts, o)
			}
			out[c].Scenarios = append(out[c].Scenarios, row)
		}
	}
	return out
}

// stand computes the standing of a table.
func (tab *table) stand() (*standing, error) {
	s := &standing{Best: -1, Said: len(tab.Columns) > 1}
	tables := tab.outcomes()
	s.K = 10
	for c, col := range tab.Columns {
		s.Said = s.Said || col.key.Mode.Real()
		for _, sc := range tab.Scenarios {
			if n := judged(sc.Cells[c]); n > 0 {
				s.K = min(s.K, n)
			}
			s.Said = s.Said || len(sc.Cells[c]) > 1
		}
	}
	for _, t := range tables {
		r := rated{}
		r.Rate, r.Err = t.PassRate(estimand, nil)
		if r.Err != nil && !errors.Is(r.Err, stats.ErrTooFew) {
			return nil, fmt.Errorf("computing pass rates: %w", r.Err)
		}
		if hat, err := t.PassHat(s.K, nil); err == nil && s.K > 1 {
			r.Hat = &hat
		}
		s.Rates = append(s.Rates, r)
	}
	if len(tables) < 2 || slices.ContainsFunc(tab.Columns, func(c *column) bool { return c.key.side != alone }) {
		return s, nil // two runs are compared by their diff
	}
	rank, err := stats.Rank(tables, estimand, nil)
	if err != nil {
		if errors.Is(err, stats.ErrTooFew) {
			s.Notes = append(s.Notes, err.Error())
			return s, nil
		}
		return nil, fmt.Errorf("comparing models: %w", err)
	}
	at := map[string]int{}
	for c, t := range tables {
		at[t.Name] = c
	}
	if c, ok := at[rank.Best]; ok {
		s.Best = c
	}
	for _, c := range rank.Pairs {
		s.Pairs = append(s.Pairs, pair{c, at[c.A], at[c.B]})
	}
	for c, t := range tables {
		compared := slices.ContainsFunc(s.Pairs, func(p pair) bool { o := p.from(s.Best); return o != nil && o.B == c })
		switch {
		case c == s.Best:
		case !compared:
			s.Apart = append(s.Apart, c)
		case slices.Contains(rank.Tied, t.Name):
			s.Tied = append(s.Tied, c)
		}
	}
	if len(s.Apart) == len(tables)-1 {
		s.Best = -1 // of a single one
	}
	for _, u := range rank.Uncompared {
		s.Notes = append(s.Notes, u.Reason)
	}
	for _, l := range rank.LeftOut {
		s.Notes = append(s.Notes, l.Reason)
	}
	return s, nil
}

// judged counts the attempts of a cell that are in a denominator.
func judged(cell []*Trial) int {
	n := 0
	for _, t := range cell {
		if t.Outcome == harness.OutcomePassed || t.Outcome == harness.OutcomeFailed {
			n++
		}
	}
	return n
}

// standingOf is the verdict on several columns, nil where there is one or none
// can be given, and what makes its figures others than those of the trials. name
// makes of a label what stands in a sentence.
func standingOf(tab *table, name func(string) string) (verdict, doubts []string) {
	s, err := tab.stand()
	if err != nil {
		return nil, nil // the page says why
	}
	if len(tab.Columns) > 1 {
		verdict = s.verdict(tab, name)
	}
	return verdict, s.doubts(tab, name)
}

// doubts say where rates are not the shares of trials that passed, which stand
// beside them, and where a comparison is of other rates.
func (s *standing) doubts(tab *table, name func(string) string) []string {
	if !s.Said {
		return nil
	}
	var out []string
	for c, col := range tab.Columns {
		r := s.Rates[c]
		if r.Err == nil && col.Tally.Judged() > 0 && prose.Rate(r.Value) != col.Tally.Rate() {
			out = append(out, fmt.Sprintf("%s: the pass rate is %s, where each scenario weighs the same; %s of the trials passed, which differs since the scenarios have unequal numbers of judged attempts",
				name(col.Label), prose.Rate(r.Value), col.Tally.Rate()))
		}
	}
	for i := range s.Pairs {
		p := s.Pairs[i].from(s.Best)
		if p == nil || s.Rates[p.A].Err != nil || s.Rates[p.B].Err != nil {
			continue
		}
		if a, b := prose.Rate(p.RateA), prose.Rate(p.RateB); a != prose.Rate(s.Rates[p.A].Value) || b != prose.Rate(s.Rates[p.B].Value) {
			out = append(out, fmt.Sprintf("%s and %s are compared on %s of which both have judged trials: there the pass rates are %s and %s",
				name(tab.Columns[p.A].Label), name(tab.Columns[p.B].Label), prose.Count(p.Scenarios, "scenario"), a, b))
		}
	}
	return out
}

// compared is what the columns are: what tells them apart, and columns where that
// is several things.
func (tab *table) compared() string {
	models, variants := tab.axes()
	subjects, modes := map[string]bool{}, map[harness.Mode]bool{}
	for _, c := range tab.Columns {
		subjects[c.key.Subject], modes[c.key.Mode] = true, true
	}
	var differ []string
	for _, axis := range []struct {
		name string
		n    int
	}{{"model", models}, {"variant", variants}, {"subject", len(subjects)}, {"mode", len(modes)}} {
		if axis.n > 1 {
			differ = append(differ, axis.name)
		}
	}
	if len(differ) == 1 {
		return differ[0]
	}
	return "column"
}

// verdict is the sentences under which a run is remembered, the first of which
// is enough.
func (s *standing) verdict(tab *table, name func(string) string) []string {
	label := func(c int) string { return name(tab.Columns[c].Label) }
	switch {
	case tab.Total.Judged() == 0 || !s.Said:
		return nil // the counts say it
	case len(tab.Columns) == 1:
		return s.alone(tab, label(0))
	case s.Best < 0 && len(s.Apart) > 0:
		return []string{fmt.Sprintf("The %ss cannot be compared: they share too few judged scenarios.", tab.compared())}
	case s.Best < 0:
		return []string{fmt.Sprintf("The %ss cannot be compared: too few trials were judged.", tab.compared())}
	}
	best := label(s.Best)
	var out []string
	var behind []string
	var worst *pair
	for i := range s.Pairs {
		p := s.Pairs[i].from(s.Best)
		if p == nil || slices.Contains(s.Tied, p.B) {
			continue
		}
		behind = append(behind, fmt.Sprintf("%s by %s", label(p.B), p.gap()))
		if worst == nil || p.Adjusted > worst.Adjusted {
			worst = p
		}
	}
	switch {
	case len(s.Tied) == 0 && len(behind) > 0:
		out = append(out, fmt.Sprintf("%s is the best %s here. It beats %s.", best, tab.compared(), join(behind)))
	case len(behind) == 0:
		names := []string{best}
		for _, c := range s.Tied {
			names = append(names, label(c))
		}
		out = append(out, fmt.Sprintf("No %s is shown to be better: %s are tied.", tab.compared(), join(names)))
	default:
		names := []string{best}
		for _, c := range s.Tied {
			names = append(names, label(c))
		}
		out = append(out, fmt.Sprintf("%s are tied for the best. %s beats %s.", join(names), best, join(behind)))
	}
	if worst != nil {
		what, corrected := "That difference is", ""
		if len(s.Pairs) > 1 {
			corrected = fmt.Sprintf(", corrected for %d pairs", len(s.Pairs))
		}
		if len(behind) > 1 {
			what = "Each of these differences is"
		}
		out = append(out, fmt.Sprintf("%s unlikely to be chance (p %s%s).", what, pText(worst.Adjusted), corrected))
	}
	for i := range s.Pairs {
		if p := s.Pairs[i].from(s.Best); p != nil && slices.Contains(s.Tied, p.B) {
			if other := label(p.B); points(p.Difference) == points(0) {
				out = append(out, fmt.Sprintf("%s and %s pass alike (95 %% interval %s to %s).", best, other, signed(p.Interval.Low), signed(p.Interval.High)))
			} else {
				out = append(out, fmt.Sprintf("%s passes %s more than %s, which may be chance.", best, p.gap(), other))
			}
		}
	}
	if len(s.Apart) > 0 {
		var names []string
		for _, c := range s.Apart {
			names = append(names, label(c))
		}
		out = append(out, fmt.Sprintf("Not compared with %s, for too few judged scenarios in common: %s.", best, join(names)))
	}
	switch low, high, pairs := s.detectable(); {
	case pairs == 0:
	case signed(low) == signed(high):
		out = append(out, fmt.Sprintf("This suite finds a difference of %s or more four times in five.", points(low)))
	default:
		out = append(out, fmt.Sprintf("This suite finds a difference four times in five from %s to %s on, depending on the pair.",
			strings.TrimPrefix(signed(low), "+"), points(high)))
	}
	return out
}

func (s *standing) alone(tab *table, name string) []string {
	r := s.Rates[0]
	if r.Err != nil {
		return []string{fmt.Sprintf("%s passed %s of the judged trials; for an interval there are too few data.", name, tab.Total.Rate())}
	}
	return []string{fmt.Sprintf("%s passes %s of such scenarios, with 95 %% confidence between %s and %s.",
		name, prose.Rate(r.Value), prose.Rate(r.Interval.Low), prose.Rate(r.Interval.High))}
}

// detectable is the least and the greatest minimum detectable effect of a pair,
// and how many pairs have one.
func (s *standing) detectable() (low, high float64, pairs int) {
	for _, p := range s.Pairs {
		if p.MDE <= 0 {
			continue
		}
		if pairs++; pairs == 1 || p.MDE < low {
			low = p.MDE
		}
		high = max(high, p.MDE)
	}
	return low, high, pairs
}

// from is the pair seen from a column, which comes first in it; nil when the
// column is not in it.
func (p pair) from(c int) *pair {
	switch c {
	case p.A:
		return &p
	case p.B:
		p.A, p.B = p.B, p.A
		p.RateA, p.RateB, p.BetterA, p.BetterB = p.RateB, p.RateA, p.BetterB, p.BetterA
		p.Difference = -p.Difference
		p.Interval.Low, p.Interval.High = -p.Interval.High, -p.Interval.Low
		return &p
	}
	return nil
}

// gap is a difference with its interval in words.
func (p *pair) gap() string {
	return fmt.Sprintf("%s (95 %% interval %s to %s)", points(p.Difference), signed(p.Interval.Low), signed(p.Interval.High))
}

// points is a difference of shares in points of a hundred.
func points(d float64) string {
	return strings.TrimPrefix(signed(d), "+") + " points"
}

// signed is a difference in points, with its sign.
func signed(d float64) string {
	s := fmt.Sprintf("%+.1f", 100*d)
	if s == "-0.0" || s == "+0.0" {
		return "0.0"
	}
	return strings.Replace(s, "-", "−", 1)
}

// pText is a p-value as it stands in a sentence.
func pText(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("= %.3f", p)
}

// join lists names in a sentence.
func join(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// quantile is a quantile of durations by the nearest rank: one that was
// measured.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.SortedFunc(slices.Values(d), cmp.Compare[time.Duration])
	return d[min(len(d)-1, max(0, int(math.Ceil(q*float64(len(d))))-1))]
}

// plain is a label as it is.
func plain(label string) string { return label }
