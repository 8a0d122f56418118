// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestCallsInOrder: a server has the calls of one reply in the model's order, over
// every transport, although the agent makes them at the same time. A call that has
// no answer holds up none that come behind it.
func TestCallsInOrder(t *testing.T) {
	const text = `scenario: order
servers:
  lib:
    transport: TRANSPORT
    state: {lent: []}
    tools:
      - name: lend
        description: Lends.
        input: {type: object, properties: {to: {type: string}}, required: [to]}
        results: [{text: "{{args.to}}", set: {lent: {$cel: "state.lent + [args.to]"}}}]
    faults: [FAULT]
turns:
  - user: Lend it to everybody.
    replies:
      - calls: [{lib.lend: {to: Ann}}, {lib.lend: {to: Bob}}, {lib.lend: {to: Eve}}]
      - say: "{{result}}."
expect: [EXPECT]
`
	const all = "{state: {lib: {lent: [Ann, Bob, Eve]}}}, {answer: {equals: Eve.}}"
	for _, tt := range []struct{ name, fault, expect string }{
		{"state", "", all},
		{"a fault of the second call", "{kind: is_error, match: {tool: lend, nth: 2}}", `{that: "trajectory.map(c, c.failed) == [false, true, false]"}, {answer: {equals: Eve.}}`},
		{"the first has no answer", "{kind: hang, form: before, match: {tool: lend, nth: 1}}", "{state: {lib: {lent: [Bob, Eve]}}}, {answer: {equals: Eve.}}"},
	} {
		for _, transport := range []string{"stdio", "http", "sse", "ws"} {
			t.Run(tt.name+" "+transport, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s.yaml")
				file := strings.NewReplacer("TRANSPORT", transport, "FAULT", tt.fault, "EXPECT", tt.expect).Replace(text)
				if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
				res := play(t, load(t, path), run.Options{Subject: agent.Subject(nil), Trials: 25})
				for _, rec := range res.Records {
					if rec.Outcome != harness.OutcomePassed {
						t.Fatalf("%s: %s", rec.Outcome, why(rec))
					}
				}
			})
		}
	}
}
