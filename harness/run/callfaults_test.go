// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	mockfault "github.com/rehearse-dev/rehearse/mockllm/fault"
)

// callFault is a conversation in which a fault strikes the first reply, one
// with two calls.
func callFault(f, expect string, stream bool) string {
	return fmt.Sprintf(`
scenario: a fault of calls
model: {stream: %v}
servers: {WEATHER}
turns:
  - user: Paris and Oslo?
    replies:
      - {calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Oslo}}], fault: %s}
      - {say: "It is warm in Zürich."}
    expect: [%s]
  - user: And Rome?
    replies:
      - calls: [{weather.get_weather: {location: Rome}}]
      - say: It is warm.
    expect: [{answer: {equals: It is warm.}}, {calls: [weather.get_weather]}]
`, stream, f, expect)
}

// What is expected of the turn that a fault strikes.
const (
	bothRan   = "{that: 'trajectory.size() == 2 && trajectory.all(c, c.result.place == c.args.location)'}, {answer: {contains: Zürich}}"
	secondRan = "{that: 'trajectory.size() == 2 && !has(trajectory[0].result) && trajectory[1].result.place == \"Oslo\" && journal.tool_calls == 1'}, {answer: {contains: Zürich}}"
	firstRan  = "{that: 'trajectory.size() == 2 && journal.tool_calls == 2 && trajectory[1].result.place == \"Oslo\"'}, {answer: {contains: Zürich}}"
	noneMade  = "{calls: []}, {never: ['*']}, {that: 'trajectory.size() == 0 && journal.tool_calls == 0'}"
)

// TestCallFaults plays every fault of calls, in every form, with our agent: it
// answers what can be run, and tells the model of what cannot.
func TestCallFaults(t *testing.T) {
	expect := map[mockfault.Kind]string{
		mockfault.BadArguments: secondRan, mockfault.UnknownTool: secondRan, mockfault.DuplicateIDs: bothRan, mockfault.ReusedIDs: bothRan,
		mockfault.MissingID: bothRan, mockfault.MissingName: "{stops: malformed}", mockfault.IndexZero: bothRan, mockfault.NullDeltas: bothRan,
		mockfault.FinishEachCall: bothRan, mockfault.FinishStop: bothRan, mockfault.LeakedCall: noneMade + ", {answer: {contains: \"I'll look.\"}}",
		mockfault.TextAndCalls: bothRan, mockfault.ToolsIgnored: noneMade + ", {answer: {contains: no tools}}",
	}
	forms := map[string]string{ // the forms that come to something else
		"bad_arguments/object": bothRan, "bad_arguments/empty": firstRan, "bad_arguments/null": firstRan,
	}
	for _, info := range mockfault.Kinds() {
		if info.Group != "calls" {
			continue
		}
		names := []string{""}
		for _, f := range info.Forms {
			names = append(names, f.Name)
		}
		for _, form := range names {
			for _, stream := range []bool{true, false} {
				f := mockfault.Fault{Kind: info.Kind, Form: form}
				if !f.Applies(stream) {
					continue
				}
				t.Run(fmt.Sprintf("%s stream=%v", &f, stream), func(t *testing.T) {
					want, ok := forms[f.String()]
					if !ok {
						want = expect[info.Kind]
					}
					text := fmt.Sprintf("{kind: %s}", info.Kind)
					if form != "" {
						text = fmt.Sprintf("{kind: %s, form: %q}", info.Kind, form)
					}
					rec := one(t, write(t, callFault(text, want, stream)), run.Options{Subject: agent.Subject(nil)})
					wants(t, rec, harness.OutcomePassed, "")
				})
			}
		}
	}
}

// TestCallsAsOnTheWire plays replies whose calls have other ids or arguments on
// the wire than in the script: the journal has those, in every dialect that
// writes calls so, straight and through a proxy.
func TestCallsAsOnTheWire(t *testing.T) {
	const ran = "{that: 'trajectory.size() == 2 && journal.tool_calls == 2'}, {answer: {contains: Zürich}}"
	for _, f := range []string{
		"[]", "{kind: missing_id, form: absent}", "{kind: missing_id, form: empty}", "{kind: duplicate_ids}", "{kind: reused_ids}",
		"{kind: bad_arguments, form: array}", "{kind: bad_arguments, form: \"null\"}", "{kind: bad_arguments, form: double_encoded}",
	} {
		for _, profile := range []string{"anthropic", "gemini", "argo-proxy-3.1"} {
			for _, d := range []string{"messages", "gemini"} {
				bad, straight := strings.Contains(f, "bad_arguments"), profile != "argo-proxy-3.1"
				if straight && (profile == "gemini") != (d == "gemini") || // which it has not
					straight && bad && d == "gemini" || // the provider gives up the reply
					d == "messages" && strings.Contains(f, "_ids}") { // refused in the history
					continue
				}
				for _, stream := range []bool{true, false} {
					if bad && stream && d == "messages" {
						continue // a text in pieces, see TestCallFaults
					}
					t.Run(fmt.Sprintf("%s %s %s stream=%v", f, profile, d, stream), func(t *testing.T) {
						text := strings.Replace(callFault(f, ran, stream), "model: {", "model: {profile: "+profile+", ", 1)
						rec := one(t, write(t, text), run.Options{Subject: agent.Subject(nil), Dialect: d})
						wants(t, rec, harness.OutcomePassed, "")
					})
				}
			}
		}
	}
}

// TestCallsThatAProxyJoins has calls of one id, which a proxy makes one of: its
// client is held to the call that it was told of.
func TestCallsThatAProxyJoins(t *testing.T) {
	text := callFault("{kind: duplicate_ids}", "{that: 'trajectory.size() == 1'}, {answer: {contains: Zürich}}", true)
	text = strings.Replace(text, "model: {", "model: {profile: argo-proxy-3.1, ", 1)
	rec := one(t, write(t, text), run.Options{Subject: agent.Subject(nil), Dialect: "messages"})
	wants(t, rec, harness.OutcomePassed, "")
}

// liar is a client between the mock model and a subject: it hands on what the
// model says, changed, so that the subject does something else.
func liar(subject harness.Subject, change func(call *toolCall) string) harness.Subject {
	return harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		session, err := subject.Open(ctx, env)
		if err != nil {
			return nil, err
		}
		session.(*looper).answers = change
		return session, nil
	})
}

// TestCallFaultsOfFaultySubjects plays faults of calls with clients that do the
// wrong thing with them.
func TestCallFaultsOfFaultySubjects(t *testing.T) {
	tests := []struct {
		name, fault, expect string
		subject             harness.Subject
		kind                trials.CauseKind
		message             string
	}{
		{
			name: "drops the answer to a call that it cannot make", fault: "{kind: bad_arguments, form: cut}", expect: secondRan, kind: trials.CauseRefusal,
			subject: liar(loop{}, func(*toolCall) string { return "" }), message: "answered_once: call weather.get_weather {\"locatio",
		},
		{
			name: "answers a call that could be made by itself", fault: "{kind: text_and_calls}", expect: bothRan, kind: trials.CauseConduct,
			subject: liar(loop{}, func(*toolCall) string { return "It is sunny." }), message: "the server was never called",
		},
		{
			name: "loses a call with the id of another", fault: "{kind: duplicate_ids}", expect: bothRan, kind: trials.CauseRefusal,
			subject: loop{drops}, message: "was never answered",
		},
		{
			name: "makes a call of a text", fault: "{kind: leaked_call, form: json}", expect: noneMade, kind: trials.CauseConduct,
			subject: loop{after}, message: "was called after the answer",
		},
		{
			name: "takes text for the whole reply", fault: "{kind: text_and_calls, body: Wait.}", expect: bothRan, kind: trials.CauseConduct,
			subject: loop{onlyText}, message: "was never answered",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := one(t, write(t, callFault(tt.fault, tt.expect, false)), run.Options{Subject: tt.subject})
			wants(t, rec, harness.OutcomeFailed, tt.kind, tt.message)
		})
	}
}

// TestIdleFaults has a warning for each fault that struck nothing, since the
// scenario does not test what it was written for.
func TestIdleFaults(t *testing.T) {
	list := write(t, `
scenario: idle
model:
  stream: false
  faults:
    - {kind: server_error, at: {turn: 7}}
    - {kind: server_error, when: 'request.model == "other"'}
    - {kind: connection_close, at: {turn: 1}}
    - {kind: gzip, probability: 0.0001}
turns:
  - user: hi
    replies: [{say: hello, fault: [{kind: cut_done}]}]
    expect: [{answer: {equals: hello}}]
`)
	rec := one(t, list, run.Options{Subject: agent.Subject(nil)})
	wants(t, rec, harness.OutcomePassed, "")
	var got trials.Verdict
	for _, v := range rec.Verdicts {
		if v.Check == "faults_struck" {
			got = v
		}
	}
	if got.State != trials.Warned || got.Pos.Line != 5 {
		t.Errorf("%s at %s", got.State, got.Pos)
	}
	for _, part := range []string{
		"s.yaml:5:7 struck no request: no request was at its place (turn 7)", "s.yaml:6:7 struck no request: its condition held for no request",
		"the fault cut_done at", "it strikes only streams, and no request asked for one",
	} {
		if !strings.Contains(got.Message, part) {
			t.Errorf("the warning is %q, want one with %q", got.Message, part)
		}
	}
	if strings.Contains(got.Message, "connection_close") {
		t.Errorf("the warning is %q, and one of them struck", got.Message)
	}
}

// TestFaultsOfCallsOnATextAlone has a fault of calls pass by a reply that has
// none, so that those of the model strike it, and says why it struck nothing.
func TestFaultsOfCallsOnATextAlone(t *testing.T) {
	for _, say := range []string{"hello", "'hello {{user}}'"} {
		list := write(t, `
scenario: idle
model: {faults: [{kind: bad_arguments}, {kind: rate_limit}]}
turns:
  - user: hi
    replies: [{say: `+say+`, fault: {kind: unknown_tool}}]
    expect: [{retries: {min: 1, max: 1}}]
`)
		rec := one(t, list, run.Options{Subject: agent.Subject(nil)})
		wants(t, rec, harness.OutcomePassed, "")
		for _, v := range rec.Verdicts {
			const why = "it strikes tool calls, and no matching reply has any"
			if v.Check == "faults_struck" && (v.State != trials.Warned || strings.Count(v.Message, why) != 2 || strings.Contains(v.Message, "rate_limit")) {
				t.Errorf("%s: %s", v.State, v.Message)
			}
		}
	}
}

// TestEveryFault has a green test of every fault, in every form and at any
// reply: either the conversation comes to its end, and conduct is as it should
// be, or the agent gives up and there is a word for it.
func TestEveryFault(t *testing.T) {
	const conversation = `
scenario: a fault
CONDUCT
model: {stream: STREAM}
servers: {WEATHER}
turns:
  - user: Paris and Oslo?
    replies:
      - calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Oslo}}]
        fault: FIRST
      - say: "It is warm in Zürich."
        fault: SECOND
    EXPECT
  - user: And Rome?
    replies:
      - calls: [{weather.get_weather: {location: Rome}}]
      - say: It is warm.
`
	for _, info := range mockfault.Kinds() {
		forms := []string{""}
		for i, f := range info.Forms {
			if i > 0 {
				forms = append(forms, f.Name)
			}
		}
		for _, form := range forms {
			for _, stream := range []bool{true, false} {
				f := mockfault.Fault{Kind: info.Kind, Form: form}
				if !f.Applies(stream) {
					continue
				}
				text := fmt.Sprintf("{kind: %s}", info.Kind)
				if form != "" {
					text = fmt.Sprintf("{kind: %s, form: %q}", info.Kind, form)
				}
				for reply := 1; reply <= 2; reply++ {
					t.Run(fmt.Sprintf("%s stream=%v reply %d", &f, stream, reply), func(t *testing.T) {
						faults := []string{"[]", "[]"}
						faults[reply-1] = text
						body := strings.NewReplacer("STREAM", fmt.Sprint(stream), "FIRST", faults[0], "SECOND", faults[1]).Replace(conversation)
						var stop harness.StopReason
						subject := bend(agent.Subject(nil), func(r *harness.TurnReport, err error) (*harness.TurnReport, error) {
							if r != nil && r.Stop != "" {
								stop = r.Stop
							}
							return r, err
						})
						rec := one(t, write(t, strings.NewReplacer("CONDUCT", "conduct_only: true", "EXPECT", "expect: []").Replace(body)), run.Options{Subject: subject})
						if stop == "" {
							wants(t, rec, harness.OutcomePassed, "")
							return
						}
						wants(t, rec, harness.OutcomeFailed, trials.CauseSubject)
						rec = one(t, write(t, strings.NewReplacer("CONDUCT", "tags: []", "EXPECT", fmt.Sprintf("expect: [{stops: %s}]", stop)).Replace(body)), run.Options{Subject: subject})
						wants(t, rec, harness.OutcomePassed, "")
					})
				}
			}
		}
	}
}
