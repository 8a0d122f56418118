// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

type (
	// overviewView is the first view: which model is better, by how much, and
	// whether that is real.
	overviewView struct {
		Verdict []string
		Plot    *plotView
		Columns []columnView
		K       int // of pass^k; 0 where it is not shown
		Said    bool
		Ranked  bool // where columns stand among each other
		Cost    bool
		Notes   []textView
	}
	columnView struct {
		ID, Label string
		Rate      string // by scenario where there is an interval, else by trial
		Share     string // of the trials, where Rate is by scenario
		Tally     tally
		Bar       []barView
		Interval  string
		Place     string // best, tied with the best, or how far behind
		PlaceIcon string
		Hat       string
		Median    string
		P95       string
		N         string
		Cost      string
	}
)

func (b *pageBuilder) overview(s *standing) overviewView {
	v := overviewView{Verdict: s.verdict(b.tab, plain), Said: s.Said, Ranked: s.Said && b.diff == nil}
	if s.K > 1 {
		v.K = s.K
	}
	for _, n := range s.Notes {
		v.Notes = append(v.Notes, b.text(n))
	}
	var rows []interval
	for c, col := range b.tab.Columns {
		r := s.Rates[c]
		cv := columnView{
			ID: fmt.Sprintf("model-%d", c+1), Label: col.Label, Tally: col.Tally, Bar: bar(col.Tally), Interval: "–", Hat: "–",
			Median: durationText(quantile(col.Tally.durations, 0.5)), P95: durationText(quantile(col.Tally.durations, 0.95)),
			N: fmt.Sprintf("%s, %s", prose.Count(b.scenariosOf(c), "scenario"), prose.Count(col.Tally.Trials(), "trial")),
		}
		cv.Rate = col.Tally.Rate()
		if s.Said && r.Err == nil {
			cv.Rate, cv.Share = prose.Rate(r.Value), cv.Rate
		}
		if len(col.Tally.durations) == 0 {
			cv.Median, cv.P95 = "–", "–"
		}
		if r.Err == nil {
			cv.Interval = fmt.Sprintf("%s to %s", prose.Rate(r.Interval.Low), prose.Rate(r.Interval.High))
			rows = append(rows, interval{
				Label: fmt.Sprintf("%s: %s, n = %s", col.Label, prose.Rate(r.Value), prose.Count(r.Scenarios, "scenario")),
				Value: 100 * r.Value, Low: 100 * r.Interval.Low, High: 100 * r.Interval.High,
				Best: c == s.Best || slices.Contains(s.Tied, c),
			})
		}
		cv.Cost = col.Tally.money(col.Tally.Cost)
		v.Cost = v.Cost || col.Tally.Priced > 0
		if r.Hat != nil {
			cv.Hat = prose.Rate(r.Hat.Value)
		}
		cv.Place, cv.PlaceIcon = s.place(c)
		v.Columns = append(v.Columns, cv)
	}
	if s.Said {
		v.Plot = intervalPlot("Pass rates with 95 % intervals; the table below has the numbers", rows, axis{Label: "pass rate, %, with 95 % interval", Min: 0, Max: 100})
	}
	return v
}

// scenariosOf counts the scenarios that a column has played.
func (b *pageBuilder) scenariosOf(c int) int {
	n := 0
	for _, s := range b.tab.Scenarios {
		if len(s.Cells[c]) > 0 {
			n++
		}
	}
	return n
}

// place says where a column stands, without ranks.
func (s *standing) place(c int) (words, icon string) {
	switch {
	case s.Best < 0:
		return "", ""
	case c == s.Best && len(s.Tied) == 0:
		return "best", "passed"
	case c == s.Best || slices.Contains(s.Tied, c):
		return "tied with best", "passed"
	}
	for i := range s.Pairs {
		if p := s.Pairs[i].from(s.Best); p != nil && p.B == c {
			return points(p.Difference) + " behind", "skipped"
		}
	}
	return "not compared", "undecided"
}

type (
	pairsView struct {
		Plot  *plotView
		Rows  []pairView
		Notes []textView
	}
	// pairView is two columns compared, the better first.
	pairView struct {
		A, B, Verdict, Class       string
		Difference, Interval, P    string
		RateA, RateB               string
		BetterA, BetterB, Equal, N int
		MDE, Method                string
		FlipsA, FlipsB             []flipView
		Warnings                   []string
	}
	// flipView is a scenario in which one of two columns passed more often.
	flipView struct {
		ID, Name, RateA, RateB string
		LinkA, LinkB           string // to the trials that explain it
		Gap                    float64
		row                    int
	}
)

// pairs is the third view: each model against each other one.
func (b *pageBuilder) pairs(s *standing) pairsView {
	var v pairsView
	var rows []interval
	for _, p := range s.Pairs {
		if p.Difference < 0 {
			p = *p.from(p.B)
		}
		v.Rows = append(v.Rows, b.pair(p, nil, &rows))
	}
	v.Plot = intervalPlot("Differences of pass rates with 95 % intervals; the table below has the numbers", rows, differenceAxis(rows, "95 %"))
	return v
}

// differenceAxis has its 0 in it.
func differenceAxis(rows []interval, level string) axis {
	a := axis{Label: "difference of pass rates, points, with " + level + " interval", Marked: true, Min: -1, Max: 1}
	for _, r := range rows {
		a.Min, a.Max = min(a.Min, r.Low), max(a.Max, r.High)
	}
	a.Min, a.Max = max(-100, a.Min-2), min(100, a.Max+2)
	return a
}

// pair shows two columns compared. The rows in skip were not compared.
func (b *pageBuilder) pair(p pair, skip map[int]bool, rows *[]interval) pairView {
	v := pairView{
		A: b.tab.Columns[p.A].Label, B: b.tab.Columns[p.B].Label, Difference: signed(p.Difference),
		Interval: signed(p.Interval.Low) + " to " + signed(p.Interval.High), P: strings.TrimPrefix(pText(p.Adjusted), "= "),
		RateA: prose.Rate(p.RateA), RateB: prose.Rate(p.RateB),
		BetterA: p.BetterA, BetterB: p.BetterB, Equal: p.Equal, N: p.Comparison.Scenarios,
		Method:  string(p.Method),
		Verdict: "tied: not shown to differ", Class: "skipped",
	}
	if p.Different {
		v.Verdict, v.Class = "different: "+v.A+" is better", "passed"
	}
	for _, w := range p.Warnings {
		v.Warnings = append(v.Warnings, sentence(w))
	}
	if p.MDE > 0 {
		v.MDE = points(p.MDE)
	}
	for i, s := range b.tab.Scenarios {
		f, ok := b.flip(i, s, p)
		switch {
		case !ok || skip[i]:
		case f.Gap > 0:
			v.FlipsA = append(v.FlipsA, f)
		default:
			v.FlipsB = append(v.FlipsB, f)
		}
	}
	for _, list := range [][]flipView{v.FlipsA, v.FlipsB} {
		slices.SortStableFunc(list, func(a, b flipView) int { return compareAbs(b.Gap, a.Gap) })
	}
	*rows = append(*rows, interval{
		Label: fmt.Sprintf("%s − %s: %s, n = %d", v.A, v.B, v.Difference, v.N),
		Value: 100 * p.Difference, Low: 100 * p.Interval.Low, High: 100 * p.Interval.High, Best: p.Different,
	})
	return v
}

// sentence makes one of a warning, which has no capital and no full stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:] + "."
}

func compareAbs(a, b float64) int {
	a, b = max(a, -a), max(b, -b)
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// flip is a scenario where two columns pass at different rates.
func (b *pageBuilder) flip(i int, s *scenario, p pair) (flipView, bool) {
	ya, yb := tallyOf(s.Cells[p.A]), tallyOf(s.Cells[p.B])
	if ya.Judged() == 0 || yb.Judged() == 0 || ya.Passed*yb.Judged() == yb.Passed*ya.Judged() {
		return flipView{}, false
	}
	f := flipView{
		ID: scenarioID(i), Name: oneLine(s.Name(), 200), row: i,
		RateA: fmt.Sprintf("%d/%d", ya.Passed, ya.Judged()), RateB: fmt.Sprintf("%d/%d", yb.Passed, yb.Judged()),
		Gap: float64(ya.Passed)/float64(ya.Judged()) - float64(yb.Passed)/float64(yb.Judged()),
	}
	f.LinkA, f.LinkB = b.telling(i, p.A, f.Gap < 0), b.telling(i, p.B, f.Gap > 0)
	return f, true
}

// telling is the id of the trial of a cell that tells most: the first that
// failed, or the first that passed.
func (b *pageBuilder) telling(i, c int, failed bool) string {
	for n, t := range b.tab.Scenarios[i].Cells[c] {
		if failing(t) == failed && t.Outcome != "skipped" {
			return trialID(i, c, n)
		}
	}
	return trialID(i, c, 0)
}

func tallyOf(cell []*Trial) tally {
	var y tally
	for _, t := range cell {
		y.add(t)
	}
	return y
}
