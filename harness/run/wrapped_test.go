// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// wrapped is a session with methods of its own in the place of another's; nil is
// that one's.
type wrapped struct {
	harness.Session
	send func(context.Context) (*harness.TurnReport, error)
	end  func() error
}

func (w *wrapped) Send(ctx context.Context, user string) (*harness.TurnReport, error) {
	if w.send != nil {
		return w.send(ctx)
	}
	return w.Session.Send(ctx, user)
}

func (w *wrapped) Close() error {
	if w.end != nil {
		return w.end()
	}
	return w.Session.Close()
}

func wrap(w wrapped) harness.Subject {
	return harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		session, err := loop{}.Open(ctx, env)
		w := w
		w.Session = session
		return &w, err
	})
}

// mute is an error that cannot be told where it is nil.
type mute struct{ text string }

func (m *mute) Error() string { return m.text }

// TestWrappedSessions: what a subject does besides answering.
func TestWrappedSessions(t *testing.T) {
	waits := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("asking the model: %w", ctx.Err())
	}
	patient := harness.SubjectFunc(func(context.Context, *harness.Env) (harness.Session, error) { // opened whatever the time
		return &wrapped{send: func(ctx context.Context) (*harness.TurnReport, error) { return nil, waits(ctx) }, end: func() error { return nil }}, nil
	})
	for _, tt := range []struct {
		name    string
		subject harness.Subject
		outcome harness.Outcome
		want    string
	}{
		{"as it is", wrap(wrapped{}), harness.OutcomePassed, ""},
		{
			"ends with its context", patient, harness.OutcomeFailed,
			"turn 1: the subject hangs: no answer within 50ms, after 0 model calls and 0 tool calls (the trial takes too long: asking the model: context canceled)",
		},
		{
			"opens with its context", harness.SubjectFunc(func(ctx context.Context, _ *harness.Env) (harness.Session, error) { return nil, waits(ctx) }), harness.OutcomeFailed,
			"the subject hangs: no answer within 50ms, after 0 model calls and 0 tool calls (opening the subject: the trial takes too long: asking the model: context canceled)",
		},
		{
			"sends without a result", wrap(wrapped{send: func(context.Context) (*harness.TurnReport, error) { runtime.Goexit(); return nil, nil }}), harness.OutcomeFailed,
			"turn 1: the subject ended its goroutine and returned nothing (runtime.Goexit, ",
		},
		{
			"fails with an error that panics", wrap(wrapped{send: func(context.Context) (*harness.TurnReport, error) { return nil, (*mute)(nil) }}), harness.OutcomeFailed,
			"turn 1: the subject panicked: ",
		},
		{"ends without a result", wrap(wrapped{end: func() error { runtime.Goexit(); return nil }}), harness.OutcomeFailed, "closing the subject: the subject ended its goroutine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := run.Options{Subject: tt.subject}
			if strings.HasSuffix(tt.name, "its context") {
				opts.Timeout = 50 * time.Millisecond
			}
			kind := trials.CauseSubject
			if tt.outcome == harness.OutcomePassed {
				kind = ""
			}
			wants(t, one(t, load(t, "testdata/two"), opts), tt.outcome, kind, tt.want)
		})
	}
}

// TestGivenTwice: a scenario cannot be played twice in one run, since nothing would
// tell its trials apart.
func TestGivenTwice(t *testing.T) {
	list := load(t, "testdata/two")
	_, err := run.Run(t.Context(), append(list, list...), &run.Options{Subject: loop{}, Out: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), " is given twice (testdata/two") {
		t.Errorf("error %v", err)
	}
}

// TestTestOfNothing: a test of a subject that can play nothing is no passed test.
func TestTestOfNothing(t *testing.T) {
	unable := harness.SubjectFunc(func(context.Context, *harness.Env) (harness.Session, error) {
		return nil, fmt.Errorf("%w: it is Monday", harness.ErrUnable)
	})
	for name, tt := range map[string]struct {
		subject harness.Subject
		state   string
	}{"unable": {unable, "FAIL"}, "able": {loop{}, "PASS"}} {
		var out strings.Builder
		ft := &fakeT{ctx: t.Context(), name: "TestAgent", out: &out, state: "PASS"}
		run.RunTest(ft, "testdata/two", &run.Options{Subject: tt.subject})
		ft.end()
		if ft.state != tt.state || (tt.state == "FAIL") != strings.Contains(out.String(), "nothing was checked: no scenario could be judged") {
			t.Errorf("%s: %s\n%s", name, ft.state, out.String())
		}
	}
}
