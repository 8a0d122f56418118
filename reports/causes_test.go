// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestBlames counts causes by whose doing they are and by model, the same in
// each report: what a record says, and where it does not, what its kind and
// mode tell.
func TestBlames(t *testing.T) {
	run := &Run{Manifest: trials.Manifest{Models: []trials.Model{{Label: "a"}, {Label: "b"}}}}
	add := func(model string, mode harness.Mode, o harness.Outcome, c *trials.Cause) {
		run.Trials = append(run.Trials, Trial{Record: trials.Record{
			Key: trials.Key{Scenario: "s", Model: model, Mode: mode, Attempt: len(run.Trials) + 1}, Outcome: o, Cause: c,
		}})
	}
	live := harness.ModeLive
	add("a", live, harness.OutcomePassed, nil)
	add("a", live, harness.OutcomeFailed, &trials.Cause{Kind: trials.CauseExpectation, Message: "wrong"})
	add("b", live, harness.OutcomeFailed, &trials.Cause{Kind: trials.CauseExpectation, Message: "wrong"})
	add("b", live, harness.OutcomeFailed, &trials.Cause{Kind: trials.CauseSubject, Blame: trials.BlameModel, Message: "cut off"})
	add("b", live, harness.OutcomeFailed, &trials.Cause{Kind: trials.CauseSubject, Message: "panicked"})
	add("b", live, harness.OutcomeError, &trials.Cause{Kind: trials.CauseEndpoint, Blame: trials.BlameTool, Message: "no server"})
	add("b", live, harness.OutcomeError, &trials.Cause{Kind: trials.CauseEndpoint, Message: "502"})
	add("b", live, harness.OutcomeError, &trials.Cause{Kind: trials.CauseScenario, Message: "no such file"})
	add("b", live, harness.OutcomeError, nil)
	add("b", live, harness.OutcomeSkipped, &trials.Cause{Kind: trials.CauseScenario, Message: "not today"})

	if text := string(write(t, "txt", run)); !strings.Contains(text,
		"causes: model 3 (a 1, b 2); subject 1 (b 1); tool 1 (b 1); judge 1 (b 1); infrastructure 1 (b 1); not recorded 1 (b 1)\n") {
		t.Errorf("the text has no such sum:\n%s", text)
	}
	if md := string(write(t, "md", run)); !strings.Contains(md,
		"| cause | trials | <code>a</code> | <code>b</code> |\n| --- | ---: | ---: | ---: |\n| model | 3 | 1 | 2 |\n| subject | 1 | 0 | 1 |\n") {
		t.Errorf("the Markdown has no such table:\n%s", md)
	}
	rows, err := csv.NewReader(strings.NewReader(string(write(t, "csv", run)))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], "blame")
	var got []string
	for _, row := range rows[1:] {
		got = append(got, row[at])
	}
	if d := cmp.Diff([]string{"", "model", "model", "model", "subject", "tool", "infrastructure", "judge", "", "judge"}, got); d != "" {
		t.Errorf("CSV blames (-want +got):\n%s", d)
	}
	var page []string
	for _, v := range arrange(run).blames() {
		for _, k := range v.Kinds {
			page = append(page, v.Kind+": "+k.Kind)
		}
	}
	want := []string{
		"model: expectation", "model: subject broke", "subject: subject broke", "tool: endpoint error", "judge: scenario error",
		"infrastructure: endpoint error", "not recorded: unknown",
	}
	if d := cmp.Diff(want, page); d != "" {
		t.Errorf("rows of the page (-want +got):\n%s", d)
	}
}

// TestReasons: one message is one cause, wherever the expectation stands, and a
// scenario that failed in several ways lists them with the attempts.
func TestReasons(t *testing.T) {
	run := &Run{Manifest: trials.Manifest{Models: []trials.Model{{Label: "a"}, {Label: "b"}}}}
	add := func(scenario, model string, attempt int, message string) {
		r := trials.Record{Key: trials.Key{Scenario: scenario, Model: model, Mode: harness.ModeLive, Attempt: attempt}, Outcome: harness.OutcomePassed}
		if message != "" {
			r.Outcome = harness.OutcomeFailed
			r.Cause = &trials.Cause{Kind: trials.CauseExpectation, Message: message, Pos: at(scenario+".yaml", len(run.Trials)+1, 1)}
		}
		run.Trials = append(run.Trials, Trial{Record: r})
	}
	add("s", "a", 1, "no call")
	add("s", "a", 2, "")
	add("s", "a", 3, "wrong date")
	add("s", "a", 4, "no call")
	add("s", "b", 1, "")
	add("s", "b", 2, "no call")
	add("t", "a", 1, "no call")
	add("t", "a", 2, "no call")
	b := &pageBuilder{max: 1000, run: run, tab: arrange(run), seen: map[string]seen{}}
	var got []string
	for _, s := range b.tab.Scenarios {
		for _, r := range b.reasons(s) {
			got = append(got, s.Name()+" "+r.Column+": "+r.Words)
		}
	}
	for _, c := range b.causes().First {
		got = append(got, strings.TrimSpace(c.Text.Body)+" at "+c.Pos+" and "+strconv.Itoa(c.Others))
	}
	want := []string{
		"s a: 3 failed: no call (#1, #4); wrong date (#3)", "s b: 1 failed: no call (#2)",
		"no call at s.yaml:1:1 and 4", "wrong date at s.yaml:3:1 and 0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if page := string(write(t, "html", run)); !strings.Contains(page, `: no call" aria-label="attempt 1: failed`) {
		t.Error("no mark says why its trial failed")
	}
}
