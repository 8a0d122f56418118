// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestRecordingLine: what was not written is not announced as recorded.
func TestRecordingLine(t *testing.T) {
	for _, tc := range []struct {
		rec  trials.Record
		want string
	}{
		{trials.Record{Written: true, Cassette: "c.yaml", Recorded: 2}, "recorded  c.yaml: 2 interactions"},
		{trials.Record{Written: true, Cassette: "c.yaml", Recorded: 2, Tapes: []string{"c.a.tape", "c.b.tape"}}, "recorded  c.yaml: 2 interactions\nrecorded  c.a.tape\nrecorded  c.b.tape"},
		{trials.Record{Cassette: "c.yaml", Recorded: 2}, "unchanged c.yaml: 2 interactions"},
		{
			trials.Record{Outcome: harness.OutcomeError, Recorded: 2, Cause: &trials.Cause{Message: "it is in c.refused.yaml\nmore"}},
			": it is in c.refused.yaml; more",
		},
	} {
		if got := recordingLine(tc.rec); !strings.HasSuffix(got, tc.want) {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// TestServesOneFile: a second file is not left out without a word.
func TestServesOneFile(t *testing.T) {
	dir := t.TempDir()
	for _, what := range []string{"llm", "mcp"} {
		if e := inProcess(t, dir, "serve", what, "a.yaml", "b.yaml"); e.code == 0 || !strings.Contains(e.stderr, "serves one file, and got 2: a.yaml, b.yaml") {
			t.Errorf("serve %s: exit code %d\n%s%s", what, e.code, e.stdout, e.stderr)
		}
	}
}
