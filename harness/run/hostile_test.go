// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// neverAnswers takes a request and never answers.
func neverAnswers(asked chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client leave
		asked <- struct{}{}
		<-r.Context().Done()
	})
}

// TestSilentEndpoint runs out of time while the endpoint has a request.
func TestSilentEndpoint(t *testing.T) {
	upstream := httptest.NewServer(neverAnswers(make(chan struct{}, 10)))
	defer upstream.Close()
	opts := run.Options{Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", Entries: run.Models("m"), Timeout: time.Second}
	run.AllowLive(&opts)
	rec := one(t, write(t, liveScenario), opts)
	wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, "did not answer request 1 in time")
}

// sender is a subject that is one function.
type sender func(ctx context.Context, env *harness.Env) error

func (s sender) Open(_ context.Context, env *harness.Env) (harness.Session, error) {
	return &senderSession{s, env}, nil
}

type senderSession struct {
	send sender
	env  *harness.Env
}

func (s *senderSession) Send(ctx context.Context, _ string) (*harness.TurnReport, error) {
	return &harness.TurnReport{}, s.send(ctx, s.env)
}

func (s *senderSession) Close() error { return nil }

// TestSubjectHangsUp checks that a subject which does not wait for an answer
// has itself to blame.
func TestSubjectHangsUp(t *testing.T) {
	asked := make(chan struct{}, 10)
	upstream := httptest.NewServer(neverAnswers(asked))
	defer upstream.Close()
	impatient := sender(func(ctx context.Context, env *harness.Env) error {
		ctx, leave := context.WithCancel(ctx)
		go func() {
			<-asked
			leave()
		}()
		body := strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Paris?"}]}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, env.Endpoint.BaseURL+"/chat/completions", body)
		if err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			return errors.New("there was an answer")
		}
		return errors.New("no patience left")
	})
	opts := run.Options{Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", Entries: run.Models("m"), Subject: impatient}
	run.AllowLive(&opts)
	rec := one(t, write(t, liveScenario), opts)
	wants(t, rec, harness.OutcomeFailed, trials.CauseSubject, "no patience left")
}

// TestSubjectLeavesServerOpen has a subject that closes nothing: the process
// behind its connection ends with the trial, and none can be started later.
func TestSubjectLeavesServerOpen(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var open io.ReadWriteCloser
	var server harness.Server
	careless := sender(func(ctx context.Context, env *harness.Env) (err error) {
		server = env.Servers[0]
		open, err = server.Dial(ctx)
		return err
	})
	one(t, write(t, `
scenario: careless
servers: {far: {command: [`+self+`], env: {RUN_TEST_SERVER: "1"}}}
conduct_only: true
turns: [{user: hi, replies: [{say: hi}]}]
`), run.Options{Subject: careless})
	if n, err := open.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes from a server that should have ended", n)
	}
	if late, err := server.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "its trial is over") {
		t.Errorf("a server was started after the trial: %v, %v", late, err)
	}
}

// TestHostileLimits has a subject that this machine gives no more files: the
// trial says nothing about it.
func TestHostileLimits(t *testing.T) {
	broke := fmt.Errorf("asking: %w", os.NewSyscallError("socket", syscall.EMFILE))
	scenario := `
scenario: s
turns: [{user: hi, replies: [{say: hi}], expect: [{answer: {contains: [hi]}}]}]
`
	for name, subject := range map[string]harness.Subject{
		"in a turn":    sender(func(context.Context, *harness.Env) error { return broke }),
		"at the start": harness.SubjectFunc(func(context.Context, *harness.Env) (harness.Session, error) { return nil, broke }),
	} {
		t.Run(name, func(t *testing.T) {
			rec := one(t, write(t, scenario), run.Options{Subject: subject})
			wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, "this machine could not run the trial: asking: socket: too many open files; allow more open files (ulimit -n)")
		})
	}
}
