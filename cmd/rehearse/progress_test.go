// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestProgressLog writes a line when a minute has gone by, and none at the end.
func TestProgressLog(t *testing.T) {
	cost := 0.014
	priced := trials.Record{Outcome: harness.OutcomePassed, Tokens: trials.Tokens{Input: 6000}, Cost: &cost}
	failed := trials.Record{Outcome: harness.OutcomeFailed, Tokens: trials.Tokens{Input: 600}, Cost: &cost}
	unpriced := trials.Record{Outcome: harness.OutcomeError, Tokens: trials.Tokens{Input: 60}}
	type ended struct {
		after  time.Duration
		record trials.Record
	}
	for _, tc := range []struct {
		name  string
		real  bool
		spent trials.Spend
		ended []ended
		want  string
	}{
		{"soon done", true, trials.Spend{}, []ended{{time.Second, priced}, {time.Second, priced}}, ""},
		{
			"each minute at most", true,
			trials.Spend{},
			[]ended{{50 * time.Second, priced}, {20 * time.Second, failed}, {30 * time.Second, priced}, {30 * time.Second, priced}},
			"2 of 6 trials, 1 failed, 0 errors, about 2m left, $0.03, 6600 tokens\n4 of 6 trials, 1 failed, 0 errors, about 1m left, $0.06, 19k tokens\n",
		},
		{"what was kept", true, trials.Spend{Dollars: 1, Tokens: 20_000_000}, []ended{{time.Hour, priced}}, "1 of 6 trials, 0 failed, 0 errors, about 5h00m left, $1.01, 20.0M tokens\n"},
		{"no price", true, trials.Spend{}, []ended{{61 * time.Second, unpriced}}, "1 of 6 trials, 0 failed, 1 error, about 5m left, 60 tokens\n"},
		{"mock", false, trials.Spend{}, []ended{{61 * time.Second, priced}}, "1 of 6 trials, 0 failed, 0 errors, about 5m left\n"},
		{"the last one", true, trials.Spend{}, []ended{{0, priced}, {0, priced}, {0, priced}, {0, priced}, {0, priced}, {time.Hour, priced}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			now := time.Unix(0, 0)
			g := &progress{err: &out, now: func() time.Time { return now }, real: tc.real}
			g.Planned(run.Plan{Trials: 6, Spent: tc.spent})
			for _, e := range tc.ended {
				now = now.Add(e.after)
				g.Ended(e.record)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
