// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestStartErrorExcusesReplies: where the subject is to give up at the start,
// replies are not missed.
func TestStartErrorExcusesReplies(t *testing.T) {
	const text = `scenario: no config
servers:
  lab:
    tools: [{name: scan, results: [{text: ok}]}]
    faults: [{kind: die_at_start, times: always, stderr: no config}]
turns:
  - user: Scan.
    replies: [{calls: [lab.scan]}, {say: Done.}]
expect:
  - start_error: {contains: lab}
`
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := one(t, load(t, path), run.Options{Subject: agent.Subject(nil)})
	if rec.Outcome != harness.OutcomePassed {
		t.Errorf("%s: %s", rec.Outcome, why(rec))
	}
}
