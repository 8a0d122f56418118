// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

func TestTablesOf(t *testing.T) {
	record := func(scenario, suite, subject, model string, mode harness.Mode, attempt int, o harness.Outcome) trials.Record {
		return trials.Record{Key: trials.Key{Suite: suite, Scenario: scenario, Subject: subject, Model: model, Mode: mode, Attempt: attempt}, Outcome: o}
	}
	const pass, fail = harness.OutcomePassed, harness.OutcomeFailed
	records := []trials.Record{
		record("a", "x", "mine", "m", harness.ModeMock, 1, pass),
		record("b", "x", "mine", "m", harness.ModeMock, 1, fail),
		record("a", "y", "mine", "m", harness.ModeMock, 1, fail),
		record("a", "x", "mine", "m", harness.ModeMock, 2, fail),
		record("a", "x", "yours", "m", harness.ModeMock, 1, pass),
		record("a", "x", "mine", "", harness.ModeLive, 1, pass),
	}
	row := func(name string, attempts ...harness.Outcome) stats.Scenario {
		return stats.Scenario{Name: name, Attempts: attempts}
	}
	want := []stats.Table{
		// Two scenarios called a are told apart by their suites.
		{Name: "m, mine, mock", Scenarios: []stats.Scenario{row("x: a", pass, fail), row("b", fail), row("y: a", fail)}},
		{Name: "m, yours, mock", Scenarios: []stats.Scenario{row("x: a", pass)}},
		{Name: "no model, mine, live", Scenarios: []stats.Scenario{row("x: a", pass)}},
	}
	if diff := cmp.Diff(want, tablesOf(records, scenarioNames(records))); diff != "" {
		t.Error("(-want +got)", diff)
	}
	// Subject and mode are named where they differ, and suites where names do not.
	want = []stats.Table{{Name: "m", Scenarios: []stats.Scenario{row("a", pass), row("b", fail)}}}
	if diff := cmp.Diff(want, tablesOf(records[:2], scenarioNames(records[:2]))); diff != "" {
		t.Error("(-want +got)", diff)
	}
	// Of two runs, one may hold both scenarios of a name.
	if got := scenarioNames(records[:2], records)(records[0].Key); got != "x: a" {
		t.Errorf("%q", got)
	}
	// The same scenario from another suite is the same.
	if got := scenarioNames(records[:1], records[2:3])(records[0].Key); got != "a" {
		t.Errorf("%q", got)
	}
}
