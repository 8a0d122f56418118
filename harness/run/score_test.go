// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestScoreAgain judges runs again by the same expectations: every record says
// what it said before, of passed and failed trials, with faults and without, in
// mocks and recordings, and of a run that was judged again already.
func TestScoreAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		paths []string
		opts  run.Options
	}{
		{"suites", []string{"../../scenarios/suites/calendar", "../../scenarios/suites/utilities", "../../scenarios/suites/endpoint", fieldSuite}, run.Options{}},
		{"failing", []string{"testdata/failing"}, run.Options{}},
		{"recorded", []string{"testdata/recorded"}, run.Options{Mode: "replay"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := scenarios.Load(tt.paths, &scenarios.Options{Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			opts := tt.opts
			opts.Subject, opts.Out = agent.Subject(nil), t.TempDir()
			res, err := run.Run(t.Context(), set.Scenarios, &opts)
			if err != nil {
				t.Fatal(err)
			}
			dir := res.Dir
			for range 2 {
				scored, err := run.Score(dir, set.Scenarios, &run.ScoreOptions{Out: opts.Out})
				if err != nil {
					t.Fatal(err)
				}
				if flips := scored.Flips(); len(flips) > 0 || len(scored.Records) != len(res.Records) || len(scored.Records) < 1 {
					t.Errorf("%d of %d trials flipped, %d were played", len(flips), len(scored.Records), len(res.Records))
				}
				if d := cmp.Diff(scored.Before, scored.Records, cmpopts.IgnoreFields(trials.Record{}, "Detail"), cmpopts.IgnoreFields(trials.Cause{}, "Check"), cmpopts.EquateEmpty()); d != "" {
					t.Errorf("records (-before +again):\n%s", d)
				}
				if scored.ExitCode() != res.ExitCode() {
					t.Errorf("exit code %d, before %d", scored.ExitCode(), res.ExitCode())
				}
				dir = scored.Dir
			}
		})
	}
}

// nowhere fails a test that makes a request.
type nowhere struct{ t *testing.T }

func (n nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("a request to %s", r.URL)
	return nil, os.ErrPermission
}

// TestScoreWithoutTranscript: a trial whose transcript is gone is not judged
// again, and has none in the new folder either.
func TestScoreWithoutTranscript(t *testing.T) {
	list, out := write(t, "scenario: s\nturns:\n  - user: go\n    replies: [{say: done}]\n    expect: [{answer: {equals: done}}]\n"), t.TempDir()
	res, err := run.Run(t.Context(), list, &run.Options{Subject: agent.Subject(nil), Out: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(res.Dir, res.Records[0].Detail)); err != nil {
		t.Fatal(err)
	}
	scored, err := run.Score(res.Dir, list, &run.ScoreOptions{Out: out})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, scored.Records[0], "error", trials.CauseJudge, "the trial cannot be judged again: ")
	kept, err := trials.ReadFile(filepath.Join(scored.Dir, trials.RecordsFile))
	if err != nil || len(kept) != 1 || kept[0].Detail != "" {
		t.Errorf("the new folder has %+v, %v; want a record without a transcript", kept, err)
	}
}

// TestScoreNotWhole: what is not whole in the folder is not judged again.
func TestScoreNotWhole(t *testing.T) {
	const long = `
scenario: s
conduct: {results: capped}
servers: {s: {tools: [{name: get, results: [{text: sun, size: 1100000}]}]}}
turns:
  - user: go
    replies: [{calls: [s.get]}, {say: done}]
    expect: [{calls: [s.get]}]
`
	secret := strings.Replace(`
scenario: s
turns:
  - user: go
    replies: [{say: the key is KEY}]
    expect: [{answer: {contains: KEY}}]
`, "KEY", "sk-"+strings.Repeat("aB3dE6gH", 6), -1)
	for _, tt := range []struct {
		name, scenario string
		show           bool
		why            string // empty: it is judged
	}{
		{"a text that is cut", long, false, "the trial cannot be judged again: a text of it is too long"},
		{"a secret", secret, false, "the trial cannot be judged again: secrets were taken out of its texts"},
		{"a secret that is shown", secret, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, out := write(t, tt.scenario), t.TempDir()
			opts := &run.Options{Subject: agent.Subject(nil), Out: out, ShowSecrets: tt.show, Transport: nowhere{t}}
			res, err := run.Run(t.Context(), list, opts)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, res.Records[0], "passed", "")
			scored, err := run.Score(res.Dir, list, &run.ScoreOptions{Out: out})
			if err != nil {
				t.Fatal(err)
			}
			if rec := scored.Records[0]; tt.why == "" {
				wants(t, rec, "passed", "")
			} else {
				wants(t, rec, "error", trials.CauseJudge, tt.why)
				if rec.Cause.Blame != trials.BlameJudge || scored.ExitCode() != 3 {
					t.Errorf("blame %s, exit code %d", rec.Cause.Blame, scored.ExitCode())
				}
			}
		})
	}
}
