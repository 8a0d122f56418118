// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestHints has the cause of a trial say what was meant: an argument that the
// tool does not have, and a tool that the server does not have.
func TestHints(t *testing.T) {
	rec := one(t, write(t, `
scenario: mistyped
servers:
  s:
    tools:
      - name: ping
        input: {type: object, properties: {city: {type: string}}, required: [city], additionalProperties: false}
        results: [{json: {ok: true}}]
turns:
  - user: hi
    replies: [{calls: [{s.ping: {citty: Paris}}]}, {say: "It is {{result.ok}}"}]
    expect: [{calls: [{s.pong: {city: Paris}}]}]
expect: [{calls: [s.pong]}]
`), run.Options{Subject: agent.Subject(nil)})
	wants(t, rec, harness.OutcomeError, trials.CauseScenario,
		`missing required property \"city\"; unknown property \"citty\"`, `s.ping, which was called before, has no argument "citty"; did you mean "city"?`,
		`unexpected call s.ping {"citty":"Paris"}; server "s" has no tool "pong"; did you mean "ping"?`)
	hints := 0
	for _, v := range rec.Verdicts {
		if v.Alignment == nil {
			continue
		}
		for _, row := range v.Alignment.Rows {
			switch row.Expected {
			case `s.pong {"city":"Paris"} (server "s" has no tool "pong"; did you mean "ping"?)`, `s.pong (server "s" has no tool "pong"; did you mean "ping"?)`:
				hints++
			}
		}
	}
	if hints != 2 {
		t.Errorf("%d hints in %+v", hints, rec.Verdicts)
	}
}
