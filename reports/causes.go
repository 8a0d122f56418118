// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

type (
	causesView struct {
		Columns []string
		Kinds   []kindView
		First   []causeView
		Rarer   []causeView // causes that one has to ask for
	}
	// kindView counts one kind of cause by model.
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
		Text   textView
		Pos    string
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

// causes groups failing trials by what was wrong, the most frequent first, and
// counts the kinds by model.
func (b *pageBuilder) causes() causesView {
	type key struct{ kind, message, pos string }
	var order []key
	groups := map[key]*causeView{}
	var v causesView
	kinds := map[string]*kindView{}
	for _, c := range b.tab.Columns {
		v.Columns = append(v.Columns, c.Label)
	}
	for t := range b.tab.trials() {
		if !failing(t.Trial) {
			continue
		}
		cause := cmp.Or(t.Cause, &trials.Cause{Kind: "unknown", Message: "no cause was recorded"})
		word := causeWord(cause.Kind)
		kind := kinds[word]
		if kind == nil {
			kind = &kindView{Kind: word, Cells: make([]countView, len(b.tab.Columns))}
			for c, label := range v.Columns {
				kind.Cells[c].Column = label
			}
			kinds[word] = kind
		}
		kind.Total++
		kind.Cells[t.col].N++
		k := key{string(cause.Kind), cause.Message, cause.Pos.String()}
		g := groups[k]
		if g == nil {
			g = &causeView{Kind: word, Text: b.text(cause.Message), Pos: oneLine(k.pos, 400)}
			groups[k] = g
			order = append(order, k)
		}
		if len(g.Trials) == maxCauseLinks {
			g.More++
			continue
		}
		g.Trials = append(g.Trials, linkView{t.id, t.label(80), outcomeOf(t.Outcome)})
	}
	for _, k := range kinds {
		v.Kinds = append(v.Kinds, *k)
	}
	slices.SortFunc(v.Kinds, func(a, b kindView) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Kind, b.Kind)) })
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

// causeWord says who is to blame, for a person.
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
