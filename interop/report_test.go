// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/samplerun"
)

// TestReportInABrowser reads reports as a person does: every view at two widths,
// light and dark, by keys and by clicks, with and without a script. Nothing is
// said on the console, nothing is asked of the network, axe finds nothing
// serious, and no text acts.
func TestReportInABrowser(t *testing.T) {
	t.Parallel() // with TestLive
	tests := []struct {
		name string
		runs []*samplerun.Options
	}{
		{"rich", []*samplerun.Options{{Seed: 1, KeepWire: true}}},
		{"hostile", []*samplerun.Options{{Scenarios: 20, Attempts: 2, Hostile: true, KeepWire: true}}},
		{"diff", []*samplerun.Options{{Scenarios: 20, Attempts: 3, Seed: 1}, {Scenarios: 20, Attempts: 3, Seed: 2, Better: 0.35}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var folders []string
			for i, o := range tt.runs {
				folder := filepath.Join(dir, string(rune('a'+i)))
				if err := samplerun.Write(folder, o); err != nil {
					t.Fatal(err)
				}
				folders = append(folders, folder)
			}
			page := filepath.Join(dir, "report.html")
			args := append([]string{"report"}, folders...)
			if len(folders) == 2 {
				args[0] = "compare"
			}
			out, err := command(t, binary, append(args, "--html", page)...).CombinedOutput()
			if err != nil && len(folders) == 2 { // report exits with the code of the run
				t.Fatalf("rehearse %s: %v\n%s", args[0], err, out)
			}
			got, err := command(t, node, "clients/report.mjs", page, tt.name).Output()
			if err != nil {
				t.Fatalf("report.mjs: %v\n%s", told(err), got)
			}
			var wrong []string
			if err := json.Unmarshal(got, &wrong); err != nil {
				t.Fatalf("report.mjs wrote %q: %v", got, err)
			}
			for _, w := range wrong {
				t.Error(w)
			}
		})
	}
}

// TestReportAnswers is someone new to the report, with three questions, who may
// click five times for each: which model is better and is it real, why did a
// scenario fail with a model, what changed since the baseline. What is right the
// records say.
func TestReportAnswers(t *testing.T) {
	dir := t.TempDir()
	var runs [2][]trials.Record
	for i, name := range []string{"before", "after"} {
		folder := filepath.Join(dir, name)
		if err := samplerun.Write(folder, &samplerun.Options{Seed: uint64(i + 1), Better: 0.2 * float64(i)}); err != nil {
			t.Fatal(err)
		}
		var err error
		if runs[i], err = trials.ReadFile(filepath.Join(folder, trials.RecordsFile)); err != nil {
			t.Fatal(err)
		}
	}
	report, diff := filepath.Join(dir, "report.html"), filepath.Join(dir, "diff.html")
	_ = command(t, binary, "report", filepath.Join(dir, "before"), "--html", report).Run() // the code of the run
	if out, err := command(t, binary, "compare", filepath.Join(dir, "before"), filepath.Join(dir, "after"), "--html", diff).CombinedOutput(); err != nil {
		t.Fatalf("rehearse compare: %v\n%s", err, out)
	}

	type answer struct{ Name, Model, Message, Before, After string }
	const model = "small"
	rate := func(records []trials.Record, name string) (share float64, words, message string) {
		passed, judged := 0, 0
		for _, r := range records {
			if r.Name() != name || r.Model != model {
				continue
			}
			switch r.Outcome {
			case harness.OutcomePassed:
				passed, judged = passed+1, judged+1
			case harness.OutcomeFailed:
				judged++
				message = cmp.Or(message, r.Cause.Message)
			case harness.OutcomeError, harness.OutcomeSkipped:
			}
		}
		return float64(passed) / float64(max(judged, 1)), fmt.Sprintf("%d/%d", passed, judged), message
	}
	var gained answer
	best := 0.0
	for _, r := range runs[0] {
		a, before, message := rate(runs[0], r.Name())
		b, after, _ := rate(runs[1], r.Name())
		if b-a > best {
			best, gained = b-a, answer{r.Name(), model, message, before, after}
		}
	}
	i := slices.IndexFunc(runs[0], func(r trials.Record) bool { return r.Model == model && r.Outcome == harness.OutcomeFailed })
	if i < 0 || best == 0 {
		t.Fatal("the runs have nothing to ask about")
	}
	failed := answer{Name: runs[0][i].Name(), Model: model, Message: runs[0][i].Cause.Message}
	lower := func(a answer) map[string]string {
		return map[string]string{"name": a.Name, "model": a.Model, "message": a.Message, "before": a.Before, "after": a.After}
	}
	questions, err := json.Marshal(map[string]any{"report": report, "diff": diff, "failed": lower(failed), "gained": lower(gained)})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "questions.json")
	if err := os.WriteFile(file, questions, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := command(t, node, "clients/report-tasks.mjs", file).Output()
	if err != nil {
		t.Fatalf("report-tasks.mjs: %v\n%s", told(err), got)
	}
	var answers []struct {
		Question, Answer, Wrong string
		Clicks                  int
	}
	if err := json.Unmarshal(got, &answers); err != nil || len(answers) != 3 {
		t.Fatalf("report-tasks.mjs wrote %q: %v", got, err)
	}
	for _, a := range answers {
		t.Logf("%s %d clicks: %s", a.Question, a.Clicks, strings.Join(strings.Fields(a.Answer), " "))
		if a.Wrong != "" || a.Clicks > 5 {
			t.Errorf("%s %d clicks, wrong: %s", a.Question, a.Clicks, a.Wrong)
		}
	}
}

// told is an error of a command with what it wrote about it.
func told(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}
