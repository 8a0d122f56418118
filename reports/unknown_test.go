// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// measured is a run of models whose tokens have a price, and of which some trials
// have no tokens: a trial is a scenario, from 1, and its tokens.
func measured(models map[string][]int) *Run {
	run := &Run{Manifest: trials.Manifest{Schema: trials.Schema, Name: "priced", Mode: harness.ModeLive}}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		price := &trials.Price{Input: 1e6}
		run.Manifest.Models = append(run.Manifest.Models, trials.Model{Label: model, Name: model, Price: price})
		for i, tokens := range models[model] {
			t := trial(fmt.Sprintf("s%d", i), "a.yaml", 1, model, 1)
			t.Mode, t.Tokens, t.Cost = harness.ModeLive, trials.Tokens{Input: tokens}, price.Cost(trials.Tokens{Input: tokens})
			run.Trials = append(run.Trials, t)
		}
	}
	return run
}

// TestUnknownTokens: a model whose endpoint says nothing of its tokens does not
// look free in any report, and one that says it of some trials not cheap.
func TestUnknownTokens(t *testing.T) {
	run := measured(map[string][]int{"mute": {0, 0}, "partly": {3, 0}, "told": {3, 5}})
	rows, err := csv.NewReader(bytes.NewReader(write(t, "csv", run))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := csvColumns()
	cell := func(row []string, name string) string { return row[slices.Index(columns, name)] }
	for _, row := range rows[1:] {
		known := cell(row, "model") == "told" || cell(row, "model") == "partly" && cell(row, "scenario") == "s0"
		for _, name := range []string{"cost_usd", "tokens_input", "tokens_output", "tokens_cached"} {
			if got := cell(row, name); (got != "") != known {
				t.Errorf("%s %s: %s is %q, known: %v", cell(row, "model"), cell(row, "scenario"), name, got, known)
			}
		}
	}
	md := string(write(t, "md", run))
	for _, want := range []string{"<code>mute</code> | 100 % | 2 / 2 | 0 | 0 | unknown |", "<code>partly</code> | 100 % | 2 / 2 | 0 | 0 | at least 3 |", "<code>told</code> | 100 % | 2 / 2 | 0 | 0 | 8 |"} {
		if !strings.Contains(md, want) {
			t.Errorf("the summary lacks %q:\n%s", want, md)
		}
	}
	tab := arrange(run)
	for i, want := range []struct{ money, mean, tokens string }{
		{"unknown", "unknown", "unknown"}, {"at least $3.00", "$3.00", "at least 3"}, {"$8.00", "$4.00", "8"},
	} {
		y := &tab.Columns[i].Tally
		if y.money(y.Cost) != want.money || y.mean() != want.mean || y.Tokens() != want.tokens {
			t.Errorf("%s costs %s, %s a trial, of %s tokens; want %+v", tab.Columns[i].Label, y.money(y.Cost), y.mean(), y.Tokens(), want)
		}
	}
	page := string(write(t, "html", run))
	if strings.Contains(page, "$0<") || !strings.Contains(page, ">unknown<") || !strings.Contains(page, "unknown: the endpoint reports none") {
		t.Error("the page shows a cost of 0, or does not say that it is unknown")
	}
}

// unequal is a run of two models, of which the second has attempts that are errors.
func unequal() *Run {
	run := &Run{Manifest: trials.Manifest{Schema: trials.Schema, Name: "unequal", Mode: harness.ModeLive}}
	for model, rows := range map[string][]string{"strong": {"ppp", "ppp", "ppp", "ppp"}, "weak": {"fff", "pee", "ffp", "eee"}} {
		for i, attempts := range rows {
			for n, o := range attempts {
				t := trial(fmt.Sprintf("s%d", i), "a.yaml", 1, model, n+1)
				t.Mode = harness.ModeLive
				t.Outcome = map[rune]harness.Outcome{'p': harness.OutcomePassed, 'f': harness.OutcomeFailed, 'e': harness.OutcomeError}[o]
				run.Trials = append(run.Trials, t)
			}
		}
	}
	slices.SortFunc(run.Trials, func(a, b Trial) int { return strings.Compare(a.Model, b.Model) })
	return run
}

// TestUnequalAttemptsAreTold: where the sentences rest on other rates than the
// shares beside them, every report says so.
func TestUnequalAttemptsAreTold(t *testing.T) {
	for _, format := range []string{"txt", "md"} {
		// 2 of 7 trials of weak passed, and (0 + 1 + 1/3) / 3 of its scenarios.
		out := strings.NewReplacer("<code>", "", "</code>", "").Replace(string(write(t, format, unequal())))
		for _, want := range []string{
			"weak: the pass rate is 44.4 %, where each scenario weighs the same; 28.6 % of the trials passed, which differs since the scenarios have unequal numbers of judged attempts",
		} {
			if strings.Count(out, want) != 1 {
				t.Errorf("%s lacks %q:\n%s", format, want, out)
			}
		}
		if strings.Contains(out, "strong: the pass rate") {
			t.Errorf("%s warns of a model whose attempts are equal:\n%s", format, out)
		}
	}
	// A scenario that counts for one of them alone is in no comparison.
	run := unequal()
	for i := range run.Trials {
		if t := &run.Trials[i]; t.Model == "strong" && t.Scenario == "s3" {
			t.Outcome = harness.OutcomeFailed
		}
	}
	for _, format := range []string{"txt", "md"} {
		out := strings.NewReplacer("<code>", "", "</code>", "").Replace(string(write(t, format, run)))
		if want := "strong and weak are compared on 3 scenarios of which both have judged trials: there the pass rates are 100 % and 44.4 %"; strings.Count(out, want) != 1 {
			t.Errorf("%s lacks %q:\n%s", format, want, out)
		}
	}
}

// TestOneSpellingOfRates: 29 of 40 is the same figure in every report.
func TestOneSpellingOfRates(t *testing.T) {
	run := &Run{Manifest: trials.Manifest{Schema: trials.Schema, Name: "rates", Mode: harness.ModeLive}}
	for _, model := range []string{"a", "b"} {
		for i := range 40 {
			t := trial(fmt.Sprintf("s%d", i), "a.yaml", 1, model, 1)
			if t.Mode = harness.ModeLive; i >= 29 {
				t.Outcome = harness.OutcomeFailed
			}
			run.Trials = append(run.Trials, t)
		}
	}
	for _, format := range []string{"txt", "md", "html"} {
		out := string(write(t, format, run))
		if !strings.Contains(out, "72.5 %") || strings.Contains(out, "72%") || strings.Contains(out, "73%") || strings.Contains(out, "72.5%") {
			t.Errorf("%s writes 29 of 40 otherwise than 72.5 %%", format)
		}
	}
}
