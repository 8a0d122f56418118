// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

type (
	// matrixView is the second view: scenarios down, models across.
	matrixView struct {
		Columns []headView
		Modes   []modeView
		Tags    []tagView
		Totals  []rateView
	}
	// headView heads a column; After are those of the later run of a diff.
	headView struct {
		Label string
		After bool
	}
	// modeView is a choice of rows; the style sheet hides the others.
	modeView struct {
		ID, Label string
		N         int
		Checked   bool
	}
	tagView struct {
		Name  string
		N     int
		Cells []rateView
	}
	rateView struct {
		Column string
		Rate   string
		Of     int
	}
	scenarioView struct {
		ID, Name, File, Description string
		Tags                        []string
		TagList                     string // for the script: one a line
		Critical, OK                bool
		Flaky                       bool
		Class                       string // what the row is, for modeView
		Words                       string
		Command                     string
		Cells                       []cellView
		Reasons                     []reasonView // where it failed in several ways
		Trials                      []*trialView
		Sides                       bool // there are two models to hold side by side
	}
	cellView struct {
		Column string
		After  bool   // of the later run of a diff
		Rate   string // of several attempts
		Ways   string // how many courses the attempts took
		Dots   []linkView
	}
	linkView struct {
		ID, Label string
		Outcome   outcomeView
		Why       string // a trial of the matrix failed
	}
	// reasonView is why the trials of a column failed, in a line.
	reasonView struct{ Column, Words string }
)

// maxTags is how many tags have subtotals.
const maxTags = 40

func (b *pageBuilder) matrix(rows []*scenarioView) matrixView {
	v := matrixView{Modes: []modeView{{ID: "all", Label: "All", N: len(rows), Checked: true}}}
	several := len(b.tab.Columns) > 1
	for _, m := range []modeView{
		{ID: "failing", Label: "Failing"}, {ID: "different", Label: "Only different"}, {ID: "flaky", Label: "Flaky"}, {ID: "errors", Label: "Errors"}, {ID: "changed", Label: "Changed"},
	} {
		for _, r := range rows {
			if strings.Contains(r.Class, "r-"+m.ID) {
				m.N++
			}
		}
		if (m.ID != "different" || several) && (m.ID != "changed" || b.diff != nil) {
			v.Modes = append(v.Modes, m)
		}
	}
	for _, c := range b.tab.Columns {
		v.Columns = append(v.Columns, headView{c.Label, c.key.side == sideB})
		v.Totals = append(v.Totals, rateView{c.Label, c.Tally.Rate(), c.Tally.Judged()})
	}
	v.Tags = b.tags()
	return v
}

// tags are the subtotals by tag, the most frequent tag first.
func (b *pageBuilder) tags() []tagView {
	type group struct {
		n     int
		cells []tally
	}
	groups := map[string]*group{}
	for _, s := range b.tab.Scenarios {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(s.Tags))) {
			g := groups[name]
			if g == nil {
				g = &group{cells: make([]tally, len(b.tab.Columns))}
				groups[name] = g
			}
			g.n++
			for c, cell := range s.Cells {
				for _, t := range cell {
					g.cells[c].add(t)
				}
			}
		}
	}
	var out []tagView
	for name, g := range groups {
		v := tagView{Name: oneLine(name, 60), N: g.n}
		for c, y := range g.cells {
			v.Cells = append(v.Cells, rateView{b.tab.Columns[c].Label, y.Rate(), y.Judged()})
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b tagView) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	return out[:min(len(out), maxTags)]
}

func (b *pageBuilder) scenario(i int, s *scenario) *scenarioView {
	v := &scenarioView{
		ID: scenarioID(i), Name: oneLine(s.Name(), 200), File: oneLine(s.File, 400),
		Description: oneLine(s.Description, 500), Critical: s.Critical,
		OK: s.Tally.Failed+s.Tally.Errors == 0, Words: s.Tally.Words(),
	}
	if s.Pos.Line > 0 {
		v.File += fmt.Sprintf(":%d", s.Pos.Line)
	}
	for _, tag := range s.Tags {
		v.Tags = append(v.Tags, oneLine(tag, 60))
	}
	v.TagList = strings.Join(v.Tags, "\n")
	played := 0
	differs := false
	var first *tally
	for c, cell := range s.Cells {
		y := tallyOf(cell)
		v.Cells = append(v.Cells, b.cell(i, c, cell, y))
		v.Flaky = v.Flaky || y.Flaky()
		if len(cell) > 0 {
			played++
		}
		if y.Judged() == 0 {
			continue
		}
		if first == nil {
			first = &y
		}
		differs = differs || y.Passed*first.Judged() != first.Passed*y.Judged()
	}
	v.Reasons = b.reasons(s)
	v.Sides = played > 1 || s.Tally.Trials() > 1
	for _, m := range []struct {
		is   bool
		name string
	}{{s.Tally.Failed > 0, "failing"}, {differs, "different"}, {v.Flaky, "flaky"}, {s.Tally.Errors > 0, "errors"}, {b.changed(s), "changed"}} {
		if m.is {
			v.Class = strings.TrimSpace(v.Class + " r-" + m.name)
		}
	}
	return v
}

func (b *pageBuilder) cell(i, c int, cell []*Trial, y tally) cellView {
	v := cellView{Column: b.tab.Columns[c].Label, After: b.tab.Columns[c].key.side == sideB}
	ways := map[string]bool{}
	for n, t := range cell {
		label := outcomeOf(t.Outcome).Word + ", " + durationText(t.Duration)
		if len(cell) > 1 {
			label = fmt.Sprintf("attempt %d: %s", t.Attempt, label)
		}
		dot := linkView{ID: trialID(i, c, n), Label: label, Outcome: outcomeOf(t.Outcome)}
		if failing(t) && t.Cause != nil {
			dot.Why = oneLine(t.Cause.Text(), maxReason)
		}
		v.Dots = append(v.Dots, dot)
		if course := b.seen[trialID(i, c, n)].course; course != "" && t.Outcome != harness.OutcomeError {
			ways[course] = true
		}
	}
	if len(cell) > 1 {
		v.Rate = fmt.Sprintf("%d/%d", y.Passed, y.Judged())
		if y.Judged() == 0 {
			v.Rate = "n/a"
		}
		if len(ways) > 1 {
			v.Ways = fmt.Sprintf("%d ways", len(ways))
		}
	}
	return v
}

// changed reports whether a model passed a scenario more or less often in one run
// of a diff than in the other.
func (b *pageBuilder) changed(s *scenario) bool {
	if b.diff == nil {
		return false
	}
	for _, m := range b.diff.Models {
		before, after := b.tab.columnIn(m.A, sideA), b.tab.columnIn(m.B, sideB)
		if before < 0 || after < 0 {
			continue
		}
		x, y := tallyOf(s.Cells[before]), tallyOf(s.Cells[after])
		if x.Judged() > 0 && y.Judged() > 0 && x.Passed*y.Judged() != y.Passed*x.Judged() {
			return true
		}
	}
	return false
}

// maxReason is how much of a cause stands in a list of them.
const maxReason = 80

// reasons are what a scenario failed for, by column and with the attempts, where
// that is not always the same.
func (b *pageBuilder) reasons(s *scenario) []reasonView {
	var out []reasonView
	all := map[string]bool{}
	for c, cell := range s.Cells {
		var order []string
		attempts, n := map[string][]string{}, 0
		for _, t := range cell {
			if t.Outcome != harness.OutcomeFailed {
				continue
			}
			n++
			why := oneLine(causeOf(t).Message, maxReason)
			if attempts[why] == nil {
				order = append(order, why)
			}
			attempts[why] = append(attempts[why], fmt.Sprintf("#%d", t.Attempt))
			all[why] = true
		}
		for i, why := range order {
			if len(cell) > 1 {
				order[i] += " (" + strings.Join(attempts[why], ", ") + ")"
			}
		}
		if n > 0 {
			out = append(out, reasonView{columnName(b.tab, c), fmt.Sprintf("%d failed: %s", n, strings.Join(order, "; "))})
		}
	}
	if len(all) < 2 {
		return nil
	}
	return out
}

type (
	goldView struct {
		Failed, Passed []goldRow
		Models         int
	}
	goldRow struct {
		ID, Name, Words string
	}
)

// gold finds scenarios that tell nothing of the models: all fail them, which may
// be the fault of what is expected, or all pass them.
func (b *pageBuilder) gold() goldView {
	v := goldView{Models: len(b.tab.Columns)}
	for i, s := range b.tab.Scenarios {
		passed, failed, errs := 0, 0, false
		for _, cell := range s.Cells {
			y := tallyOf(cell)
			errs = errs || y.Judged() == 0
			passed += y.Passed
			failed += y.Failed
		}
		row := goldRow{scenarioID(i), oneLine(s.Name(), 200), s.Tally.Words()}
		switch {
		case errs || passed+failed == 0:
		case passed == 0:
			v.Failed = append(v.Failed, row)
		case failed == 0:
			v.Passed = append(v.Passed, row)
		}
	}
	return v
}
