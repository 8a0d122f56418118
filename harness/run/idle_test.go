// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestSilenceCostsNothing has a server not answer a call, which ends with the
// agent's own limit of a minute: on the clock of the trial, not on ours. The
// other call of the reply is not struck by that.
func TestSilenceCostsNothing(t *testing.T) {
	const text = `scenario: silence
subject: SUBJECT
servers:
  lab:
    transport: TRANSPORT
    tools:
      - {name: scan, description: Scans., results: [{text: scanned, HOLD}]}
      - {name: move, description: Moves., results: [{text: moved}]}
    faults: [FAULT]
turns:
  - user: Scan.
    replies: REPLIES
expect: [EXPECT]
`
	const (
		hang  = "{kind: hang, match: {tool: scan}}"
		both  = `[{calls: [lab.scan, lab.move]}, {say: "{{ results('lab.move')[0] }}"}]`
		moved = "{answer: {contains: moved}}, {calls: {order: any_order, list: [lab.scan, lab.move]}}"
	)
	for _, tt := range []struct{ name, transport, subject, hold, fault, replies, expect string }{
		{"hang, in process", "stdio", "{}", "", hang, both, moved},
		{"hang, HTTP", "http", "{}", "", hang, both, moved},
		{"hang, SSE", "sse", "{}", "", hang, both, moved},
		{"hang, WebSocket", "ws", "{}", "", hang, both, moved},
		{"hold", "http", "{}", "hold: {until: never}", "", both, moved},
		{"hang, one call at a time", "stdio", "{tool_concurrency: 1}", "", hang, both, moved},
		{"a list that hangs", "http", "{}", "", "{kind: hang, match: {method: tools/list}}", "[]", "{start_error: {contains: no answer within 30s}}"},
		{"the turn's own limit is sooner", "http", "{time_limit: 5s}", "", hang, "[{calls: [lab.scan]}]", "{stops: time}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.yaml")
			file := strings.NewReplacer("TRANSPORT", tt.transport, "SUBJECT", tt.subject, ", HOLD", ", "+tt.hold, "FAULT", tt.fault, "REPLIES", tt.replies, "EXPECT", tt.expect).Replace(text)
			if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			// Less than any limit of the agent's takes by our clock.
			rec := one(t, load(t, path), run.Options{Subject: agent.Subject(nil), Timeout: 20 * time.Second})
			if rec.Outcome != harness.OutcomePassed {
				t.Errorf("%s: %s", rec.Outcome, why(rec))
			}
		})
	}
}

// TestSkippedWaits: waits of calls that are under way at the same time overlap, as
// they would in real time, and one that is longer than the agent's own limit ends
// with that limit, before or after other calls have had their answers.
func TestSkippedWaits(t *testing.T) {
	const text = `scenario: waits
subject: SUBJECT
servers:
  lab:
    transport: TRANSPORT
    tools:
      - {name: scan, description: Scans., results: [{text: scanned, WAIT}]}
      - {name: move, description: Moves., results: [{text: moved, latency: 2s}]}
limits: {time: 3s}
turns:
  - user: Scan.
    replies: [{calls: CALLS}, {say: Done.}]
expect: [EXPECT]
`
	const (
		both    = "[lab.scan, lab.move, lab.move]"
		told    = `{that: 'journal.told[0].contains("TEXT") && journal.told[1] == "moved" && journal.told[2] == "moved"'}`
		scanned = "scanned"
		given   = "no answer within 2.5s"
	)
	for _, transport := range []string{"stdio", "http", "sse", "ws"} {
		for _, tt := range []struct{ name, subject, wait, calls, expect string }{
			{"at the same time", "{}", "latency: 2s", both, strings.ReplaceAll(told, "TEXT", scanned)},
			{"in two parts", "{}", "before: [{wait: 1s}], latency: 1s", both, strings.ReplaceAll(told, "TEXT", scanned)},
			{"one after the other", "{tool_concurrency: 1}", "latency: 2s", both, "{stops: error}"},
			{"longer than the limit of a call", "{tool_timeout: 2500ms}", "latency: 10s", both, strings.ReplaceAll(told, "TEXT", given)},
			{"a step that is longer", "{tool_timeout: 2500ms}", "before: [{wait: 10s}]", both, strings.ReplaceAll(told, "TEXT", given)},
			{"a fault that is longer", "{tool_timeout: 2500ms}", "fault: {kind: delay, delay: 10s}", both, strings.ReplaceAll(told, "TEXT", given)},
			{"longer than the limit of all of a call", "{tool_time_limit: 2500ms}", "latency: 10s", both, strings.ReplaceAll(told, "TEXT", given)},
			{"shorter than the limit of a call", "{tool_timeout: 2500ms}", "latency: 2400ms", both, strings.ReplaceAll(told, "TEXT", scanned)},
		} {
			t.Run(tt.name+" "+transport, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s.yaml")
				file := strings.NewReplacer("TRANSPORT", transport, "SUBJECT", tt.subject, "WAIT", tt.wait, "CALLS", tt.calls, "EXPECT", tt.expect).Replace(text)
				if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
				rec := one(t, load(t, path), run.Options{Subject: agent.Subject(nil)})
				want := harness.OutcomePassed
				if tt.expect == "{stops: error}" {
					want = harness.OutcomeFailed
				}
				if rec.Outcome != want {
					t.Errorf("%s, want %s: %s", rec.Outcome, want, why(rec))
				}
			})
		}
	}
}
