// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

type (
	causesView struct {
		Columns []string
		Blames  []blameView
		First   []causeView
		Rarer   []causeView // causes that one has to ask for
	}
	// blameView counts what is one party's doing by column, and of that each
	// kind of cause.
	blameView struct {
		kindView
		Kinds []kindView
	}
	kindView struct {
		Kind  string
		Total int
		Cells []countView
	}
	countView struct {
		Column string
		N      int
	}
	causeView struct {
		Kind   string
		Blame  string // whose doing it is
		Text   textView
		Pos    string
		Others int // other places of it
		Folded []textView
		Trials []linkView
		More   int
	}
)

// maxCauses is how many causes are shown at once, and maxCauseLinks how many
// trials one of them lists.
const (
	maxCauses     = 8
	maxCauseLinks = 12
)

// blameOf says whose doing it is that a trial failed; empty where nobody knows.
func blameOf(t *Trial) trials.Blame {
	if t.Cause == nil {
		return ""
	}
	cause := *t.Cause
	r := trials.Record{Key: t.Key, Cause: &cause}
	r.Attribute()
	return cause.Blame
}

func blameWord(b trials.Blame) string {
	return cmp.Or(oneLine(string(b), 40), "not recorded")
}

// newKind is a count for each column of nothing yet.
func newKind(tab *table, kind string) kindView {
	v := kindView{Kind: kind, Cells: make([]countView, len(tab.Columns))}
	for c, col := range tab.Columns {
		v.Cells[c].Column = col.Label
	}
	return v
}

func (v *kindView) add(column int) {
	v.Total++
	v.Cells[column].N++
}

// blames counts failing trials by whose doing it is, in the order of
// [trials.Blames], and within that by the kind of cause, the most frequent
// first.
func (tab *table) blames() []blameView {
	order := append(trials.Blames(), "")
	at := map[string]*blameView{}
	var out []*blameView
	for _, b := range order {
		v := &blameView{kindView: newKind(tab, blameWord(b))}
		at[v.Kind] = v
		out = append(out, v)
	}
	for t := range tab.trials() {
		if !failing(t.Trial) {
			continue
		}
		v := at[blameWord(blameOf(t.Trial))]
		if v == nil { // a party that a newer version knows
			v = at[blameWord("")]
		}
		v.add(t.col)
		kind := causeWord(causeOf(t.Trial).Kind)
		i := slices.IndexFunc(v.Kinds, func(k kindView) bool { return k.Kind == kind })
		if i < 0 {
			i = len(v.Kinds)
			v.Kinds = append(v.Kinds, newKind(tab, kind))
		}
		v.Kinds[i].add(t.col)
	}
	var shown []blameView
	for _, v := range out {
		if v.Total > 0 {
			slices.SortFunc(v.Kinds, func(a, b kindView) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Kind, b.Kind)) })
			shown = append(shown, *v)
		}
	}
	return shown
}

// causeOf is the cause of a failing trial, or that none was recorded.
func causeOf(t *Trial) *trials.Cause {
	return cmp.Or(t.Cause, &trials.Cause{Kind: "unknown", Message: "no cause was recorded"})
}

// several reports whether counts of causes tell more than the trials do.
func several(list []blameView) bool {
	n := 0
	for _, v := range list {
		n += v.Total
	}
	return n > 1
}

// blames prints whose doing it is that trials failed, a line for all.
func (p *textPrinter) blames(tab *table) {
	list := tab.blames()
	if !several(list) {
		return
	}
	var parts []string
	for _, v := range list {
		part := fmt.Sprintf("%s %d", v.Kind, v.Total)
		if len(v.Cells) > 1 {
			var by []string
			for _, c := range v.Cells {
				if c.N > 0 {
					by = append(by, fmt.Sprintf("%s %d", c.Column, c.N))
				}
			}
			part += " (" + strings.Join(by, ", ") + ")"
		}
		parts = append(parts, part)
	}
	p.line(0, "causes: %s", strings.Join(parts, "; "))
}

// mdBlames is the same as a table.
func mdBlames(b *bytes.Buffer, tab *table) {
	list := tab.blames()
	if !several(list) {
		return
	}
	b.WriteString("\n| cause | trials |")
	for _, c := range tab.Columns {
		fmt.Fprintf(b, " %s |", mdText(c.Label))
	}
	b.WriteString("\n| --- | ---: |" + strings.Repeat(" ---: |", len(tab.Columns)) + "\n")
	for _, v := range list {
		fmt.Fprintf(b, "| %s | %d |", v.Kind, v.Total)
		for _, c := range v.Cells {
			fmt.Fprintf(b, " %d |", c.N)
		}
		b.WriteString("\n")
	}
}

// causes groups failing trials by what was wrong, the most frequent first, and
// counts them by whose doing it is and by column.
func (b *pageBuilder) causes() causesView {
	// Without the place: what is expected of many scenarios fails alike in each.
	type key struct{ kind, message string }
	var order []key
	groups, places := map[key]*causeView{}, map[key]map[string]bool{}
	v := causesView{Blames: b.tab.blames()}
	for _, c := range b.tab.Columns {
		v.Columns = append(v.Columns, c.Label)
	}
	for t := range b.tab.trials() {
		if !failing(t.Trial) {
			continue
		}
		cause := causeOf(t.Trial)
		k := key{string(cause.Kind), cause.Text()}
		g := groups[k]
		if g == nil {
			g = &causeView{Kind: causeWord(cause.Kind), Blame: blameWord(blameOf(t.Trial)), Text: b.text(cause.Text()), Pos: oneLine(cause.Pos.String(), 400)}
			groups[k], places[k] = g, map[string]bool{}
			order = append(order, k)
		}
		places[k][cause.Pos.String()] = true
		g.Others = len(places[k]) - 1
		if len(g.Trials) == maxCauseLinks {
			g.More++
			continue
		}
		g.Trials = append(g.Trials, linkView{ID: t.id, Label: t.label(80), Outcome: outcomeOf(t.Outcome)})
	}
	for _, k := range order {
		v.First = append(v.First, *groups[k])
	}
	slices.SortStableFunc(v.First, func(a, b causeView) int {
		return cmp.Compare(len(b.Trials)+b.More, len(a.Trials)+a.More)
	})
	if len(v.First) > maxCauses+1 {
		v.First, v.Rarer = v.First[:maxCauses], v.First[maxCauses:]
	}
	return v
}

// causeWord names a kind of cause for a person.
func causeWord(k trials.CauseKind) string {
	switch k {
	case trials.CauseScenario:
		return "scenario error"
	case trials.CauseEndpoint:
		return "endpoint error"
	case trials.CauseRefusal:
		return "refused by the provider"
	case trials.CauseMiss:
		return "not scripted"
	case trials.CauseLimits:
		return "limit exceeded"
	case trials.CauseSubject:
		return "subject broke"
	case trials.CauseConduct:
		return "conduct"
	case trials.CauseExpectation:
		return "expectation"
	case trials.CauseJudge:
		return "could not be judged"
	default:
		return oneLine(string(k), 40)
	}
}
