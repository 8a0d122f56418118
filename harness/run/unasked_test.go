// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestUnasked has a subject that executes, in the second turn, what no reply
// asks for, with the checks of conduct that see it switched off: expectations
// of that turn and of the whole conversation see it as well.
func TestUnasked(t *testing.T) {
	for _, tc := range []struct {
		name, turn1, turn2, whole string
		want                      string // nothing: passed
	}{
		{name: "never in its turn", turn2: "never: [weather.set_home]", want: "want no call of weather.set_home, got weather.set_home {\"location\":\"Bern\"} (executed, but no reply asks for it)"},
		{name: "never on the whole", whole: "never: [weather.*]", want: "want no call of weather.*"},
		{name: "no calls in its turn", turn2: "calls: []", want: "unexpected call weather.set_home {\"location\":\"Bern\"} (executed, but no reply asks for it)"},
		{name: "no calls on the whole", whole: "calls: []", want: "unexpected call weather.set_home {\"location\":"},
		{name: "a condition", turn2: "that: trajectory.size() == 0", want: "trajectory.size(): 1"},
		{name: "another turn", turn1: "never: [weather.*]"},
		{name: "no calls in another turn", turn1: "calls: []"},
		{name: "a condition that knows", turn2: "that: trajectory.all(c, c.unasked && c.executed) && trajectory[0].turn == 2"},
		{name: "expected", turn2: "calls: [weather.set_home]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := func(s string) string {
				if s == "" {
					return `that: "true"`
				}
				return s
			}
			rec := one(t, write(t, `
scenario: executed and not asked for
servers: {WEATHER}
subject: {recover_leaked_calls: true}
conduct: {answered_once: off, no_call_after_answer: off, witnesses_agree: off}
turns:
  - user: Hello.
    replies: [{say: Hello.}]
    expect:
      - `+item(tc.turn1)+`
  - user: Go on.
    replies:
      - calls: [{weather.set_home: {location: Bern}}]
        fault: {kind: leaked_call}
      - say: Done.
    expect:
      - `+item(tc.turn2)+`
expect:
  - `+item(tc.whole)+`
`), run.Options{Subject: agent.Subject(nil)})
			if tc.want == "" {
				wants(t, rec, harness.OutcomePassed, "")
				return
			}
			wants(t, rec, harness.OutcomeFailed, trials.CauseExpectation, tc.want)
		})
	}
}
