// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

type (
	// costView is what the models took.
	costView struct {
		Plot    *plotView
		Groups  []costGroup
		Prices  []string // what was reckoned with
		Dearest []dearView
	}
	// costGroup is a table of its own: money and tokens, or times.
	costGroup struct {
		Name  string
		Heads []string
		Rows  []costRow
	}
	costRow struct {
		Label string
		Cells []costCell
	}
	costCell struct{ Head, Value string }
	// dearView is a scenario that takes much.
	dearView struct {
		ID, Name, Cost, Tokens, Time string
	}
)

// maxDear is how many scenarios are listed by what they take.
const maxDear = 8

func (b *pageBuilder) costs(s *standing) costView {
	var v costView
	tokens := costGroup{Name: "Tokens and cost", Heads: []string{"Cost", "a trial", "Tokens in", "cached", "cache written", "Tokens out", "reasoning", "Tokens of a trial"}}
	times := costGroup{Name: "Time", Heads: []string{"Trial p50", "Trial p95", "First token p50", "First token p95", "Model call p50", "Model call p95", "Model calls", "Retries", "Tool calls"}}
	for _, col := range b.tab.Columns {
		y := &col.Tally
		each := unknownUse
		if n := y.counted(); n > 0 || y.Uncounted == 0 {
			each = thousands(y.Usage.Total() / max(1, n))
		}
		tokens.add(col.Label, y.money(y.Cost), y.mean(), y.tokens(y.Usage.Prompt()), y.tokens(y.Usage.Cached),
			y.tokens(y.Usage.CacheWrite), y.tokens(y.Usage.Output), y.tokens(y.Usage.Reasoning), each)
		times.add(col.Label, quantileText(y.durations, 0.5), quantileText(y.durations, 0.95), quantileText(y.ttft, 0.5), quantileText(y.ttft, 0.95),
			quantileText(y.latency, 0.5), quantileText(y.latency, 0.95), fmt.Sprint(y.ModelCalls), fmt.Sprint(y.Retries), fmt.Sprint(y.ToolCalls))
	}
	if len(b.tab.Columns) > 0 {
		v.Groups = []costGroup{tokens, times}
	}
	v.Plot = b.costPlot(s)
	for _, m := range b.run.Manifest.Models {
		if m.Price == nil {
			continue
		}
		text := fmt.Sprintf("%s: %g dollars for a million tokens in, %g for a million out", oneLine(m.Label, 120), m.Price.Input, m.Price.Output)
		if m.Price.Cached != nil {
			text += fmt.Sprintf(", %g for cached ones", *m.Price.Cached)
		}
		if m.Price.Date != "" {
			text += ", price of " + oneLine(m.Price.Date, 20)
		}
		v.Prices = append(v.Prices, text)
	}
	v.Dearest = b.dearest()
	return v
}

func (g *costGroup) add(label string, values ...string) {
	row := costRow{Label: label}
	for i, value := range values {
		row.Cells = append(row.Cells, costCell{g.Heads[i], value})
	}
	g.Rows = append(g.Rows, row)
}

// money is an amount in dollars, and a dash where nothing has a price.
func (y *tally) money(d float64) string {
	switch {
	case y.Priced == 0 && y.Uncounted > 0:
		return unknownUse
	case y.Priced == 0:
		return "–"
	case y.Priced < y.Trials()-y.Skipped:
		return "at least " + dollars(d)
	}
	return dollars(d)
}

// mean is the cost of a trial that has one.
func (y *tally) mean() string {
	if y.Priced == 0 {
		return y.money(0)
	}
	return dollars(y.Cost / float64(y.Priced))
}

// dollars has two digits that count, and cents at least.
func dollars(d float64) string {
	switch {
	case d == 0:
		return "$0"
	case d < 0.0001:
		return fmt.Sprintf("$%.1g", d)
	case d < 0.01:
		return fmt.Sprintf("$%.4f", d)
	case d < 1:
		return fmt.Sprintf("$%.3f", d)
	default:
		return fmt.Sprintf("$%.2f", d)
	}
}

func quantileText(d []time.Duration, q float64) string {
	if len(d) == 0 {
		return "–"
	}
	return durationText(quantile(d, q))
}

// costPlot shows quality over what a trial costs: in dollars where all models
// have a price, else in tokens.
func (b *pageBuilder) costPlot(s *standing) *plotView {
	priced := true
	for _, col := range b.tab.Columns {
		priced = priced && col.Tally.Priced > 0
	}
	x := axis{Label: "tokens of a trial (mean)"}
	if priced {
		x.Label = "dollars of a trial (mean)"
	}
	var spots []spot
	for c, col := range b.tab.Columns {
		y := col.Tally
		r := s.Rates[c]
		at := float64(y.Usage.Total()) / float64(max(1, y.counted()))
		took := thousands(int(at)) + " tokens"
		if priced {
			at = y.Cost / float64(y.Priced)
			took = dollars(at)
		}
		if r.Err != nil || at == 0 {
			continue
		}
		x.Max = max(x.Max, at*1.15)
		spots = append(spots, spot{
			Label: fmt.Sprintf("%s: %s, %s", col.Label, prose.Rate(r.Value), took), X: at, Value: 100 * r.Value, Low: 100 * r.Interval.Low, High: 100 * r.Interval.High,
			Best: c == s.Best || slices.Contains(s.Tied, c),
		})
	}
	if len(spots) < 2 {
		return nil
	}
	return spotPlot("Pass rate of each model over what a trial costs, with 95 % intervals; the tables have the numbers", spots, x, axis{Label: "pass rate, %", Max: 100})
}

// dearest are the scenarios that cost the most: money, tokens, or time.
func (b *pageBuilder) dearest() []dearView {
	type entry struct {
		i    int
		y    *tally
		took time.Duration
	}
	var list []entry
	for i, s := range b.tab.Scenarios {
		e := entry{i: i, y: &s.Tally}
		for _, d := range s.Tally.durations {
			e.took += d
		}
		if e.took > 0 {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.y.Cost, a.y.Cost), cmp.Compare(b.y.Usage.Total(), a.y.Usage.Total()), cmp.Compare(b.took, a.took))
	})
	var out []dearView
	for _, e := range list[:min(len(list), maxDear)] {
		s := b.tab.Scenarios[e.i]
		out = append(out, dearView{scenarioID(e.i), oneLine(s.Name(), 200), e.y.money(e.y.Cost), e.y.Tokens(), durationText(e.took)})
	}
	return out
}
