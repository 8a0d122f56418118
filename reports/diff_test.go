// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

// diffOf has two models in two runs of five scenarios: one that broke, one that
// is mended, one whose definition changed, one that is new and one that is gone.
// In the run after, both endpoints have moved.
func diffOf(text string) *Diff {
	d := &Diff{
		A: &Run{Dir: "runs/1-main", Manifest: trials.Manifest{Name: "main", Mode: harness.ModeLive, Started: started, Models: []trials.Model{
			{Label: "large", Name: "large-1", BaseURL: "http://a.example"}, {Label: "small", Name: "small-1", BaseURL: "http://a.example"},
		}}},
		B: &Run{Dir: "runs/2-change", Manifest: trials.Manifest{Name: "change", Mode: harness.ModeLive, Started: started.AddDate(0, 0, 1), Models: []trials.Model{
			{Label: "large", Name: "large-1", BaseURL: "http://b.example"}, {Label: "small", Name: "small-1", BaseURL: "http://b.example"},
		}}},
		Estimand: stats.ScenariosInGeneral, Level: 0.9,
		Changed: []ChangedScenario{{Suite: "s", Scenario: "refund", Parts: []string{"definition", "tools"}}},
		LeftOut: []string{"old: it is not in \"runs/2-change\""},
	}
	add := func(r *Run, scenario, model string, outcomes string) {
		for i, o := range outcomes {
			t := Trial{Record: trials.Record{
				Schema: trials.Schema, Key: trials.Key{Suite: "s", Scenario: scenario, Subject: "agent", Model: model, Mode: harness.ModeLive, Attempt: i + 1},
				File: "s/" + strings.ReplaceAll(scenario, " ", "-") + ".yaml", Outcome: harness.OutcomePassed, Start: started,
			}}
			cause := map[rune]string{'f': "the date is wrong " + text, 'g': "no call " + text, 'e': "502 Bad Gateway"}[o]
			switch {
			case o == 'e':
				t.Outcome, t.Cause = harness.OutcomeError, &trials.Cause{Kind: trials.CauseEndpoint, Message: cause}
			case cause != "":
				t.Outcome, t.Cause = harness.OutcomeFailed, &trials.Cause{Kind: trials.CauseExpectation, Message: cause, Pos: at(t.File, len(r.Trials), 1)}
			}
			r.Trials = append(r.Trials, t)
		}
	}
	for _, model := range []string{"large", "small"} {
		add(d.A, "book a room", model, "...")
		add(d.A, "find it", model, "ff.")
		add(d.A, "refund", model, "...")
		add(d.A, "gone", model, ".e.")
		add(d.B, "book a room", model, "gfg")
		add(d.B, "find it", model, "...")
		add(d.B, "refund", model, "fff")
		add(d.B, "added", model, "..f")
	}
	d.Models = []DiffModel{
		{Name: strings.TrimSpace("large " + text), A: d.A.Trials[0].Key.Column(), B: d.B.Trials[0].Key.Column(), Comparison: stats.Comparison{
			Method: "paired t on scenario means", RateA: 0.4, RateB: 0.9, Difference: -0.5, Interval: stats.Interval{Low: -0.7, High: -0.3},
			Adjusted: 0.004, Different: true, MDE: 0.2, Scenarios: 2, BetterA: 1, BetterB: 1,
		}},
		{Name: "small", A: d.A.Trials[len(d.A.Trials)-1].Key.Column(), B: d.B.Trials[len(d.B.Trials)-1].Key.Column(), Err: errors.New(strings.TrimSpace("too few data " + text))},
	}
	return d
}

func diffPage(t *testing.T, d *Diff) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := DiffHTML(&b, d, nil); err != nil {
		t.Fatal(err)
	}
	if err := checkHTML(b.Bytes()); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

func TestDiffGolden(t *testing.T) {
	golden(t, "diff.html", readable(t, diffPage(t, diffOf(""))))
	if page := string(diffPage(t, diffOf(hostile))); strings.ContainsAny(page, "\x1b\u202e") {
		t.Error("what cannot be seen is not spelled out")
	}
}

// TestDiffSays: what broke, what is mended, which causes came and went, and what
// was not compared.
func TestDiffSays(t *testing.T) {
	d := diffOf("")
	run := d.both()
	b := &pageBuilder{max: 1000, run: run, tab: arrange(run), diff: d, seen: map[string]seen{}}
	v := b.diffView()
	var got []string
	for _, x := range v.Verdicts {
		got = append(got, x.Words)
	}
	got = append(got, v.Counts)
	for _, f := range v.Models[0].FlipsB {
		got = append(got, "less "+f.Name+" "+f.RateB+" "+f.RateA)
	}
	for _, f := range v.Models[0].FlipsA {
		got = append(got, "more "+f.Name+" "+f.RateB+" "+f.RateA)
	}
	for _, c := range v.Causes {
		got = append(got, fmt.Sprintf("%s, %s, %s, %d, %d, %s", c.Word, c.Blame, strings.TrimSpace(c.Text.Body), c.NA, c.NB, c.Trials[0].Label))
	}
	for _, c := range v.Changed {
		got = append(got, "changed "+c.Name+": "+c.Parts)
	}
	for _, c := range v.Added {
		got = append(got, "added "+c.Name)
	}
	for _, c := range v.Removed {
		got = append(got, "removed "+c.Name)
	}
	want := []string{
		"large is worse: 90.0 % in 1-main, 40.0 % in 2-change, a difference of −50.0 points (90 % interval −70.0 to −30.0), unlikely to be chance (p = 0.004).",
		"small cannot be compared: too few data.",
		"1 scenario changed and not compared, 1 new, 1 removed.",
		"less book a room 3/3 0/3", "more find it 1/3 3/3",
		"more, model, the date is wrong, 4, 10, added 2-change · large #3",
		"new, model, no call, 0, 4, book a room 2-change · large #1",
		"gone, infrastructure, 502 Bad Gateway, 2, 0, gone 1-main · large #2",
		"changed refund: definition and tools", "added added", "removed gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiffOrder: what became worse comes first, then what became better, what
// cannot be compared and what is not shown to have changed; the lists of the
// first two are open, and only these stand out.
func TestDiffOrder(t *testing.T) {
	d := diffOf("")
	like := d.Models[0]
	add := func(name string, difference float64, different bool) {
		m := like
		m.Name, m.Difference, m.Different = name, difference, different
		d.Models = append(d.Models, m)
	}
	d.Models = d.Models[1:] // cannot be compared
	add("same", 0.01, false)
	add("better", 0.3, true)
	add("worse", -0.2, true)
	run := d.both()
	v := (&pageBuilder{max: 1000, run: run, tab: arrange(run), diff: d, seen: map[string]seen{}}).diffView()
	var got []string
	for i, m := range v.Models {
		got = append(got, fmt.Sprintf("%s, open %v, apart %v", m.Name, m.Open, v.Verdicts[i].More))
		if !strings.HasPrefix(v.Verdicts[i].Words, m.Name+" ") {
			t.Errorf("verdict %d is %q, and the model %s", i+1, v.Verdicts[i].Words, m.Name)
		}
	}
	want := []string{"worse, open true, apart false", "better, open true, apart false", "small, open false, apart true", "same, open false, apart true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if words := v.Verdicts[3].Words; !strings.HasSuffix(words, "which may be chance.") {
		t.Errorf("verdict %q", words)
	}
	d.Models = d.Models[1:2]
	if v := (&pageBuilder{max: 1000, run: run, tab: arrange(run), diff: d, seen: map[string]seen{}}).diffView(); !v.Models[0].Open || v.Verdicts[0].More {
		t.Errorf("what is the only model: %+v", v.Verdicts[0])
	}
}

// TestDiffNames: two runs are called by their folders, where these fit.
func TestDiffNames(t *testing.T) {
	tests := []struct{ name, a, b, want string }{
		{"short", "runs/before", "runs/after/", "before after"},
		{"alike", "a/run", "b/run", "baseline candidate"},
		{"long", "runs/20260102-150405-before", "runs/after", "baseline candidate"},
		{"joined", "", "runs/after", "baseline candidate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			names := (&Diff{A: &Run{Dir: tt.a}, B: &Run{Dir: tt.b}}).names()
			if got := names[sideA] + " " + names[sideB]; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestDiffAgain: the command that plays a trial again is that of its own run.
func TestDiffAgain(t *testing.T) {
	d := diffOf("")
	page := unpacked(t, diffPage(t, d))
	for _, want := range []string{"large=large-1@http://a.example", "large=large-1@http://b.example"} {
		if !strings.Contains(page, want) {
			t.Errorf("no command names %s", want)
		}
	}
	if n := len(slices.Concat(d.A.Trials, d.B.Trials)); strings.Count(page, "--model") != n {
		t.Errorf("%d commands for %d trials", strings.Count(page, "--model"), n)
	}
}
