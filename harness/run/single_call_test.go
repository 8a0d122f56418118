// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
)

const singleCall = `
scenario: asked for
servers: {WEATHER}
model: {stream: STREAM}
turns:
  - user: Hello
    replies: [{say: Hello!}]
  - user: Paris and Oslo?
    single_call: true
    replies:
      - {say: I look., calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Oslo}}]FAULT}
    expect:
      - calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Oslo}}]
      - answer: {equals: I look.}
      - that: 'trajectory.all(c, !c.executed)'
`

// TestSingleCall has a turn that ends with its first reply: the calls are judged
// as they were asked for, none is run, and conduct misses no result.
func TestSingleCall(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		for _, fault := range []string{"", ", fault: {kind: server_error}", ", fault: {kind: reset, form: during}"} {
			t.Run("stream "+stream+fault, func(t *testing.T) {
				text := strings.NewReplacer("STREAM", stream, "FAULT", fault).Replace(singleCall)
				rec := one(t, write(t, text), run.Options{Subject: agent.Subject(nil)})
				wants(t, rec, harness.OutcomePassed, "")
				if rec.Counts.ToolCalls != 0 || len(rec.Trajectory) != 2 {
					t.Errorf("%d tools were run, trajectory %+v", rec.Counts.ToolCalls, rec.Trajectory)
				}
			})
		}
	}
}

const singleCallLive = `
scenario: asked for
servers: {WEATHER}
turns:
  - user: Paris?
    single_call: true
    expect: [{calls: [{weather.get_weather: {location: Paris}}]}]
`

func TestSingleCallLive(t *testing.T) {
	rec := playLiveBy(t, agent.Subject(nil), callsThenSays("Paris", "never asked for"), singleCallLive)
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Counts.ModelCalls != 1 || rec.Counts.ToolCalls != 0 {
		t.Errorf("counts %+v", rec.Counts)
	}
	wants(t, playLiveBy(t, agent.Subject(nil), callsThenSays("Lyon", ""), singleCallLive), harness.OutcomeFailed, trials.CauseExpectation, `want "Paris", got "Lyon"`)
	says := newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "It is warm."}}}, nil)
	wants(t, playLiveBy(t, agent.Subject(nil), says, singleCallLive), harness.OutcomeFailed, trials.CauseExpectation)
}

// goesOn is a subject that says that it can end a turn after one model call, and
// does not.
type goesOn struct{ harness.Session }

func (s goesOn) SendOnce(ctx context.Context, text string) (*harness.TurnReport, error) {
	return s.Send(ctx, text)
}

func TestSingleCallSubjects(t *testing.T) {
	list := write(t, strings.NewReplacer("STREAM", "false", "FAULT", "").Replace(singleCall))
	rec := one(t, list, run.Options{Subject: bend(agent.Subject(nil), func(r *harness.TurnReport, err error) (*harness.TurnReport, error) { return r, err })})
	wants(t, rec, harness.OutcomeSkipped, trials.CauseScenario, "single_call needs a subject that can end a turn after one model call")
	if rec.Counts.ModelCalls != 0 {
		t.Errorf("%d model calls in a trial that is skipped", rec.Counts.ModelCalls)
	}
	if rec.Cause.Pos.Line != 7 {
		t.Errorf("the cause stands at %s, want the turn", rec.Cause.Pos)
	}
	cheat := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		session, err := agent.Subject(nil).Open(ctx, env)
		return goesOn{session}, err
	})
	rec = one(t, list, run.Options{Subject: cheat})
	wants(t, rec, harness.OutcomeFailed, trials.CauseMiss, "was executed, but its turn ends with the reply (single_call)")
	rec = playLiveBy(t, cheat, callsThenSays("Paris", "It is warm."), singleCallLive)
	wants(t, rec, harness.OutcomePassed, "") // conduct decides nothing there
	for _, v := range rec.Verdicts {
		if v.Check == "answered_once" && (v.State != trials.Warned || !strings.Contains(v.Message, "request 2 answers the calls of a turn that ends with the reply (single_call)")) {
			t.Errorf("conduct says %+v", v)
		}
	}
}
