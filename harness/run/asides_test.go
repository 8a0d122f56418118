// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// titled is our agent, which asks the model for a title after each turn. It
// reports nothing, since it does not count its own requests.
type titled struct {
	harness.Session
	env *harness.Env
}

func openTitled(ctx context.Context, env *harness.Env) (harness.Session, error) {
	s, err := agent.Subject(nil).Open(ctx, env)
	return titled{s, env}, err
}

func (s titled) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	report, err := s.Session.Send(ctx, text)
	if err != nil {
		return report, err
	}
	body := `{"model":"` + s.env.Endpoint.Model + `","messages":[{"role":"system","content":"Make a title."},{"role":"user","content":"A conversation."}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.env.Endpoint.BaseURL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: s.env.Endpoint.Transport}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return report, err
}

// TestAsidesOfRecordings: what a mock answers by an aside is beside the
// conversation in the other modes too.
func TestAsidesOfRecordings(t *testing.T) {
	titles := []mockllm.Rule{{
		When:  func(a *mockllm.Ask) (bool, error) { return strings.Contains(a.Request.Messages[0].Text, "title"), nil },
		Reply: mockllm.Reply{Say: "Weather"},
	}}
	r := recording{
		list: write(t, `
scenario: titled
servers: {WEATHER}
cassette: {asides: true}
asides:
  - when: request.system.contains("title")
    reply: {say: Weather}
turns:
  - user: Paris?
    expect:
      - calls: [{weather.get_weather: {location: Paris}}]
      - that: journal.model_calls == 2
  - user: And now?
    expect: [{answer: {contains: ["21"]}}]
`),
		opts: run.Options{Subject: harness.SubjectFunc(openTitled), Foreign: true},
		endpoint: func() http.Handler {
			return newMock(mockllm.Script{Asides: titles, Replies: []mockllm.Reply{
				{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}},
				{Say: "21 degrees."},
				{Say: "Still 21."},
			}}, nil)
		},
	}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Recorded != 5 {
		t.Errorf("%d exchanges are recorded, want 5", rec.Recorded)
	}
	for _, v := range rec.Verdicts {
		if v.State == "warning" {
			t.Errorf("%s warns: %s", v.Check, v.Message)
		}
	}
	again := only(t, r.replay(t, r.list))
	wants(t, again, harness.OutcomePassed, "")
	if again.Counts.ModelCalls != 3 {
		t.Errorf("%d model calls, want 3 without the titles", again.Counts.ModelCalls)
	}
	if again.Tokens.Total() != rec.Tokens.Total() || rec.Tokens.Total() == 0 {
		t.Errorf("%d tokens in the replay, %d recorded", again.Tokens.Total(), rec.Tokens.Total())
	}
}
