// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// team is a subject of several agents under one base URL: it sends a worker to
// each of some cities, all at once, and then lets the lead answer.
type team struct {
	worker harness.Subject
	cities []string
}

type teamSession struct {
	harness.Session // the lead
	team
	env *harness.Env
}

func (s team) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	lead, err := agent.Subject(nil).Open(ctx, env)
	if err != nil {
		return nil, err
	}
	return teamSession{lead, s, env}, nil
}

func (s teamSession) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	errs := make([]error, len(s.cities))
	var wg sync.WaitGroup
	for i, city := range s.cities {
		wg.Go(func() { errs[i] = s.work(ctx, city) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s.Session.Send(ctx, text)
}

func (s teamSession) work(ctx context.Context, city string) error {
	env := *s.env
	env.Settings.System = "You are a worker."
	worker, err := s.worker.Open(ctx, &env)
	if err != nil {
		return err
	}
	_, err = worker.Send(ctx, city)
	return errors.Join(err, worker.Close())
}

const teamwork = `
scenario: a team
model: {system: You lead.}
servers: {WEATHER}
lanes:
  - lane: worker
    when: request.system.startsWith("You are a worker")
    each: conversation
    replies:
      - calls: [{weather.get_weather: {location: "{{user}}"}}]
      - say: "It is {{result.celsius}} °C."
turns:
  - user: Which is the warmest?
    replies:
      - calls: [{weather.get_weather: {location: Rome}}]
      - say: Paris, or Rome.
    expect:
      - calls: {order: any_order, list: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Oslo}}, {weather.get_weather: {location: Rome}}]}
      - that: trajectory.filter(c, c.lane.startsWith("worker/")).size() == 2 && trajectory.filter(c, c.lane == "").size() == 1
      - that: journal.model_calls == 6 && transcript.tool_calls == 1
      - answer: {contains: Rome}
`

// TestLanes plays a lead and its workers, each in a conversation of its own
// with the same mock model.
func TestLanes(t *testing.T) {
	tests := []struct {
		name, body string
		subject    harness.Subject
		outcome    harness.Outcome
		kind       trials.CauseKind
		parts      []string
	}{
		{name: "as they should", body: teamwork, subject: team{agent.Subject(nil), []string{"Paris", "Oslo"}}, outcome: harness.OutcomePassed},
		{
			name: "a worker that never comes", body: teamwork, subject: team{agent.Subject(nil), nil}, outcome: harness.OutcomeFailed, kind: trials.CauseConduct,
			parts: []string{"all_replies_reached: 2 scripted replies of lane worker not reached"},
		},
		{
			name: "a worker that changes its result", body: teamwork, subject: team{loop{mangles}, []string{"Paris", "Oslo"}}, outcome: harness.OutcomeFailed, kind: trials.CauseConduct,
			parts: []string{"results: lane worker/", `the result of call weather.get_weather {"location":"Paris"}`, "was changed"},
		},
		{
			name: "a worker that calls a tool when it has answered", body: teamwork, subject: team{loop{after}, []string{"Paris", "Oslo"}}, outcome: harness.OutcomeFailed, kind: trials.CauseConduct,
			parts: []string{"no_call_after_answer: ", "was called after the answer", "of lane worker/"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wants(t, one(t, write(t, tt.body), run.Options{Subject: tt.subject}), tt.outcome, tt.kind, tt.parts...)
		})
	}
}

// TestHold plays a reply that waits for a cue which somebody gives from
// outside, by the URL of the mock model.
func TestHold(t *testing.T) {
	list := write(t, `
scenario: held
turns:
  - user: Are you there?
    replies: [{say: At last., hold: {until: go}}]
    expect: [{answer: {equals: At last.}}, {retries: {max: 0}}]
`)
	prompted := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		session, err := agent.Subject(nil).Open(ctx, env)
		return prompter{session, strings.TrimSuffix(env.Endpoint.BaseURL, "/v1")}, err
	})
	wants(t, one(t, list, run.Options{Subject: prompted}), harness.OutcomePassed, "")
	// The limit must leave the agent the time to ask, on a busy machine too.
	rec := one(t, list, run.Options{Subject: agent.Subject(nil), Timeout: 50 * time.Millisecond})
	for limit := 200 * time.Millisecond; strings.Contains(rec.Cause.Message, "after 0 model calls") && limit < time.Minute; limit *= 4 {
		rec = one(t, list, run.Options{Subject: agent.Subject(nil), Timeout: limit})
	}
	wants(t, rec, harness.OutcomeError, trials.CauseScenario, `a reply was held until the cue "go", which nobody gave`)
}

// prompter gives the cue while its agent is waiting for the model.
type prompter struct {
	harness.Session
	root string
}

func (p prompter) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	failed := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.root+"/rehearse/cue/go", nil)
		if err == nil {
			var res *http.Response
			transport := &http.Transport{DisableKeepAlives: true}
			if res, err = transport.RoundTrip(req); err == nil {
				err = res.Body.Close()
			}
		}
		failed <- err
	}()
	report, err := p.Session.Send(ctx, text)
	return report, errors.Join(err, <-failed)
}
