// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/value"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/step"
)

// Codes of the protocol errors that are ours: an answer that nobody scripted,
// and a script that broke.
const (
	codeMiss   = -32000
	codeBroken = -32603
)

// ticket is one tools/call on its way to an answer.
type ticket struct {
	r      *request
	offer  *offer // what was there when the call came
	tool   *offered
	call   *Call
	round  *round
	answer *Answer // set when the call is answered without looking at results
	seq    int     // of the journal's entry
	resets int     // of the server, when the call came
	start  time.Time
}

// call answers a tools/call and writes it into the journal.
func (s *Server) call(ctx context.Context, r *request) *outcome {
	defer r.decided()
	if r.after != nil {
		select {
		case <-r.after:
		case <-ctx.Done():
		}
	}
	t, out := &ticket{r: r}, &outcome{}
	s.arrive(t, out)
	var result *Result
	var err error
	answer := t.answer
	switch {
	case answer != nil:
	case t.tool.Handler != nil:
		r.decided()
		answer, err = s.handle(ctx, t.call, t.tool.Tool)
	default:
		answer, result, err = s.decide(t)
		if answer == nil { // the client is asked first
			r.decided()
			var stop *halt
			if answer, stop, err = s.converse(ctx, t, result); stop != nil {
				return out.instead(stop.outcome())
			}
		}
	}
	s.settle(t, answer, err)
	r.decided()
	s.linger(ctx, t, result)
	if ctx.Err() != nil {
		s.unsent(t)
		return out.instead(nil)
	}
	out.sent = func(result json.RawMessage) { s.sent(t, result) }
	if out.rpc = answer.RPCError; out.rpc == nil {
		out.result = answer.result(r.era)
		if len(answer.Meta) > 0 {
			out.meta = mcpwire.Marshal(answer.Meta)
		}
	}
	return out
}

// instead returns other with what is to be told after o, and tells it at once
// where there is no other.
func (o *outcome) instead(other *outcome) *outcome {
	switch {
	case other != nil:
		other.after = o.after
	case o.after != nil:
		o.after()
	}
	return other
}

// linger does what comes between the decision about an answer and its
// sending. r is nil for an answer that no result gives.
func (s *Server) linger(ctx context.Context, t *ticket, r *Result) {
	latency := time.Duration(0)
	if t.answer == nil { // the tool has run
		latency = t.tool.Latency
	}
	if r != nil {
		if len(r.Before) > 0 && !t.asks(r) {
			s.play(ctx, t.r, &round{}, func(json.RawMessage) ([]step.Step, error) { return r.Before, nil })
		}
		if r.Hold != "" {
			s.hold(ctx, r.Hold)
		}
		if r.Latency > 0 {
			latency = r.Latency
		}
	}
	if latency > 0 {
		_ = s.opts.Clock.Sleep(ctx, latency)
	}
}

// hold waits for a cue, or until ctx ends.
func (s *Server) hold(ctx context.Context, cue string) {
	s.idle(ctx, func(ctx context.Context) { _ = s.cues.Hold(ctx, cue) })
}

// asks reports whether r, a result of the tool, asks the client something.
func (t *ticket) asks(r *Result) bool {
	for i := range t.tool.Results {
		if &t.tool.Results[i] == r {
			return t.tool.asks[i]
		}
	}
	return false
}

func (s *Server) handle(ctx context.Context, call *Call, tool *Tool) (*Answer, error) {
	answer, err := guard(func() (*Answer, error) { return tool.Handler(ctx, call) })
	if err == nil {
		err = answer.check()
	}
	if err != nil {
		return s.broken(call, "", err)
	}
	return answer, nil
}

// arrive opens the journal entry of a call, or finds that of the call that it
// goes on with. It sets the answer of a ticket when no result is to be looked
// at.
func (s *Server) arrive(t *ticket, out *outcome) {
	params := &t.r.params
	args := params.Arguments
	if string(args) == "null" {
		args = nil
	}
	t.call = &Call{Tool: params.Name, Args: args}
	if len(args) == 0 {
		t.call.Args = json.RawMessage("{}")
	}
	if s.opts.Turn != nil {
		t.call.Turn = s.opts.Turn()
	}
	if s.opts.User != nil {
		t.call.User = s.opts.User()
	}
	t.offer = s.offer.Load()
	round, wrong := s.resume(t.r, params.Name)
	if round == nil || !round.started {
		if s.opts.OnCall != nil {
			s.opts.OnCall(params.Name)
		}
		if s.changes != nil {
			out.after = s.changes.called(t.r.out, params.Name)
		}
	}
	s.enter(t, args, round)
	t.tool = t.offer.tools.byName[params.Name]
	switch {
	case wrong != nil:
		t.answer = &Answer{RPCError: wrong}
	case t.r.out.strike.answer() != nil:
		t.answer = t.r.out.strike.answer()
	case t.tool == nil:
		t.answer = refuse("Tool %s not found", params.Name)
	case !isObject(t.call.Args):
		t.answer = refuse("Input validation error: Invalid arguments for tool %s: expected object, got %s", params.Name, mcpwire.Excerpt(t.call.Args, 200))
	default:
		if wrong := t.tool.schema.check(t.call.Args); wrong != nil {
			t.answer = refuse("Input validation error: Invalid arguments for tool %s: %s", params.Name, strings.Join(wrong, "; "))
		}
	}
}

// enter writes the journal entry.
func (s *Server) enter(t *ticket, args json.RawMessage, r *round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.call.State = s.stateJSON()
	if t.round = r; r != nil && r.seq > 0 && r.resets == s.resets {
		if x := s.journal.at(r.seq); x != nil && x.Content == nil && x.RPCError == nil {
			t.seq, t.resets, t.start = r.seq, r.resets, x.Start
			return
		}
	}
	t.resets, t.start = s.resets, s.opts.Clock.Now()
	t.seq = s.journal.add(harness.ToolExchange{Server: s.script.Name, Tool: t.call.Tool, Args: args, Start: t.start})
}

// refuse is how the official servers tell of a call that cannot be made: as a
// result that the model reads, in the words of a protocol error.
func refuse(format string, args ...any) *Answer {
	return &Answer{Text: "MCP error -32602: " + fmt.Sprintf(format, args...), IsError: true}
}

// verdict is an error that goes into the journal beside the answer: a miss or
// an error of the script.
type verdict struct {
	miss   bool
	reason string
}

func (v *verdict) Error() string { return v.reason }

// decide picks the first result that matches, computes its answer on the
// state as it is and then changes the state, all under the lock. The answer is
// nil when the result asks the client something first.
func (s *Server) decide(t *ticket) (*Answer, *Result, error) {
	answer, result, err := s.pick(t)
	if answer != nil && result != nil && result.Set != nil {
		s.tellState()
	}
	return answer, result, err
}

func (s *Server) pick(t *ticket) (*Answer, *Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call, tool := t.call, t.tool
	call.State = s.stateJSON()
	if r := t.round; r != nil && r.started && r.result < len(tool.Results) && tool.asks[r.result] {
		return nil, &tool.Results[r.result], nil
	}
	var whys []string
	for i := range tool.Results {
		r := &tool.Results[i]
		if r.Match != nil {
			ok, why, err := matches(r, call)
			if err != nil {
				return s.fail(s.broken(call, place(r.Pos, i)+": matching", err))
			}
			if !ok {
				whys = append(whys, fmt.Sprintf("%s: %s", place(r.Pos, i), why))
				continue
			}
		}
		if answer := t.r.out.strike.answer(); answer != nil {
			return answer, nil, nil
		}
		if tool.asks[i] {
			if t.round == nil {
				t.round = &round{}
			}
			t.round.result = i
			return nil, r, nil
		}
		s.faults.pick(t.r, r)
		answer, err := s.apply(call, r)
		if err != nil {
			return s.fail(s.broken(call, place(r.Pos, i), err))
		}
		return answer, r, nil
	}
	reason := fmt.Sprintf("no scripted result of %s.%s fits the call with %s", s.script.Name, tool.Name, mcpwire.Excerpt(call.Args, 500))
	if len(whys) > 0 {
		reason += ": " + strings.Join(whys, "; ")
	}
	return s.fail(rpcAnswer(codeMiss, "rehearse_miss: "+reason), &verdict{miss: true, reason: reason})
}

func (*Server) fail(answer *Answer, err error) (*Answer, *Result, error) { return answer, nil, err }

// converse asks the client what a result wants to know, and computes the
// answer when that is known. It returns none when the call ends otherwise.
func (s *Server) converse(ctx context.Context, t *ticket, r *Result) (*Answer, *halt, error) {
	call := t.call
	where := place(r.Pos, t.round.result)
	t.round.seq, t.round.resets = t.seq, t.resets
	halt := s.play(ctx, t.r, t.round, func(asked json.RawMessage) ([]step.Step, error) {
		call.Asked = asked
		if r.Plan == nil {
			return r.Before, nil
		}
		planned, err := guard(func() ([]step.Step, error) { return r.Plan(call) })
		if err == nil {
			err = checkSteps(planned)
		}
		return slices.Concat(r.Before, planned), err
	})
	switch {
	case halt == nil:
	case halt.err != nil:
		answer, err := s.broken(call, where+": before", halt.err)
		return answer, nil, err
	case halt.rpc != nil:
		return &Answer{RPCError: halt.rpc}, nil, nil
	case halt.refused != "":
		return &Answer{Text: halt.refused, IsError: true}, nil, nil
	default:
		return nil, halt, nil
	}
	s.faults.pick(t.r, r)
	answer, err := s.applyNow(call, r)
	if err != nil {
		answer, err := s.broken(call, where, err)
		return answer, nil, err
	}
	if r.Set != nil {
		s.tellState()
	}
	return answer, nil, nil
}

// applyNow is apply on the state as it is by now.
func (s *Server) applyNow(call *Call, r *Result) (*Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.State = s.stateJSON()
	return s.apply(call, r)
}

// tellState tells of a state that has changed.
func (s *Server) tellState() {
	if s.opts.OnState != nil {
		s.opts.OnState(s.State())
	}
}

// broken is the answer to a call that met an error of the script.
func (s *Server) broken(call *Call, where string, err error) (*Answer, error) {
	if where != "" {
		where = ": " + where
	}
	reason := fmt.Sprintf("answering %s.%s%s: %v", s.script.Name, call.Tool, where, err)
	return rpcAnswer(codeBroken, "rehearse_script: "+reason), &verdict{reason: reason}
}

func rpcAnswer(code int, message string) *Answer {
	return &Answer{RPCError: &harness.RPCError{Code: code, Message: message}}
}

func place(pos harness.Position, i int) string {
	if pos.IsZero() {
		return fmt.Sprintf("result %d", i+1)
	}
	return pos.String()
}

func matches(r *Result, call *Call) (ok bool, why string, err error) {
	ok, err = guard(func() (bool, error) {
		var err error
		ok, why, err = r.Match(call)
		return ok, err
	})
	return ok, why, err
}

func (s *Server) apply(call *Call, r *Result) (*Answer, error) {
	answer, err := r.answer(call)
	if err != nil {
		return nil, err
	}
	if err := answer.check(); err != nil {
		return nil, err
	}
	if r.Set == nil {
		return answer, nil
	}
	patch, err := guard(func() (json.RawMessage, error) { return r.Set(call, answer.value()) })
	if err != nil {
		return nil, fmt.Errorf("set: %w", err)
	}
	p, err := value.Parse(patch)
	if err == nil && p.Kind() != value.Object {
		err = fmt.Errorf("the patch is %s, not an object", p.Kind())
	}
	if err != nil {
		return nil, fmt.Errorf("set: %w", err)
	}
	s.state, s.spelled = value.MergePatch(s.state, p), nil
	return answer, nil
}

// guard turns a panic of the script into an error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
