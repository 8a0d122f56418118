// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// ruledRun is the full run with rules: met, missed and not judged.
func ruledRun() *Run {
	run := fullRun()
	m := &run.Manifest
	m.Scenarios[1].Pass = &trials.Pass{AtLeast: 2, Pos: at("gemflux/pipeline.yaml", 3, 7)}
	m.Scenarios[2].Pass = &trials.Pass{Rate: 0.5, Pos: at("utilities/weather.yaml", 2, 7)}
	m.Scenarios[3].Pass = &trials.Pass{AtLeast: 3, Pos: at("utilities/limits.yaml", 2, 7)}
	m.Thresholds = []trials.Threshold{
		{Rate: 0.7},
		{Suite: "gemflux", Tag: "lookup", Rate: 1, Pos: at("gemflux/suite.yaml", 4, 12)},
	}
	return run
}

// TestRuledGolden: what rules decide looks the same in every report.
func TestRuledGolden(t *testing.T) {
	for _, format := range []string{"txt", "md", "xml", "gh"} {
		t.Run(format, func(t *testing.T) { golden(t, "ruled."+format, write(t, format, ruledRun())) })
	}
}

// TestCSVRows: a row a trial, which a reader of CSV takes apart again, and no
// cell that a spreadsheet computes.
func TestCSVRows(t *testing.T) {
	run := fullRun()
	formulas := []string{"=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "|calc"}
	for i, text := range formulas {
		run.Trials[i].Scenario, run.Trials[i].Cause = text, &trials.Cause{Message: text}
	}
	rows, err := csv.NewReader(bytes.NewReader(write(t, "csv", run))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(run.Trials)+1 || !slices.Equal(rows[0], csvColumns()) {
		t.Errorf("%d rows for %d trials, the first %q", len(rows), len(run.Trials), rows[0])
	}
	for _, row := range rows {
		for i, cell := range row {
			if strings.ContainsAny(cell, "\r\n\t") || cell != "" && strings.ContainsRune("=+-@|＝", []rune(cell)[0]) {
				t.Errorf("column %s holds %q", rows[0][i], cell)
			}
		}
	}
}

// TestAnnotationsAreCommands reads annotations as GitHub's runner does.
func TestAnnotationsAreCommands(t *testing.T) {
	text := "::stop-commands::x\n::add-mask::secret\r\n%0A::error::y, a:b"
	run := &Run{Trials: []Trial{{Record: trials.Record{
		Key: trials.Key{Scenario: text}, File: "a,b:c.yaml", Outcome: harness.OutcomeFailed, Cause: &trials.Cause{Message: text, Pos: at("a,b:c.yaml", 3, 1)},
	}}}}
	got := string(write(t, "gh", run))
	want := "::error file=a%2Cb%3Ac.yaml,line=3,col=1,title=%3A%3Astop-commands%3A%3Ax %3A%3Aadd-mask%3A%3Asecret %250A%3A%3Aerror%3A%3Ay%2C a%3Ab::" +
		"::stop-commands::x%0A::add-mask::secret%0A%250A::error::y, a:b\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("annotation (-want +got):\n%s", d)
	}
	// The text of a run goes to the same log, and holds no command at all.
	for line := range strings.Lines(string(write(t, "txt", run))) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("the text has the command %q", line)
		}
	}
	for line, want := range map[string]string{
		"::error::x": "⟨::⟩error::x", "  ::x": "  ⟨::⟩x", "a ::x": "a ::x", "a ##[add-mask]b": "a #⟨#[⟩add-mask]b",
	} {
		if got := noCommand(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

// TestAnnotationsAreTen: GitHub shows ten of a step, and the last one counts the
// rest.
func TestAnnotationsAreTen(t *testing.T) {
	for _, tc := range []struct {
		failed int
		last   string
	}{{10, "title=s9::no"}, {13, "title=rehearse::4 more, in the report"}} {
		run := &Run{}
		for i := range tc.failed {
			run.Trials = append(run.Trials, Trial{Record: trials.Record{
				Key: trials.Key{Scenario: fmt.Sprintf("s%d", i)}, Pos: at("s.yaml", i+1, 1), Outcome: harness.OutcomeFailed, Cause: &trials.Cause{Message: "no"},
			}})
		}
		lines := strings.Split(strings.TrimSpace(string(write(t, "gh", run))), "\n")
		if len(lines) != 10 || !strings.HasSuffix(lines[9], tc.last) {
			t.Errorf("%d failed: %d lines, the last %q", tc.failed, len(lines), lines[len(lines)-1])
		}
	}
}

// TestMarkdownFitsAComment: 65,536 characters are what GitHub takes, whatever
// failed.
func TestMarkdownFitsAComment(t *testing.T) {
	run := &Run{}
	long := strings.Repeat("why ", 400)
	for i := range 3000 {
		name := fmt.Sprintf("%s %d", strings.Repeat("s", 100), i)
		run.Manifest.Scenarios = append(run.Manifest.Scenarios, trials.Source{Scenario: name, Pass: &trials.Pass{}})
		run.Manifest.Warnings = append(run.Manifest.Warnings, long)
		run.Trials = append(run.Trials, Trial{Record: trials.Record{
			Key: trials.Key{Scenario: name}, Outcome: harness.OutcomeFailed, Cause: &trials.Cause{Message: long + name}, Drift: []string{"risky: " + long},
		}})
	}
	got := string(write(t, "md", run))
	if n := utf8.RuneCountInString(got); n > 65_536 {
		t.Errorf("%d characters", n)
	}
	for _, want := range []string{"more rules, in the full report", "more scenarios that did not pass", "more, in the full report"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}
