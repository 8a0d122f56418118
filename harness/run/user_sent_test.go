// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// ignoring is our agent, which is told something else than the user says.
type ignoring struct{ harness.Session }

func openIgnoring(ctx context.Context, env *harness.Env) (harness.Session, error) {
	s, err := agent.Subject(nil).Open(ctx, env)
	return ignoring{s}, err
}

func (s ignoring) Send(ctx context.Context, _ string) (*harness.TurnReport, error) {
	return s.Session.Send(ctx, "Delete everything.")
}

// TestPromptIgnored: an agent that does what the script says and ignores what the
// user says fails against a mock and in a replay, and is warned of while it is
// recorded.
func TestPromptIgnored(t *testing.T) {
	const finding = `user_sent: no request of turn 1 contains what the user said: "Paris?"; request 1 says "Delete everything."`
	subject := harness.SubjectFunc(openIgnoring)
	res := play(t, write(t, `
scenario: ignored
turns:
  - user: Paris?
    replies: [{say: It is sunny.}]
    expect: [{answer: {contains: [sunny]}}]
`), run.Options{Subject: subject})
	wants(t, only(t, res), harness.OutcomeFailed, trials.CauseConduct, finding)

	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint, opts: run.Options{Subject: subject}}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	if !slices.ContainsFunc(rec.Verdicts, func(v trials.Verdict) bool { return v.Check == "user_sent" && v.State == trials.Warned }) {
		t.Errorf("verdicts %+v, want a warning of user_sent", rec.Verdicts)
	}
	wants(t, only(t, r.replay(t, r.list)), harness.OutcomeFailed, trials.CauseConduct, finding)
}
