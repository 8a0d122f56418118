// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// limitTime begins what is said of a trial that passed its time limit.
const limitTime = "time:"

var (
	errLimit     = errors.New("a limit of the scenario was passed")
	errHang      = errors.New("the trial takes too long")
	errAbandoned = errors.New("the subject does not heed its cancelled context; it was left behind")
)

// trial is one trial under way.
type trial struct {
	*runner
	job
	seed    int64
	start   time.Time
	clock   harness.Clock
	virtual *virtualClock // the same, in modes mock and replay
	workdir string
	servers []*toolServer
	model   modelSide

	prompter *prompter
	recorder *cassettes.Recorder // of modes record and replay
	before   *vcr.File           // the recording that is made anew; nil for none
	tapes    []*taping           // of real servers, in these modes

	turn   atomic.Int64 // being played, from 1
	called atomic.Int64 // tool calls that reached a server
	cancel context.CancelCauseFunc

	mu     sync.Mutex // guards log, doubts, limits
	log    []string
	doubts []string // about tapes
	limits []string // which were passed, and how

	reports  []harness.TurnReport // of the turns played
	reported bool                 // the subject gave at least one report
	states   []map[string]json.RawMessage
	broke    error // what ended the conversation early
	// startError is an error at the start that an expectation judges.
	startError string
	infra      *harness.Cause // what is wrong with endpoint or servers
}

// trial plays one trial and judges it. It is not complete when ctx ended.
func (r *runner) trial(ctx context.Context, j job) (rec trials.Record, detail trials.Detail, complete bool) {
	t := &trial{runner: r, job: j, seed: r.seed(j.key), start: time.Now(), prompter: newPrompter(j.scenario.Cues)}
	defer t.cleanUp()
	t.play(ctx)
	if ctx.Err() != nil {
		return rec, detail, false
	}
	rec, detail = t.withoutKey(t.judge())
	return rec, detail, true
}

// play does everything up to the judging.
func (t *trial) play(ctx context.Context) {
	ctx, t.cancel = context.WithCancelCause(ctx)
	defer t.cancel(nil)
	limit, expired := t.opts.Timeout, func() { t.cancel(errHang) }
	if t.scenario.Limits.Time > 0 {
		limit = t.scenario.Limits.Time
		expired = func() { t.pass(limitTime+" the trial takes longer than %s", limit) }
	}
	timer := time.AfterFunc(limit, expired)
	defer timer.Stop()
	t.clock = harness.SystemClock()
	if t.opts.Mode.Alone() {
		t.virtual = newVirtualClock(t.start, t.scenario.Limits.Time, expired)
		t.clock = t.virtual
	}
	env, err := t.setUp(ctx)
	if err != nil {
		t.infra = &harness.Cause{Kind: harness.CauseEndpoint, Message: err.Error(), Pos: t.scenario.Pos}
		return
	}
	t.converse(ctx, env)
}

// setUp starts both sides and returns what the subject is given.
func (t *trial) setUp(ctx context.Context) (*harness.Env, error) {
	var err error
	if t.needsWorkdir() {
		if t.workdir, err = os.MkdirTemp("", "rehearse-"); err != nil {
			return nil, err
		}
	}
	env := &harness.Env{
		Mode: t.opts.Mode, Settings: t.scenario.Settings, Workdir: t.workdir,
		Seed: t.seed, Clock: t.clock, Logf: t.logf,
	}
	for _, s := range t.scenario.Servers {
		server, err := t.openServer(ctx, s)
		if err != nil {
			return nil, err
		}
		t.servers = append(t.servers, server)
		env.Servers = append(env.Servers, server.reach)
	}
	if t.scenario.MCPConfig != "" {
		if env.ConfigFile, err = writeConfig(t.workdir, t.scenario.MCPConfig, env.Servers); err != nil {
			return nil, err
		}
	}
	switch {
	case t.opts.Mode == harness.ModeMock:
		env.Endpoint = t.openMock()
	default:
		if env.Endpoint, err = t.openLive(); err != nil {
			return nil, err
		}
	}
	env.Endpoint.Model = t.key.Model
	return env, nil
}

// needsWorkdir reports whether anything could look at the trial's folder.
func (t *trial) needsWorkdir() bool {
	_, none := t.opts.Subject.(interface{ NoWorkdir() })
	return !none || t.opts.Foreign || t.scenario.MCPConfig != "" ||
		slices.ContainsFunc(t.scenario.Servers, func(s *scenarios.Server) bool { return s.Mock == nil })
}

// converse opens the subject, plays the turns, and closes it.
func (t *trial) converse(ctx context.Context, env *harness.Env) {
	session, err := guard(ctx, t, func() (harness.Session, error) { return t.opts.Subject.Open(ctx, env) })
	switch panicked := (*panicError)(nil); {
	case err != nil && ctx.Err() == nil && !errors.As(err, &panicked) && t.startErrorExpected():
		t.startError = err.Error()
		return
	case err != nil:
		t.broke = fmt.Errorf("opening the subject: %w", err)
		return
	case session == nil:
		t.broke = errors.New("opening the subject: it returned neither a session nor an error")
		return
	}
	defer func() {
		closing, stop := context.WithCancel(context.WithoutCancel(ctx))
		stop() // nothing but the grace is left
		if _, err := guard(closing, t, func() (any, error) { return nil, session.Close() }); err != nil {
			t.logf("closing the subject: %v", err)
			if panicked := (*panicError)(nil); t.broke == nil && errors.As(err, &panicked) {
				t.broke = fmt.Errorf("closing the subject: %w", err)
			}
		}
	}()
	for i, turn := range t.scenario.Turns {
		t.turn.Store(int64(i + 1))
		t.model.beginTurn(i + 1)
		err := t.send(ctx, session, turn.User)
		t.states = append(t.states, t.stateOfServers())
		t.checkLimits()
		if err != nil && !t.stopExpected(ctx, turn, err) {
			t.broke = err
			return
		}
		if len(t.passed()) > 0 || t.missed() {
			return
		}
	}
}

// send plays one turn.
func (t *trial) send(ctx context.Context, session harness.Session, user string) error {
	report, err := guard(ctx, t, func() (*harness.TurnReport, error) { return session.Send(ctx, user) })
	var turn harness.TurnReport
	if report != nil {
		turn = *report
		t.reported = true
	}
	turn.User = user
	if err != nil {
		if stop := (*harness.StopError)(nil); errors.As(err, &stop) {
			turn.Stop = stop.Reason
			t.reported = true // the stop itself is a report
		}
		turn.Error = err.Error()
	}
	t.reports = append(t.reports, turn)
	return err
}

// guard waits for f; when ctx has ended it waits a little longer and then
// leaves f behind. A panic is an error.
func guard[T any](ctx context.Context, t *trial, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				t.logf("panic: %v\n%s", p, debug.Stack())
				r.err = &panicError{p, panicStack()}
			}
			done <- r
		}()
		r.v, r.err = f()
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(t.opts.Grace)
	defer late.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-late.C:
		var none T
		return none, errAbandoned
	}
}

// panicError is a panic of the subject.
type panicError struct {
	value any
	stack string // where, a line a frame; empty when that is not known
}

func (e *panicError) Error() string { return fmt.Sprintf("the subject panicked: %v", e.value) }

// panicStack is the stack of the panic that is being recovered, down to
// [guard]: without addresses, so that two trials that panic alike say the same.
// The log has the whole of it.
func panicStack() string {
	pcs := make([]uintptr, 200)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var lines []string
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking, lines = true, nil
		case strings.Contains(f.Function, "harness/run.guard["):
			more = !panicking
		case panicking && !strings.HasPrefix(f.Function, "runtime.") && !strings.Contains(f.Function, "harness/run.(*trial)"):
			lines = append(lines, fmt.Sprintf("\n    at %s (%s:%d)", f.Function, f.File, f.Line))
		}
		if !more {
			break
		}
	}
	const most = 16
	if n := len(lines); n > most {
		lines = append(lines[:most], fmt.Sprintf("\n    ... %d more", n-most))
	}
	return strings.Join(lines, "")
}

// startErrorExpected reports whether an expectation judges an error with which
// the subject cannot be opened.
func (t *trial) startErrorExpected() bool {
	return slices.ContainsFunc(t.scenario.Expect, func(s score.Scorer) bool {
		_, ok := s.(score.StartError)
		return ok
	})
}

// stopExpected reports whether err, with which a turn has ended, is left to an
// expectation to judge.
func (t *trial) stopExpected(ctx context.Context, turn scenarios.Turn, err error) bool {
	report := &t.reports[len(t.reports)-1]
	if panicked := (*panicError)(nil); report.Stop == "" && ctx.Err() != nil || errors.As(err, &panicked) {
		return false
	}
	excuses := func(s score.Scorer) bool {
		stops, ok := s.(score.Stops)
		return ok && stops.Excuses(report.Stop)
	}
	if !slices.ContainsFunc(turn.Expect, excuses) && !slices.ContainsFunc(t.scenario.Expect, excuses) {
		return false
	}
	t.reported = true // the error is a report, if the subject gives no other
	return true
}

// missed reports whether the conversation left the script.
func (t *trial) missed() bool {
	return len(t.tapeMisses()) > 0 || slices.ContainsFunc(t.model.outline(), func(x harness.Exchange) bool {
		return x.Kind == harness.KindMiss || x.Kind == harness.KindRefusal || x.Kind == harness.KindScript
	})
}

// onToolCall counts a call that reached a server, and ends the trial when it
// is one too many; the call itself is still answered. It runs inside the mock
// server and must not ask the mock model, which may be asking the server.
func (t *trial) onToolCall() {
	n := int(t.called.Add(1))
	if most := t.scenario.Limits.ToolCalls; most > 0 && n > most {
		t.pass("tool_calls: %d, the limit is %d", n, most)
	}
}

// checkLimits ends the trial when the model's side has passed a limit.
func (t *trial) checkLimits() {
	l := t.scenario.Limits
	if l.ModelCalls == 0 && l.Tokens == 0 {
		return
	}
	c := counts(t.model.outline())
	if l.ModelCalls > 0 && c.ModelCalls > l.ModelCalls {
		t.pass("model_calls: %d, the limit is %d", c.ModelCalls, l.ModelCalls)
	}
	if l.Tokens > 0 && c.Usage.TotalTokens > l.Tokens {
		t.pass("tokens: %d, the limit is %d", c.Usage.TotalTokens, l.Tokens)
	}
}

// pass notes that a limit was passed, which ends the trial.
func (t *trial) pass(format string, args ...any) {
	t.mu.Lock()
	if len(t.limits) == 0 {
		t.limits = append(t.limits, fmt.Sprintf(format, args...))
	}
	t.mu.Unlock()
	t.cancel(errLimit)
}

func (t *trial) passed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.limits)
}

// maxLog bounds the lines that are kept of one trial.
const maxLog = 1000

func (t *trial) logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.log) < maxLog:
		t.log = append(t.log, fmt.Sprintf(format, args...))
	case len(t.log) == maxLog:
		t.log = append(t.log, "(more lines were dropped)")
	}
}

// cleanUp ends what is left of both sides.
func (t *trial) cleanUp() {
	for _, s := range t.servers {
		if err := s.close(); err != nil {
			t.logf("closing server %q: %v", s.name, err)
		}
	}
	if t.model != nil {
		t.model.close()
	}
	if t.recorder != nil {
		// What is worth keeping is written by now; there is no journal to lose.
		_ = t.recorder.Discard()
	}
	t.closeTapes()
	if t.workdir != "" {
		// What a stray process still writes there is lost, not ours to report.
		_ = os.RemoveAll(t.workdir)
	}
}

func (t *trial) toolJournal() []harness.ToolExchange {
	var out []harness.ToolExchange
	for _, s := range t.servers {
		out = append(out, s.journal()...)
	}
	slices.SortStableFunc(out, func(a, b harness.ToolExchange) int { return a.Start.Compare(b.Start) })
	return out
}

func (t *trial) stateOfServers() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, s := range t.servers {
		if s.mock != nil {
			out[s.name] = s.mock.State()
		}
	}
	return out
}

// listed are the tools of the servers; offered are those of them that the
// subject is to offer.
func (t *trial) listed() (listed, offered map[string][]harness.Tool) {
	listed, offered = map[string][]harness.Tool{}, map[string][]harness.Tool{}
	for _, s := range t.servers {
		listed[s.name], offered[s.name] = s.tools, s.offer
	}
	return listed, offered
}

// counts sums up a journal of the model's side.
func counts(exchanges []harness.Exchange) trials.Counts {
	var c trials.Counts
	for _, x := range exchanges {
		if x.Kind.Outside() || x.Stray {
			continue
		}
		c.ModelCalls++
		if x.Attempt > 1 {
			c.Retries++
		}
		c.Usage = c.Usage.Add(x.Usage)
	}
	return c
}
