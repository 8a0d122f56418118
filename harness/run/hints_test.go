// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"slices"
	"strings"
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

// TestHintAbsent has a call that was not made say why its tool could not be called.
func TestHintAbsent(t *testing.T) {
	rec := one(t, write(t, `
scenario: an odd tool
servers:
  s:
    tools:
      - {name: odd, input: {type: object, anyOf: [{required: [a]}], properties: {a: {type: string}}}, results: [{text: odd}]}
      - {name: ping, input: {type: object, properties: {}}, results: [{text: pong}]}
turns:
  - user: hi
    replies: [{calls: [s.ping]}, {say: done}]
    expect: [{calls: [s.odd]}]
`), run.Options{Subject: agent.Subject(nil)})
	wants(t, rec, harness.OutcomeFailed, trials.CauseExpectation, "missing call s.odd")
	if want := []string{"s.odd", "s.ping"}; !slices.Equal(rec.Cause.Tools, want) {
		t.Errorf("the cause is about %q, want %q", rec.Cause.Tools, want)
	}
	if len(rec.Cause.Hints) != 1 || !strings.HasPrefix(rec.Cause.Hints[0], "s.odd is not offered to models: its input schema") {
		t.Errorf("hints %q", rec.Cause.Hints)
	}
}

// greeter answers before it is asked, as a program does that greets whoever starts
// it: what it says of a turn is the answer of the next.
type greeter struct {
	harness.Session
	heard []string
}

func (g *greeter) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	if g.heard = append(g.heard, text); len(g.heard) == 1 {
		return &harness.TurnReport{Answer: "Welcome!"}, nil
	}
	report, err := g.Session.Send(ctx, g.heard[0])
	if err == nil {
		_, err = g.Session.Send(ctx, text)
	}
	return report, err
}

// TestHintGreeting has a miss say which answer was not the model's.
func TestHintGreeting(t *testing.T) {
	rec := one(t, write(t, `
scenario: greets
turns:
  - {user: one, replies: [{say: first}]}
  - {user: two, replies: [{say: second}], expect: [{answer: {equals: second}}]}
`), run.Options{Foreign: true, Subject: harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		session, err := agent.Subject(nil).Open(ctx, env)
		return &greeter{Session: session}, err
	})})
	wants(t, rec, harness.OutcomeFailed, trials.CauseMiss, "the script is used up")
	if want := []string{`turn 1 was answered "Welcome!", which the model did not say in it; what a program writes before it is asked counts as its answer`}; !slices.Equal(rec.Cause.Hints, want) {
		t.Errorf("hints %q, want %q", rec.Cause.Hints, want)
	}
}
