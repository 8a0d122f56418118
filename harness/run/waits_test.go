// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestWaitedFor holds what counts as waiting for the endpoint within a limit of
// a minute.
func TestWaitedFor(t *testing.T) {
	start := time.Unix(1000, 0)
	type call struct {
		at, takes float64 // seconds
		status    int
		lane, err string
	}
	loop := make([]call, 600)
	for i := range loop {
		loop[i] = call{at: float64(i) / 10, takes: 0.1, status: 200}
	}
	tests := []struct {
		name  string
		calls []call
		want  float64
	}{
		{"nothing asked", nil, 0},
		{"one answer that does not come", []call{{at: 1, takes: 70, status: 200}}, 59},
		{"slow answers", []call{{0, 20, 200, "", ""}, {21, 20, 200, "", ""}, {42, 20, 200, "", ""}}, 58},
		{"a loop of quick calls", loop, 0},
		{"own work between quick calls", []call{{0, 1, 200, "", ""}, {50, 1, 200, "", ""}}, 0},
		{"two at once", []call{{0, 20, 200, "", ""}, {10, 20, 200, "side", ""}}, 30},
		{"put off", []call{{0, 1, 429, "", ""}, {30, 1, 429, "", ""}, {50, 1, 200, "", ""}}, 50},
		{"put off to the end", []call{{5, 1, 503, "", ""}}, 55},
		{"refused for good", []call{{5, 1, 401, "", ""}}, 0},
		{"left at once", []call{{5, 1, 502, "", "the subject closed the connection before the answer began"}}, 0},
		{"no connection, and again", []call{{5, 0, 502, "", "connection refused"}, {20, 1, 200, "", ""}}, 15},
		{"before and after", []call{{-10, 20, 200, "", ""}, {58, 20, 200, "", ""}}, 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var list []harness.Exchange
			for _, c := range tt.calls {
				list = append(list, harness.Exchange{
					Start: start.Add(time.Duration(c.at * 1e9)), Duration: time.Duration(c.takes * 1e9), Status: c.status, Lane: c.lane, Error: c.err,
				})
			}
			if got := run.WaitedFor(list, start, time.Minute); got != time.Duration(tt.want*1e9) {
				t.Errorf("got %v, want %vs", got, tt.want)
			}
		})
	}
}

// TestLiveTimeLimits has limits that pass while the endpoint is waited for, and
// while the subject does its own work.
func TestLiveTimeLimits(t *testing.T) {
	silent := neverAnswers(make(chan struct{}, 100))
	putOff := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	dawdles := sender(func(ctx context.Context, _ *harness.Env) error {
		<-ctx.Done()
		return ctx.Err()
	})
	const limited, own = "limits: {time: 2s}\nturns:", "subject: {time_limit: 2s}\nturns:"
	tests := []struct {
		name, limit string
		subject     harness.Subject
		endpoint    http.Handler
		outcome     harness.Outcome
		kind        trials.CauseKind
		blame       trials.Blame
		want        string
	}{
		{"no answer", limited, agent.Subject(nil), silent, harness.OutcomeError, trials.CauseEndpoint, trials.BlameInfrastructure, "the endpoint did not answer request 1 in time"},
		{"put off", limited, agent.Subject(nil), putOff, harness.OutcomeError, trials.CauseEndpoint, trials.BlameInfrastructure, "the endpoint was waited for during "},
		{"own work", limited, dawdles, silent, harness.OutcomeFailed, trials.CauseLimits, trials.BlameSubject, "limit exceeded: time"},
		{"no answer within the subject's limit", own, agent.Subject(nil), silent, harness.OutcomeError, trials.CauseEndpoint, trials.BlameInfrastructure, "that subject.time_limit allows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := playLiveBy(t, tt.subject, tt.endpoint, strings.Replace(liveScenario, "turns:", tt.limit, 1))
			wants(t, rec, tt.outcome, tt.kind, tt.want)
			if rec.Cause != nil && rec.Cause.Blame != tt.blame {
				t.Errorf("blames %q, want %q", rec.Cause.Blame, tt.blame)
			}
		})
	}
}

// TestMockTimeLimit holds that a fault that makes a mock slow fails a subject
// that waits past the limit.
func TestMockTimeLimit(t *testing.T) {
	const slow = `
scenario: slow
limits: {time: 60s}
turns:
  - user: hi
    replies: [{say: hello, fault: {kind: slow_headers, delay: 90s}}]
    expect: [{answer: {equals: hello}}]
`
	rec := one(t, write(t, slow), run.Options{Subject: agent.Subject(nil)})
	wants(t, rec, harness.OutcomeFailed, trials.CauseLimits, "limit exceeded: time")
	if rec.Cause.Blame != trials.BlameSubject {
		t.Errorf("blames %q", rec.Cause.Blame)
	}
}

// TestLiveCutOff has replies that are cut off at their limit of tokens, in each
// dialect that an agent reads by itself and whether it says so or not.
func TestLiveCutOff(t *testing.T) {
	cut := func(message string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"length","message":`+message+`}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)
		})
	}
	const text = `{"role":"assistant","content":"It is 2"}`
	const call = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"get_weather","arguments":"{\"loc"}}]}`
	tests := []struct {
		name, expect, message string
		outcome               harness.Outcome
		kind                  trials.CauseKind
		want                  string
	}{
		{"no calls wanted", "calls: []", text, harness.OutcomePassed, "", ""},
		{"the stop wanted", "stops: length", text, harness.OutcomePassed, "", ""},
		{"a call wanted", "calls: [{weather.get_weather: {location: Paris}}]", text, harness.OutcomeFailed, trials.CauseExpectation, "turn 1: stopped (length): the reply was cut at the token limit, after 7 characters"},
		{"an answer wanted", "answer: {contains: ['21']}", text, harness.OutcomeFailed, trials.CauseExpectation, "stopped (length)"},
		{"a call cut off", "calls: [{weather.get_weather: {location: Paris}}]", call, harness.OutcomeFailed, trials.CauseExpectation, "turn 1: stopped (length)"},
		{"a call cut off, the stop wanted", "stops: length", call, harness.OutcomePassed, "", ""},
	}
	for _, tt := range tests {
		for _, stream := range []string{"false", "true"} {
			t.Run(tt.name+", stream "+stream, func(t *testing.T) {
				endpoint := cut(tt.message)
				if stream == "true" {
					endpoint = streamed(tt.message)
				}
				rec := playLiveBy(t, agent.Subject(nil), endpoint, "\nscenario: s\nservers: {WEATHER}\nmodel: {stream: "+stream+"}\nturns:\n  - user: Paris?\n    expect:\n      - "+tt.expect+"\n")
				wants(t, rec, tt.outcome, tt.kind, tt.want)
				if rec.Cause != nil && rec.Cause.Blame != trials.BlameModel {
					t.Errorf("blames %q", rec.Cause.Blame)
				}
				if rec.Counts.ToolCalls != 0 {
					t.Error("a call that was cut off was run")
				}
			})
		}
	}
}

// streamed is a reply in pieces that is cut off.
func streamed(message string) http.Handler {
	delta := strings.Replace(message, `[{"id"`, `[{"index":0,"id"`, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":`+delta+`}]}`+"\n\n"+
			`data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n")
	})
}

// TestLiveCutOffDialects has a subject that does not say why its turn ends with
// an error, after a reply that was cut off: the journal tells, in each dialect.
func TestLiveCutOffDialects(t *testing.T) {
	for path, body := range map[string]string{
		"/chat/completions":         `{"choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant","content":"It"}}]}`,
		"/responses":                `{"id":"r","object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"It"}]}]}`,
		"/messages":                 `{"id":"m","type":"message","role":"assistant","stop_reason":"max_tokens","content":[{"type":"text","text":"It"}]}`,
		"/models/m:generateContent": `{"candidates":[{"content":{"role":"model","parts":[{"text":"It"}]},"finishReason":"MAX_TOKENS"}]}`,
	} {
		endpoint := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		subject := sender(func(ctx context.Context, env *harness.Env) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, env.Endpoint.BaseURL+path, strings.NewReader(`{"model":"m","messages":[]}`))
			if err != nil {
				return err
			}
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			res, err := client.Do(req)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			return io.ErrUnexpectedEOF
		})
		t.Run(path, func(t *testing.T) {
			rec := playLiveBy(t, subject, endpoint, "\nscenario: s\nturns: [{user: hi, expect: [{calls: []}]}]\n")
			wants(t, rec, harness.OutcomeFailed, trials.CauseSubject)
			if rec.Cause.Blame != trials.BlameModel {
				t.Errorf("blames %q", rec.Cause.Blame)
			}
			rec = playLiveBy(t, subject, endpoint, "\nscenario: s\nturns: [{user: hi, expect: [{stops: length}]}]\n")
			wants(t, rec, harness.OutcomePassed, "")
		})
	}
}
