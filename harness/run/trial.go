// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// passedLimit is a limit of the scenario that was passed, and how.
type passedLimit struct{ key, how string }

// The keys of the limits.
const (
	limitTime       = "time"
	limitToolCalls  = "tool_calls"
	limitModelCalls = "model_calls"
	limitTokens     = "tokens"
)

func (l *passedLimit) String() string { return l.key + ": " + l.how }

var (
	errLimit     = errors.New("a limit of the scenario was exceeded")
	errHang      = errors.New("the trial takes too long")
	errAbandoned = errors.New("the subject ignored cancellation and was abandoned")
	errGone      = errors.New("the subject ended its goroutine and returned nothing (runtime.Goexit, which t.FailNow and t.Fatal call)")
)

// trial is one trial under way.
type trial struct {
	*runner
	job
	seed      int64
	start     time.Time
	turnStart time.Time // of the turn that is played
	clock     harness.Clock
	virtual   *virtualClock // the same, in modes mock and replay
	workdir   string
	servers   []*toolServer
	model     modelSide

	deadline deadline
	prompter *prompter
	// interruptible is the turn that is played, as far as it can be interrupted.
	interruptible interruptible
	approvals     approvals
	recorder      *cassettes.Recorder // of modes record and replay
	before        *vcr.File           // the recording that is made anew; nil for none
	tapes         []*taping           // of real servers, in these modes
	wires         *wireLog            // nil unless what goes over them is kept

	turn   atomic.Int64 // being played, from 1
	called atomic.Int64 // tool calls that reached a server
	cancel context.CancelCauseFunc

	mu     sync.Mutex // guards log, doubts, limit
	log    []string
	doubts []string // about tapes
	limit  *passedLimit

	reports  []harness.TurnReport // of the turns played
	reported bool                 // the subject gave at least one report
	// interrupted are the turns that the scenario interrupted, from 1.
	interrupted []int
	states      []map[string]json.RawMessage
	files       []map[string]trials.File // that expectations name, after each turn and at the end
	executed    []map[string]int         // after each turn, the last call of each server
	broke       error                    // what ended the conversation early
	brokeIn     int                      // the turn that it ended, from 1; 0 for none
	fatal       bool                     // no expectation could have excused it
	// startError is an error at the start that an expectation judges.
	startError string
	// unable is why the subject cannot play the scenario; nil when it can.
	unable *trials.Cause
	infra  *trials.Cause // what is wrong with endpoint or servers
}

// trial plays one trial and judges it. It is not complete when ctx ended.
func (r *runner) trial(ctx context.Context, j job) (rec trials.Record, detail trials.Detail, complete bool) {
	t := &trial{runner: r, job: j, seed: r.seed(j.key), start: time.Now(), prompter: newPrompter(j.scenario.Cues)}
	defer t.cleanUp()
	t.play(ctx)
	if ctx.Err() != nil {
		return rec, detail, false
	}
	rec, detail = t.withoutKeys(t.judge(ctx))
	// A judge that was cut short says nothing either.
	return rec, detail, len(detail.Judges) == 0 || ctx.Err() == nil
}

// play does everything up to the judging.
func (t *trial) play(ctx context.Context) {
	ctx, t.cancel = context.WithCancelCause(ctx)
	defer t.cancel(nil)
	if t.cannot(t.speechless()) {
		return
	}
	limit, expired := t.opts.Timeout, func() { t.cancel(errHang) }
	if t.scenario.Limits.Time > 0 {
		limit = t.scenario.Limits.Time
		expired = func() { t.pass(limitTime, "the trial takes longer than %s", limit) }
	}
	t.deadline.start(limit, expired)
	defer t.deadline.stop()
	t.clock = harness.SystemClock()
	if t.opts.Mode.Alone() {
		t.virtual = newVirtualClock(t.start, t.scenario.Limits.Time, expired)
		t.clock = t.virtual
	}
	if t.opts.KeepWire {
		t.wires = &wireLog{clock: t.clock}
	}
	env, err := t.setUp(ctx)
	if err != nil {
		t.infra = cmp.Or(t.infra, &trials.Cause{Kind: trials.CauseEndpoint, Message: err.Error(), Pos: t.scenario.Pos})
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
	if err := t.putFiles(); err != nil {
		return nil, err
	}
	if t.cassette != "" {
		if err := cassettes.Recover(t.cassette); err != nil {
			return nil, err
		}
	}
	env := &harness.Env{
		Mode: t.opts.Mode, Settings: t.settings(), Workdir: t.workdir,
		Seed: t.seed, Turns: len(t.scenario.Turns), Interrupts: t.scenario.Interrupted(), Clock: t.clock, Logf: t.logf, Grants: t.scenario.Grants,
	}
	if t.scenario.AsksApproval() {
		env.Approve = t.approve
	}
	for _, s := range t.scenario.Servers {
		server, err := t.openServer(ctx, s)
		if err != nil {
			return nil, err
		}
		server.reach.Optional = !s.Required
		t.servers = append(t.servers, server)
		env.Servers = append(env.Servers, server.reach)
	}
	if t.scenario.MCPConfig != "" {
		if env.ConfigFile, err = writeConfig(t.workdir, t.scenario.MCPConfig, env.Servers, env.Grants); err != nil {
			return nil, err
		}
	}
	open := t.openLive
	if t.opts.Mode == harness.ModeMock {
		open = t.openMock
	}
	if env.Endpoint, err = open(); err != nil {
		return nil, err
	}
	env.Endpoint.Model, env.Endpoint.Dialect = t.entry.Name, cmp.Or(t.entry.Dialect, t.scenario.Dialect)
	return env, nil
}

// needsWorkdir reports whether anything could look at the trial's folder.
func (t *trial) needsWorkdir() bool {
	info, ok := t.subject.Subject.(harness.SubjectInfo)
	return !ok || info.NeedsWorkdir() || len(t.scenario.Files) > 0 || len(judgedFiles(t.scenario)) > 0 || t.subject.Foreign || t.scenario.MCPConfig != "" ||
		slices.ContainsFunc(t.scenario.Servers, func(s *scenarios.Server) bool { return s.Mock == nil })
}

// converse opens the subject, plays the turns, and closes it.
func (t *trial) converse(ctx context.Context, env *harness.Env) {
	session, err := guard(ctx, t, func() (harness.Session, error) { return t.subject.Subject.Open(ctx, t.opened(env)) })
	err = hung(ctx, err)
	switch panicked := (*panicError)(nil); {
	case exhausted(err):
		t.infra = t.outOf(err)
		return
	case t.judgedAtStart(ctx, err):
		t.startError = err.Error()
		return
	case t.cannot(err):
		return
	case err != nil:
		t.broke = fmt.Errorf("opening the subject: %w", err)
		t.fatal = ctx.Err() != nil || errors.As(err, &panicked)
		return
	case session == nil:
		t.broke, t.fatal = errors.New("opening the subject: it returned neither a session nor an error"), true
		return
	}
	defer func() { t.leave(ctx, session) }()
	if t.unable = t.lacks(session); t.unable != nil {
		return
	}
	for i, turn := range t.scenario.Turns {
		t.turn.Store(int64(i + 1))
		if turn.Pause > 0 {
			if err := t.clock.Sleep(ctx, turn.Pause); err != nil {
				t.broke, t.brokeIn = err, i+1
				return
			}
		}
		t.model.beginTurn(i + 1)
		t.turnStart = time.Now()
		err := hung(ctx, t.send(ctx, session, turn))
		if i == 0 && t.judgedAtStart(ctx, err) && !t.asked() {
			t.startError, t.reports, t.reported = err.Error(), nil, false
			return
		}
		t.states = append(t.states, t.stateOfServers())
		t.executed = append(t.executed, t.lastExecuted())
		t.keepFiles()
		t.checkLimits()
		if exhausted(err) {
			t.infra = t.outOf(err)
		}
		if t.cannot(err) {
			return
		}
		if err != nil && !t.stopExpected(ctx, turn, err) {
			t.broke, t.brokeIn = err, i+1
			return
		}
		if t.passed() != nil || t.missed() {
			return
		}
		if turn.Interruption != nil && turn.Interruption.Kill && slices.Contains(t.interrupted, i+1) && i+1 < len(t.scenario.Turns) {
			t.leave(ctx, session)
			if session, err = t.revive(ctx, env); err != nil {
				t.broke = err
				return
			}
		}
	}
}

// hung is the error of a subject. Where all that it tells is that its context has
// ended, it says why.
func hung(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errHang) && errors.Is(err, context.Canceled) && !errors.Is(err, errHang) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// leave closes a session; nil is none.
func (t *trial) leave(ctx context.Context, session harness.Session) {
	if session == nil {
		return
	}
	closing, stop := context.WithCancel(context.WithoutCancel(ctx))
	stop() // nothing but the grace is left
	if _, err := guard(closing, t, func() (any, error) { return nil, session.Close() }); err != nil {
		t.logf("closing the subject: %v", err)
		if panicked := (*panicError)(nil); t.broke == nil && (errors.As(err, &panicked) || errors.Is(err, errGone)) {
			t.broke, t.fatal = fmt.Errorf("closing the subject: %w", err), true
		}
	}
}

// exhausted reports whether an error is that of a machine that has no more of
// something: files, memory, room on its disk.
func exhausted(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC}, func(of error) bool {
		return errors.Is(err, of)
	})
}

// outOf is the cause of a trial that this machine could not play.
func (t *trial) outOf(err error) *trials.Cause {
	hint := ""
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		hint = "; allow more open files (ulimit -n), or play fewer trials at a time (--parallel)"
	}
	return &trials.Cause{Kind: trials.CauseEndpoint, Message: fmt.Sprintf("this machine could not run the trial: %v%s", err, hint), Pos: t.scenario.Pos}
}

// send plays one turn.
func (t *trial) send(ctx context.Context, session harness.Session, next scenarios.Turn) error {
	say := session.Send
	if next.SingleCall {
		say = session.(SingleCaller).SendOnce // which lacks has looked for
	}
	turnCtx, interrupted := t.interruptible.begin(ctx, next.Interruption, session)
	report, err := guard(turnCtx, t, func() (*harness.TurnReport, error) { return say(turnCtx, next.User) })
	var turn harness.TurnReport
	if report != nil {
		turn = *report
		t.reported = true
	}
	turn.User = next.User
	panicked := (*panicError)(nil)
	switch {
	case !interrupted() || errors.As(err, &panicked):
	case errors.Is(err, errAbandoned):
		err = &ranOnError{t.opts.Grace}
	default:
		if next.Interruption.Kill { // who is killed reports nothing
			turn, err = harness.TurnReport{User: next.User}, errKilled
		}
		turn.Stop = harness.StopInterrupted
		t.interrupted = append(t.interrupted, len(t.reports)+1)
		if err != nil {
			turn.Error = err.Error()
		}
		err = nil
	}
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

// stopExpected reports whether err, with which a turn has ended, is left to an
// expectation to judge.
func (t *trial) stopExpected(ctx context.Context, turn scenarios.Turn, err error) bool {
	report := &t.reports[len(t.reports)-1]
	if panicked := (*panicError)(nil); report.Stop == "" && ctx.Err() != nil || errors.As(err, &panicked) {
		t.fatal = true
		return false
	}
	if !mayStop(t.scenario, turn, report.Stop, t.opts.Mode) {
		return false
	}
	t.reported = true // the error is a report, if the subject gives no other
	return true
}

// mayStop reports whether a turn may end with an error, for that reason.
func mayStop(s *scenarios.Scenario, turn scenarios.Turn, reason harness.StopReason, mode harness.Mode) bool {
	excuses := func(s score.Scorer) bool {
		stops, ok := s.(score.Stops)
		return ok && stops.Excuses(reason)
	}
	// A real model that was cut off at its limit of tokens is judged by what it
	// said so far.
	cut := reason == harness.StopLength && mode != harness.ModeMock
	return cut || slices.ContainsFunc(turn.Expect, excuses) || slices.ContainsFunc(s.Expect, excuses)
}

// missed reports whether the conversation left the script.
func (t *trial) missed() bool {
	missed := len(t.tapeMisses()) > 0
	t.model.each(func(x *harness.Exchange) bool {
		missed = missed || x.Kind == harness.KindMiss || x.Kind == harness.KindRefusal || x.Kind == harness.KindScript
		return !missed
	})
	return missed
}

// onToolCall counts a call that reached a server, and ends the trial when it
// is one too many; the call itself is still answered. It runs inside the mock
// server and must not ask the mock model, which may be asking the server.
func (t *trial) onToolCall() {
	n := int(t.called.Add(1))
	if most := t.scenario.Limits.ToolCalls; most > 0 && n > most {
		t.pass(limitToolCalls, "%d, the limit is %d", n, most)
	}
}

// checkLimits ends the trial when the model's side has passed a limit.
func (t *trial) checkLimits() {
	l := t.scenario.Limits
	if l.ModelCalls == 0 && l.Tokens == 0 && t.ledger.budget == (trials.Budget{}) {
		return
	}
	var c trials.Counts
	var used harness.Usage
	t.model.each(func(x *harness.Exchange) bool {
		count(&c, &used, x, t.opts.Mode)
		return true
	})
	t.ledger.note(t, used)
	if l.ModelCalls > 0 && c.ModelCalls > l.ModelCalls {
		t.pass(limitModelCalls, "%d, the limit is %d", c.ModelCalls, l.ModelCalls)
	}
	if l.Tokens > 0 && used.TotalTokens > l.Tokens {
		t.pass(limitTokens, "%d, the limit is %d", used.TotalTokens, l.Tokens)
	}
}

// pass notes that a limit was passed, which ends the trial.
func (t *trial) pass(key, format string, args ...any) {
	t.mu.Lock()
	if t.limit == nil {
		t.limit = &passedLimit{key, fmt.Sprintf(format, args...)}
	}
	t.mu.Unlock()
	t.cancel(errLimit)
}

// passed is the limit that was passed first; nil for none.
func (t *trial) passed() *passedLimit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limit
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
	if t.entry.throttle != nil {
		t.entry.throttle.forget(t)
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

// lastExecuted is the number of the last call of each server.
func (t *trial) lastExecuted() map[string]int {
	out := map[string]int{}
	for _, x := range t.toolJournal() {
		out[x.Server] = max(out[x.Server], x.Seq)
	}
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
func counts(exchanges []harness.Exchange, mode harness.Mode) (c trials.Counts, used harness.Usage) {
	for i := range exchanges {
		count(&c, &used, &exchanges[i], mode)
	}
	return c, used
}

// count adds an exchange. What is asked beside the conversation is no model call,
// but somebody is billed for its tokens, unless a mock answered.
func count(c *trials.Counts, used *harness.Usage, x *harness.Exchange, mode harness.Mode) {
	if x.Kind.Outside() || x.Stray {
		if mode != harness.ModeMock {
			*used = used.Add(x.Usage.Counted())
		}
		return
	}
	c.ModelCalls++
	if x.Attempt > 1 {
		c.Retries++
	}
	*used = used.Add(x.Usage.Counted())
}
