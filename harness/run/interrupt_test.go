// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
)

const interrupted = `
scenario: stopped
servers:
  files:
    transport: TRANSPORT
    state: {deleted: 0}
    tools:
      - name: delete
        input: {type: object, properties: {path: {type: string}}}
        results: [{json: {ok: true}, set: {deleted: {$cel: state.deleted + 1}}}]
      - {name: list, results: [{json: [/a, /b]}]}
subject: {tool_concurrency: 1}
turns:
  - user: Delete everything.
    HOW: {when: tool_started files.delete, nth: 2}
    replies:
      - calls: [{files.delete: {path: /a}}]
      - calls: [files.list, {files.delete: {path: /b}}, {files.delete: {path: /c}}]
    expect:
      - stops: interrupted
      - state: {files: {deleted: 2}}
  - user: What is left?
    replies:
      - calls: [files.list]
      - say: I cannot tell.
    expect:
      - answer: {contains: [cannot]}
      - calls: [files.list]
expect:
  - state: {files: {deleted: 2}}
  - that: 'trajectory.size() == 5 && trajectory[2].executed && !trajectory[3].executed'
  - that: 'journal.told[2].contains("not known") && journal.told[3].contains("not run")'
`

func stopped(how, transport string) string {
	return strings.NewReplacer("HOW", how, "TRANSPORT", transport).Replace(interrupted)
}

// TestInterrupt ends a turn while a tool runs. The next one goes on from a
// history in which each call has one answer.
func TestInterrupt(t *testing.T) {
	for _, transport := range []string{"stdio", "http", "sse", "ws"} {
		t.Run(transport, func(t *testing.T) {
			rec := one(t, write(t, stopped("interrupt", transport)), run.Options{Subject: agent.Subject(nil)})
			wants(t, rec, harness.OutcomePassed, "")
			for _, v := range rec.Verdicts {
				if v.Check == "cancelled_sent" && v.State != trials.Passed && transport != "http" { // there, the stream ends
					t.Errorf("cancelled_sent: %s, %s", v.State, v.Message)
				}
			}
		})
	}
}

// edited is a model whose requests are changed on their way.
type edited struct {
	model.Model
	edit func(*model.Request)
}

func (m edited) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	changed := *r
	changed.Messages = slices.Clone(r.Messages)
	m.edit(&changed)
	return m.Model.Generate(ctx, &changed)
}

// editing is the agent, in whose requests of the second turn the history of the
// first is changed.
func editing(edit func(*model.Request)) harness.Subject {
	return harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		client := model.NewOpenAI(model.Config{BaseURL: env.Endpoint.BaseURL, APIKey: env.Endpoint.APIKey, Transport: env.Endpoint.Transport, Clock: env.Clock})
		later := func(r *model.Request) {
			if i := slices.IndexFunc(r.Messages, func(m harness.Message) bool { return m.Text == "What is left?" }); i >= 0 {
				before := model.Request{Messages: slices.Clone(r.Messages[:i])}
				edit(&before)
				r.Messages = slices.Concat(before.Messages, r.Messages[i:])
			}
		}
		return agent.Subject(&agent.Config{Model: edited{client, later}}).Open(ctx, env)
	})
}

// isAnswer reports whether a message answers a call that was broken off.
func isAnswer(m harness.Message) bool {
	return m.Role == harness.RoleTool && strings.Contains(m.Text, "not known")
}

// executesAgain calls a tool once more after its turn was interrupted.
type executesAgain struct {
	harness.Session
	env  *harness.Env
	done bool
}

func (s *executesAgain) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	if s.done {
		session, err := mcppool.Open(ctx, s.env.Servers[0], nil)
		if err != nil {
			return nil, err
		}
		defer session.Close()
		if _, err := session.Call(ctx, "delete", json.RawMessage(`{"path":"/b"}`)); err != nil {
			return nil, err
		}
	}
	s.done = true
	return s.Session.Send(ctx, text)
}

// uncancelled drops what cancels calls.
type uncancelled struct{ io.ReadWriteCloser }

func (c uncancelled) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "notifications/cancelled") {
		return len(b), nil
	}
	return c.ReadWriteCloser.Write(b)
}

// unmoved does not heed the end of its context.
type unmoved struct{ harness.Session }

func (s unmoved) Send(_ context.Context, text string) (*harness.TurnReport, error) {
	return s.Session.Send(context.Background(), text)
}

// TestInterruptFaults has subjects do the worst after an interrupt.
func TestInterruptFaults(t *testing.T) {
	tests := []struct {
		name    string
		subject harness.Subject
		kind    trials.CauseKind
		message string
	}{
		{"drops the answer", editing(func(r *model.Request) { r.Messages = slices.DeleteFunc(r.Messages, isAnswer) }), trials.CauseRefusal, "was never answered"},
		{"drops the calls", editing(func(r *model.Request) {
			r.Messages = slices.DeleteFunc(r.Messages, func(m harness.Message) bool {
				return m.Role == harness.RoleTool || len(m.Calls) > 0
			})
		}), trials.CauseConduct, "later requests contain neither the call nor its result"},
		{"drops the turn", editing(func(r *model.Request) { r.Messages = nil }), trials.CauseConduct, "later requests contain neither the call nor its result"},
		{"answers twice", editing(func(r *model.Request) {
			i := slices.IndexFunc(r.Messages, isAnswer)
			r.Messages = slices.Insert(r.Messages, i, r.Messages[i])
		}), "", "was answered 2 times"},
		{"executes twice", around(func(s harness.Session, env *harness.Env) harness.Session { return &executesAgain{Session: s, env: env} }), trials.CauseConduct, "but the client sent it 2 times"},
		{"does not cancel", harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
			bad := *env
			bad.Servers = slices.Clone(env.Servers)
			dial := bad.Servers[0].Dial
			bad.Servers[0].Dial = func(ctx context.Context) (io.ReadWriteCloser, error) {
				conn, err := dial(ctx)
				return uncancelled{conn}, err
			}
			return agent.Subject(nil).Open(ctx, &bad)
		}), trials.CauseConduct, "without sending notifications/cancelled"},
		{"does not stop", around(func(s harness.Session, _ *harness.Env) harness.Session { return unmoved{s} }), trials.CauseSubject, "turn 1: the subject did not end the turn within"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			grace := time.Duration(0) // the default
			if tt.kind == trials.CauseSubject {
				grace = time.Millisecond
			}
			rec := one(t, write(t, stopped("interrupt", "stdio")), run.Options{Subject: tt.subject, Grace: grace})
			if tt.kind == "" && rec.Cause != nil {
				tt.kind = rec.Cause.Kind
			}
			wants(t, rec, harness.OutcomeFailed, tt.kind, tt.message)
		})
	}
}

// around is the agent with its sessions wrapped.
func around(wrap func(harness.Session, *harness.Env) harness.Session) harness.Subject {
	return harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		session, err := agent.Subject(nil).Open(ctx, env)
		if err != nil {
			return nil, err
		}
		return wrap(session, env), nil
	})
}

// TestInterruptDoesNotCome ends a trial whose tool is not called by what did not
// happen, whatever else was expected of the turn. A model that need not call it
// has failed, also where its recording is played.
func TestInterruptDoesNotCome(t *testing.T) {
	for _, how := range []string{"interrupt", "kill"} {
		for _, expect := range []string{"{answer: {equals: hello}}", "{stops: interrupted}", "{answer: {equals: something else}}"} {
			t.Run(how+" "+expect, func(t *testing.T) {
				list := write(t, `
scenario: never
servers: {WEATHER}
turns:
  - user: hi
    `+how+`: {when: tool_started weather.get_weather}
    replies: [{say: hello}]
    expect: [`+expect+`]
`)
				never := how + ": turn 1 ended before call 1 of weather.get_weather, so nothing interrupted it"
				rec := one(t, list, run.Options{Subject: agent.Subject(nil)})
				wants(t, rec, harness.OutcomeError, trials.CauseScenario, never)
				if rec.Cause.Pos.Line != 5 {
					t.Errorf("the cause stands at %s", rec.Cause.Pos)
				}
				r := recording{list: list, endpoint: func() http.Handler { return newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "hello"}}}, nil) }, opts: run.Options{Subject: agent.Subject(nil), APIKey: "secret"}}
				for _, rec := range []trials.Record{only(t, r.record(t)), only(t, r.replay(t, list))} {
					wants(t, rec, harness.OutcomeFailed, trials.CauseExpectation)
					if rec.Mode == harness.ModeMock || !strings.Contains(why(rec), never) {
						t.Errorf("mode %s: %s", rec.Mode, why(rec))
					}
				}
			})
		}
	}
}

// TestKill kills the subject while a tool runs. A new session resumes the
// conversation, and answers what was open.
func TestKill(t *testing.T) {
	for _, transport := range []string{"stdio", "http", "sse", "ws", "process"} {
		t.Run(transport, func(t *testing.T) {
			text := strings.ReplaceAll(stopped("kill", transport), `told[3].contains("not run")`, `told[3].contains("not known")`)
			rec := one(t, write(t, text), run.Options{Subject: agent.Subject(nil), Child: self()})
			wants(t, rec, harness.OutcomePassed, "")
		})
	}
}

// executesOpen runs the open calls of a conversation that it resumes.
type executesOpen struct {
	harness.Session
	env *harness.Env
}

func (s executesOpen) History() []harness.Message { return s.Session.(run.Resumer).History() }

func (s executesOpen) Resume(history []harness.Message) error {
	session, err := mcppool.Open(context.Background(), s.env.Servers[0], nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, call := range history[len(history)-1].Calls {
		if _, err := session.Call(context.Background(), call.Name, json.RawMessage(call.Arguments)); err != nil {
			return err
		}
	}
	return s.Session.(run.Resumer).Resume(history)
}

// forgetful begins anew when it resumes.
type forgetful struct{ harness.Session }

func (forgetful) History() []harness.Message { return nil }

func (forgetful) Resume([]harness.Message) error { return nil }

// unable cannot resume.
type unable struct{ harness.Session }

func TestKillFaults(t *testing.T) {
	text := stopped("kill", "stdio")
	rec := one(t, write(t, text), run.Options{Subject: around(func(s harness.Session, env *harness.Env) harness.Session { return executesOpen{s, env} })})
	wants(t, rec, harness.OutcomeFailed, rec.Cause.Kind, "was executed again after it had succeeded")
	rec = one(t, write(t, text), run.Options{Subject: around(func(s harness.Session, _ *harness.Env) harness.Session { return forgetful{s} })})
	wants(t, rec, harness.OutcomeFailed, trials.CauseConduct, "later requests contain neither the call nor its result")
	rec = one(t, write(t, text), run.Options{Subject: around(func(s harness.Session, _ *harness.Env) harness.Session { return unable{s} })})
	wants(t, rec, harness.OutcomeSkipped, trials.CauseScenario, "kill needs a subject that can resume a conversation")
}
