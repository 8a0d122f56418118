// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/reports"
)

// TestStruck: a failure names the faults that struck, on either side.
func TestStruck(t *testing.T) {
	list := write(t, `
scenario: struck
servers:
  w:
    tools: [{name: t, results: [{json: {a: 1}, fault: {kind: is_error, form: plausible}}]}]
turns:
  - user: hi
    replies:
      - calls: [w.t]
        fault: {kind: rate_limit, retry_after: 1s, times: 2}
      - say: ok
    expect: [{answer: {contains: never said}}, {that: "trajectory[0].failed"}]
`)
	res := play(t, list, run.Options{Subject: agent.Subject(nil), Out: t.TempDir()})
	rec := res.Records[0]
	wants(t, rec, harness.OutcomeFailed, trials.CauseExpectation)
	want := []string{"rate_limit of the model, turn 1, 2 times", `is_error/plausible of server "w" at tools/call`}
	if diff := cmp.Diff(want, rec.Struck); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	loaded, err := reports.Load(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := reports.Text(&text, loaded, nil); err != nil {
		t.Fatal(err)
	}
	if line := "faults that struck: " + strings.Join(want, "; "); !strings.Contains(text.String(), line) {
		t.Errorf("%s\nwant %s", text.String(), line)
	}
}
