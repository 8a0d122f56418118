// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// lasting is a conversation in whose first turn the endpoint does not get over
// a fault. The second turn shows that nothing was lost.
func lasting(fault, stops string, stream bool, reply int) string {
	faults := map[int]string{reply: ", fault: " + fault}
	return fmt.Sprintf(`
scenario: a lasting fault
model: {stream: %v}
servers: {WEATHER}
turns:
  - user: Paris and Oslo?
    replies:
      - {calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Oslo}}]%s}
      - {say: "It is warm in Zürich."%s}
    expect: [{stops: %s}]
  - user: And Rome?
    replies:
      - calls: [{weather.get_weather: {location: Rome}}]
      - say: It is warm.
    expect: [{answer: {equals: It is warm.}}]
`, stream, faults[1], faults[2], stops)
}

// TestLastingFaults has the word for each way in which an endpoint makes an
// agent give up: the trial passes with our agent, in any reply, streamed or
// not.
func TestLastingFaults(t *testing.T) {
	const both, streams, plain = "both", "streams", "plain"
	tests := []struct{ fault, stops, strikes string }{
		{"{kind: unauthorized, times: always}", "auth", both},
		{"{kind: forbidden, times: always}", "auth", both},
		{"{kind: model_not_found, times: always}", "not_found", both},
		{"{kind: bad_request, times: always}", "bad_request", both},
		{"{kind: string_error, times: always}", "bad_request", both},
		{"{kind: error_completion, times: always}", "bad_request", both},
		{"{kind: rate_limit, times: always}", "rate_limit", both},
		{"{kind: quota, times: always}", "quota", both},
		{"{kind: server_error, times: always}", "server", both},
		{"{kind: overloaded, times: always}", "server", both},
		{"{kind: html_page, times: always}", "server", both},
		{"{kind: in_stream_error, times: always}", "server", both},
		{"{kind: request_timeout, times: always}", "timeout", both},
		{"{kind: hang, form: headers, times: always}", "timeout", both},
		{"{kind: hang, form: body, times: always}", "timeout", both},
		{"{kind: stall, delay: 15m, times: always}", "timeout", both},
		{"{kind: slow_headers, delay: 15m, times: always}", "timeout", both},
		{"{kind: reset, form: before, times: always}", "connection", both},
		{"{kind: reset, form: during, times: always}", "reset", both},
		{"{kind: cut, times: always}", "reset", both},
		{"{kind: raw_status, times: always}", "reset", streams},
		{"{kind: cut_done, times: always}", "cut_stream", streams},
		{"{kind: truncated, times: always}", "cut_stream", streams},
		{"{kind: open_end, times: always}", "cut_stream", streams},
		{"{kind: malformed_json}", "malformed", streams},
		{"{kind: malformed_json, form: python}", "malformed", plain},
		{"{kind: malformed_json, form: garbage, times: always}", "malformed", both},
		{"{kind: empty_body, times: always}", "empty", both},
		{"{kind: swallowed_error, times: always}", "empty", both},
		{"{kind: empty_reply, form: no_choices, times: always}", "empty", plain},
		{"{kind: empty_reply}", "empty_reply", both},
		{"{kind: empty_reply, form: length}", "length", both},
		{"{kind: repetition}", "length", both},
		{"{kind: too_large}", "context_overflow", both},
		{"{kind: context_overflow, form: in_stream}", "context_overflow", both},
		{"{kind: context_overflow, form: empty_200}", "empty_reply", both},
		{"{kind: content_filter}", "content_filter", both},
		{"{kind: unauthorized, times: always}", "error", both},
	}
	for _, tt := range tests {
		for _, stream := range []bool{true, false} {
			if tt.strikes == streams && !stream || tt.strikes == plain && stream {
				continue
			}
			for reply := 1; reply <= 2; reply++ {
				t.Run(fmt.Sprintf("%s %s stream=%v reply %d", tt.stops, tt.fault, stream, reply), func(t *testing.T) {
					rec := one(t, write(t, lasting(tt.fault, tt.stops, stream, reply)), run.Options{Subject: agent.Subject(nil)})
					wants(t, rec, harness.OutcomePassed, "")
				})
			}
		}
	}
}

// bent is a subject whose turns end otherwise than those of the one below.
type bent struct {
	harness.Session
	bend func(*harness.TurnReport, error) (*harness.TurnReport, error)
}

func (s bent) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	return s.bend(s.Session.Send(ctx, text))
}

func bend(subject harness.Subject, f func(*harness.TurnReport, error) (*harness.TurnReport, error)) harness.Subject {
	return harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		session, err := subject.Open(ctx, env)
		if err != nil {
			return nil, err
		}
		return bent{session, f}, nil
	})
}

// TestStopsOfFaultySubjects plays a lasting fault against subjects that do not
// give up as they should, and ones of which less is known.
func TestStopsOfFaultySubjects(t *testing.T) {
	const unauthorized = "{kind: unauthorized, times: always}"
	tests := []struct {
		name         string
		fault, stops string
		subject      harness.Subject
		outcome      harness.Outcome
		kind         trials.CauseKind
		message      string
	}{
		{
			name: "makes an answer of it", fault: unauthorized, stops: "auth", outcome: harness.OutcomeFailed, kind: trials.CauseExpectation,
			subject: bend(agent.Subject(nil), func(r *harness.TurnReport, err error) (*harness.TurnReport, error) {
				if err != nil {
					r.Answer, r.Stop, r.Error = "I could not.", "", ""
				}
				return r, nil
			}),
			message: `want a stop (auth), got the answer "I could not."`,
		},
		{
			name: "gives another reason", fault: unauthorized, stops: "rate_limit", subject: agent.Subject(nil),
			outcome: harness.OutcomeFailed, kind: trials.CauseExpectation, message: "want a stop (rate_limit), got a stop (auth): auth (HTTP 401)",
		},
		{
			name: "an answer, and a stop was wanted", fault: "{kind: server_error}", stops: "server", subject: agent.Subject(nil),
			outcome: harness.OutcomeFailed, kind: trials.CauseExpectation, message: `want a stop (server), got the answer "It is warm in Zürich."`,
		},
		{
			name: "no reason but the text", fault: unauthorized, stops: "auth", subject: loop{}, outcome: harness.OutcomePassed,
		},
		{
			name: "no report at all", fault: unauthorized, stops: "auth", outcome: harness.OutcomePassed,
			subject: bend(loop{}, func(r *harness.TurnReport, err error) (*harness.TurnReport, error) {
				if err != nil {
					return nil, errors.New("no luck")
				}
				return r, nil
			}),
		},
		{
			name: "any error", fault: unauthorized, stops: "error", subject: loop{}, outcome: harness.OutcomePassed,
		},
		{
			name: "no reason, and the endpoint gave another", fault: unauthorized, stops: "server", subject: loop{},
			outcome: harness.OutcomeFailed, kind: trials.CauseExpectation, message: "which gives no reason; the endpoint's last answer was HTTP 401",
		},
		{
			name: "a body that is cut off", fault: "{kind: cut, times: always}", stops: "cut_stream", subject: loop{}, outcome: harness.OutcomePassed,
		},
		{
			name: "breaks where nothing is wrong", fault: "{kind: connection_close}", stops: "server", subject: loop{breaks},
			outcome: harness.OutcomeFailed, kind: trials.CauseSubject, message: `got the error "connection pool is closed", which gives no reason; the endpoint was not asked`,
		},
		{
			name: "panics", fault: unauthorized, stops: "error", subject: loop{panics},
			outcome: harness.OutcomeFailed, kind: trials.CauseSubject, message: "the subject panicked",
		},
		{
			name: "a stop of its own was wanted", fault: unauthorized, stops: "model_calls", subject: loop{},
			outcome: harness.OutcomeFailed, kind: trials.CauseSubject, message: "HTTP 401",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := one(t, write(t, lasting(tt.fault, tt.stops, false, 2)), run.Options{Subject: tt.subject})
			wants(t, rec, tt.outcome, tt.kind, tt.message)
		})
	}
}

// TestRepliesAfterAStop has that nothing is missed that a turn had still to
// say when it ended as it was to end; and that it is missed elsewhere.
func TestRepliesAfterAStop(t *testing.T) {
	const body = `
scenario: enough
subject: {max_model_calls: 1}
servers: {WEATHER}
turns:
  - user: Paris?
    replies:
      - calls: [{weather.get_weather: {location: Paris}}]
      - calls: [{weather.get_weather: {location: Oslo}}]
      - say: It is warm.
    EXPECT
`
	for _, tt := range []struct {
		name, expect string
		outcome      harness.Outcome
		kind         trials.CauseKind
		message      string
	}{
		{name: "of the turn", expect: "expect: [{stops: model_calls}]", outcome: harness.OutcomePassed},
		{name: "of the conversation", expect: "\nexpect: [{stops: model_calls}]", outcome: harness.OutcomePassed},
		{name: "another stop", expect: "expect: [{stops: tokens}]", outcome: harness.OutcomeFailed, kind: trials.CauseConduct, message: "2 scripted replies not reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := one(t, write(t, strings.Replace(body, "EXPECT", tt.expect, 1)), run.Options{Subject: agent.Subject(nil)})
			wants(t, rec, tt.outcome, tt.kind, tt.message)
		})
	}
}

// TestStopsOfTheAgent has our agent stop of its own accord, in the first turn,
// and go on in the second, with all of conduct on.
func TestStopsOfTheAgent(t *testing.T) {
	paris := "[{weather.get_weather: {location: Paris}}]"
	for _, tt := range []struct{ name, subject, replies, stops string }{
		{"a call again and again", "{max_repeats: 2}", "[{calls: " + paris + "}, {calls: " + paris + "}]", "repeated_call"},
		{"calls that are cut off", "{}", "[{calls: " + paris + "}, {calls: " + paris + ", finish: length}]", "length"},
		{"calls that are filtered", "{}", "[{calls: " + paris + ", finish: content_filter}]", "content_filter"},
		{"time, inside a reply", "{time_limit: 5s}", "[{calls: " + paris + "}, {say: It is warm., fault: {kind: stall, delay: 10s}}]", "time"},
		{"time, before a reply", "{time_limit: 5s}", "[{calls: " + paris + "}, {say: It is warm., fault: {kind: slow_headers, delay: 5s}}]", "time"},
		{"time, inside a slow reply", "{time_limit: 5s}", "[{calls: " + paris + "}, {say: It is very warm in Paris today., fault: {kind: slow_stream, delay: 2s}}]", "time"},
		{"tokens, inside a reply", "{token_limit: 400}", "[{say: It is warm., fault: {kind: long_reply, size: 20000}}]", "tokens"},
		{"too long a message", "{}", "[{say: It is warm., fault: {kind: context_overflow}}]", "context_overflow"},
		{"too long a result", "{}", "[{calls: " + paris + "}, {say: It is warm., fault: {kind: context_overflow}}]", "context_overflow"},
		{"too long a result, in the stream", "{}", "[{calls: " + paris + "}, {say: It is warm., fault: {kind: context_overflow, form: in_stream}}]", "context_overflow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `
scenario: enough
model: {stream: true}
subject: ` + tt.subject + `
servers: {WEATHER}
turns:
  - user: Paris?
    replies: ` + tt.replies + `
    expect: [{stops: ` + tt.stops + `}]
  - user: And Oslo?
    replies:
      - calls: [{weather.get_weather: {location: Oslo}}]
      - say: Cold.
`
			if tt.stops == "tokens" { // a conversation has them once
				body = body[:strings.Index(body, "  - user: And Oslo?")]
			}
			rec := one(t, write(t, body), run.Options{Subject: agent.Subject(nil)})
			wants(t, rec, harness.OutcomePassed, "")
		})
	}
}

// TestTimeLimitInACall has the agent break off a call that takes too long.
func TestTimeLimitInACall(t *testing.T) {
	const body = `
scenario: slow
subject: {time_limit: 5s}
servers:
  lab: {tools: [{name: run, results: [{text: done, latency: LATENCY}]}]}
turns:
  - user: Run it
    replies:
      - calls: [lab.run]
      - say: Done.
    expect: [EXPECT]
`
	for latency, expect := range map[string]string{"10m": "{stops: time}", "4s": "{answer: {equals: Done.}}"} {
		rec := one(t, write(t, strings.NewReplacer("LATENCY", latency, "EXPECT", expect).Replace(body)), run.Options{Subject: agent.Subject(nil)})
		wants(t, rec, harness.OutcomePassed, "")
	}
}

// TestLongRetryAfter has our agent give up on an endpoint that wants more
// patience than it has, and say so.
func TestLongRetryAfter(t *testing.T) {
	list := write(t, lasting("{kind: rate_limit, retry_after: 3m}", "server", false, 2))
	wants(t, one(t, list, run.Options{Subject: agent.Subject(nil)}), harness.OutcomeFailed, trials.CauseExpectation,
		"want a stop (server), got a stop (rate_limit)", "it asks to wait 3m0s, and 2m0s is the most that is waited")
}
