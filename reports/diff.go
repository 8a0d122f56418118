// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

// Diff is two runs held against each other, as `rehearse compare` does.
type Diff struct {
	// A and B are the run before and the run after, from [Load].
	A, B     *Run
	Estimand stats.Estimand
	// Level of the intervals. Default 0.95.
	Level float64
	// Models that are in both, in the order in which they are shown.
	Models []DiffModel
	// Changed scenarios are in both runs, and not the same there. They are shown
	// and not compared.
	Changed []ChangedScenario
	// LeftOut says of models that are in one run alone which they are.
	LeftOut []string
}

// DiffModel is one model in both runs.
type DiffModel struct {
	Name string
	// A and B are its columns in the two runs.
	A, B trials.Column
	// Comparison of B with A: its difference is the rate in B less that in A.
	stats.Comparison
	// Err says why there is no comparison.
	Err error
}

// ChangedScenario is a scenario whose definition is not the same in two runs.
type ChangedScenario struct {
	Suite, Scenario, Case string
	// Parts are what changed: its definition, its expectations, its tools.
	Parts []string
}

// side is the run of a [Diff] that a trial is of.
type side int

const (
	alone side = iota // of no diff
	sideA
	sideB
)

// names are what a page calls the two runs: their folders where these are short
// enough for the head of a column.
func (d *Diff) names() (names [sideB + 1]string) {
	const most = 16
	names[sideA], names[sideB] = folder(d.A), folder(d.B)
	if names[sideA] == names[sideB] || min(len(names[sideA]), len(names[sideB])) == 0 || max(len(names[sideA]), len(names[sideB])) > most {
		names[sideA], names[sideB] = "baseline", "candidate"
	}
	return names
}

// folder is the name of the folder of a run; empty for a run that was joined.
func folder(r *Run) string {
	if r.Dir == "" {
		return ""
	}
	dir := r.Dir
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // "." has no name
	}
	return oneLine(filepath.Base(dir), 120)
}

// DiffHTML writes two runs as one page, like that of [HTML]: what changed, then
// the views of both runs beside each other. A title of the options heads it.
func DiffHTML(w io.Writer, d *Diff, opts *HTMLOptions) error {
	run := d.both()
	return page(w, run, arrange(run), d, opts)
}

// both is the trials of both runs as one, each with its side.
func (d *Diff) both() *Run {
	run := &Run{Manifest: d.B.Manifest, sides: d.names()}
	m, before := &run.Manifest, d.A.Manifest
	m.Name = "Comparison of two runs"
	if m.Mode != before.Mode {
		m.Mode = ""
	}
	m.Warnings, m.Interrupted, m.Rules, m.Thresholds = nil, false, nil, nil
	m.Models, m.Scenarios, m.Variants = slices.Clone(before.Models), nil, slices.Clone(before.Variants)
	for _, x := range d.B.Manifest.Models {
		if !slices.ContainsFunc(m.Models, func(o trials.Model) bool { return o.Label == x.Label }) {
			m.Models = append(m.Models, x)
		}
	}
	for _, v := range d.B.Manifest.Variants {
		if !slices.Contains(m.Variants, v) {
			m.Variants = append(m.Variants, v)
		}
	}
	for _, s := range slices.Concat(before.Scenarios, d.B.Manifest.Scenarios) {
		s.Pass = nil // the rules of one run do not judge two
		m.Scenarios = append(m.Scenarios, s)
	}
	for _, part := range []struct {
		run  *Run
		side side
	}{{d.A, sideA}, {d.B, sideB}} {
		for _, t := range part.run.Trials {
			t.side = part.side
			run.Trials = append(run.Trials, t)
		}
		if p := part.run.Manifest; p.Interrupted {
			run.Warnings = append(run.Warnings, fmt.Sprintf("%s: interrupted: %d of %s planned ended", run.sides[part.side], len(part.run.Trials), prose.Count(p.Planned, "trial")))
		}
		for _, text := range slices.Concat(part.run.Manifest.Warnings, part.run.Warnings) {
			run.Warnings = append(run.Warnings, run.sides[part.side]+": "+text)
		}
	}
	return run
}

// maxChangedLinks is how many trials a cause that changed lists.
const maxChangedLinks = 4

type (
	// diffView is what changed between two runs.
	diffView struct {
		A, B     string // the runs
		NameA    string // what they are called
		NameB    string
		Verdicts []diffVerdict
		Counts   string // of scenarios; empty where the models have theirs
		Estimand string
		Level    string // of the intervals, such as 95 %
		Plot     *plotView
		Models   []diffModelView
		Causes   []changedCause
		Rarer    []changedCause
		NA, NB   int // failing trials
		Changed  []changedView
		Added    []goldRow
		Removed  []goldRow
		LeftOut  []string
	}
	diffVerdict struct {
		Class, Words string
		More         bool // what changed stands above it
	}
	// diffModelView is a model in both runs; its A is run B, since what is shown
	// is the gain.
	diffModelView struct {
		pairView
		Name, Err string
		Open      bool
	}
	// changedCause is a cause that fails more or fewer trials than it did.
	changedCause struct {
		causeView
		Word   string // new, gone, more, fewer
		NA, NB int
	}
	changedView struct {
		goldRow
		Parts string
	}
)

// runName is how a page calls a run of a diff.
func runName(r *Run) string {
	name := oneLine(cmp.Or(r.Manifest.Name, "a run"), 120)
	if dir := folder(r); dir != "" && dir != name {
		name += " (" + dir + ")"
	}
	if !r.Manifest.Started.IsZero() {
		name += ", " + r.Manifest.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	return name
}

// diffView is nil where there is no diff.
func (b *pageBuilder) diffView() *diffView {
	if b.diff == nil {
		return nil
	}
	d := b.diff
	names := d.names()
	v := &diffView{A: runName(d.A), B: runName(d.B), NameA: names[sideA], NameB: names[sideB], Estimand: string(d.Estimand), Level: fmt.Sprintf("%g %%", 100*cmp.Or(d.Level, 0.95))}
	changed := b.changedRows(v)
	var rows []interval
	worse, better := map[int]bool{}, map[int]bool{}
	// What changed comes first, and of that what became worse.
	models := slices.SortedStableFunc(slices.Values(d.Models), func(a, b DiffModel) int { return cmp.Compare(a.weight(), b.weight()) })
	changes := len(models) > 0 && models[0].weight() < notCompared
	for _, m := range models {
		name := oneLine(m.Name, 120)
		if m.Err != nil {
			v.Models = append(v.Models, diffModelView{Name: name, Err: oneLine(m.Err.Error(), 300)})
			v.Verdicts = append(v.Verdicts, diffVerdict{"undecided", name + " cannot be compared: " + oneLine(m.Err.Error(), 300) + ".", changes})
			continue
		}
		p := pair{m.Comparison, b.tab.columnIn(m.B, sideB), b.tab.columnIn(m.A, sideA)}
		if min(p.A, p.B) < 0 {
			continue // the diff was put together by hand, of other runs
		}
		mv := diffModelView{pairView: b.pair(p, changed, &rows), Name: name, Open: m.Different || len(models) == 1}
		mv.Verdict, mv.Class = gainWords(m.Comparison)
		rows[len(rows)-1].Label = fmt.Sprintf("%s: %s, n = %s", name, mv.Difference, prose.Count(mv.N, "scenario"))
		v.Models = append(v.Models, mv)
		chance := "which may be chance"
		if m.Different {
			chance = "unlikely to be chance (p " + pText(m.Adjusted) + ")"
		}
		v.Verdicts = append(v.Verdicts, diffVerdict{mv.Class, fmt.Sprintf("%s is %s: %s in %s, %s in %s, a difference of %s points (%s interval %s), %s.",
			name, mv.Verdict, mv.RateB, v.NameA, mv.RateA, v.NameB, mv.Difference, v.Level, mv.Interval, chance), changes && !m.Different})
		for _, f := range mv.FlipsA {
			better[f.row] = true
		}
		for _, f := range mv.FlipsB {
			worse[f.row] = true
		}
	}
	v.Plot = intervalPlot(fmt.Sprintf("Differences of pass rates, %s − %s, with intervals; the table below has the numbers", v.NameB, v.NameA), rows, differenceAxis(rows, v.Level))
	var parts []string
	if len(v.Models) == 1 { // a scenario can be in both numbers where there are more
		parts = append(parts, prose.Count(len(worse), "scenario")+" passed less often", fmt.Sprintf("%d more often", len(better)))
	}
	for _, more := range []struct {
		n    int
		word string
	}{{len(v.Changed), "changed and not compared"}, {len(v.Added), "new"}, {len(v.Removed), "removed"}} {
		switch {
		case more.n == 0:
		case len(parts) == 0:
			parts = append(parts, prose.Count(more.n, "scenario")+" "+more.word)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", more.n, more.word))
		}
	}
	if len(parts) > 0 {
		v.Counts = strings.Join(parts, ", ") + "."
	}
	b.changedCauses(v)
	for _, line := range d.LeftOut {
		v.LeftOut = append(v.LeftOut, oneLine(line, 300))
	}
	return v
}

// notCompared is the weight of a model of which nothing can be said. What changed
// weighs less, and stands above it.
const notCompared = 2

// weight orders models by how much they need to be looked at.
func (m *DiffModel) weight() int {
	switch {
	case m.Err != nil:
		return notCompared
	case !m.Different:
		return notCompared + 1
	case m.Difference < 0:
		return 0
	}
	return 1
}

// gainWords says whether a model has become better, and how that is marked.
func gainWords(c stats.Comparison) (words, class string) {
	switch {
	case !c.Different:
		return "not shown to have changed", "skipped"
	case c.Difference > 0:
		return "better", "passed"
	default:
		return "worse", "failed"
	}
}

// columnIn finds the column of a model in one run; -1 where there is none.
func (tab *table) columnIn(c trials.Column, of side) int {
	key := keyOf(c)
	key.side = of
	return slices.IndexFunc(tab.Columns, func(c *column) bool { return c.key == key })
}

// changedRows finds the scenarios that are not the same in both runs, and
// returns those that are in both.
func (b *pageBuilder) changedRows(v *diffView) map[int]bool {
	parts := map[scenarioKey][]string{}
	for _, c := range b.diff.Changed {
		parts[scenarioKey{c.Suite, c.Scenario, c.Case}] = c.Parts
	}
	out := map[int]bool{}
	for i, s := range b.tab.Scenarios {
		var in [sideB + 1]bool
		for c, cell := range s.Cells {
			in[b.tab.Columns[c].key.side] = in[b.tab.Columns[c].key.side] || len(cell) > 0
		}
		row := goldRow{scenarioID(i), oneLine(s.Name(), 200), s.Tally.Words()}
		what, changed := parts[scenarioKey{s.Suite, s.Scenario, s.Case}]
		switch {
		case in[sideA] && !in[sideB]:
			v.Removed = append(v.Removed, row)
		case in[sideB] && !in[sideA]:
			v.Added = append(v.Added, row)
		case changed:
			out[i] = true
			v.Changed = append(v.Changed, changedView{row, oneLine(prose.And(what), 200)})
		}
	}
	return out
}

// changedCauses counts each cause in both runs, and keeps those that fail more
// or fewer trials, the largest change first.
func (b *pageBuilder) changedCauses(v *diffView) {
	// Without the place: a line that moved is no other cause.
	type key struct{ kind, message string }
	var order []key
	type group struct {
		changedCause
		a, b []place // the trials of both runs
	}
	groups := map[key]*group{}
	for t := range b.tab.trials() {
		if !failing(t.Trial) {
			continue
		}
		cause := causeOf(t.Trial)
		k := key{string(cause.Kind), cause.Text()}
		g := groups[k]
		if g == nil {
			g = &group{}
			g.causeView = causeView{Kind: causeWord(cause.Kind), Blame: blameWord(blameOf(t.Trial)), Text: b.text(cause.Text())}
			groups[k] = g
			order = append(order, k)
		}
		if t.side == sideA {
			g.a = append(g.a, t)
		} else {
			g.b = append(g.b, t)
		}
	}
	for _, k := range order {
		g := groups[k]
		g.NA, g.NB = len(g.a), len(g.b)
		v.NA, v.NB = v.NA+g.NA, v.NB+g.NB
		// The trials of the run that has more of it explain it.
		list := g.b
		switch {
		case g.NA == g.NB:
			continue
		case g.NA == 0:
			g.Word = "new"
		case g.NB == 0:
			g.Word, list = "gone", g.a
		case g.NB > g.NA:
			g.Word = "more"
		default:
			g.Word, list = "fewer", g.a
		}
		for _, t := range list[:min(len(list), maxChangedLinks)] {
			g.Trials = append(g.Trials, linkView{ID: t.id, Label: t.label(80), Outcome: outcomeOf(t.Outcome)})
		}
		g.More = len(list) - len(g.Trials)
		v.Causes = append(v.Causes, g.changedCause)
	}
	slices.SortStableFunc(v.Causes, func(x, y changedCause) int {
		return compareAbs(float64(y.NB-y.NA), float64(x.NB-x.NA))
	})
	if len(v.Causes) > maxCauses+1 {
		v.Causes, v.Rarer = v.Causes[:maxCauses], v.Causes[maxCauses:]
	}
}
