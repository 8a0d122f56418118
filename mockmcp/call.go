// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/value"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Codes of the protocol errors that are ours: an answer that nobody scripted,
// and a script that broke.
const (
	codeMiss   = -32000
	codeBroken = -32603
)

// ticket carries one tools/call through mcp-go to its handler and the outcome
// back: mcp-go decides whether the call may be made at all.
type ticket struct {
	params json.RawMessage
	// after is closed when the call that arrived before on the same pipe has
	// been decided; nil when there is no such order.
	after <-chan struct{}
	// decided tells the next call that this one has been.
	decided func()

	answer    *Answer // nil until the call has been answered
	cancelled bool    // the client withdrew the call and waits for no answer
	seq       int
	resets    int // of the server, when the call came
	start     time.Time
}

type ticketKey struct{}

// run answers the call of a ticket and writes it into the journal.
func (s *Server) run(ctx context.Context, t *ticket) {
	defer t.decided()
	if t.after != nil {
		select {
		case <-t.after:
		case <-ctx.Done():
		}
	}
	call, tool := s.arrive(t)
	if s.opts.OnCall != nil {
		s.opts.OnCall(call.Tool)
	}
	var answer *Answer
	var latency time.Duration
	var err error
	if tool != nil && tool.Handler != nil {
		t.decided()
		answer, err = s.handle(ctx, call, tool)
	} else {
		answer, latency, err = s.decide(call, tool, t)
	}
	s.settle(t, call, tool, answer, err)
	t.decided()
	if s.opts.OnState != nil {
		s.opts.OnState(s.State())
	}
	if latency > 0 {
		_ = s.opts.Clock.Sleep(ctx, latency)
	}
	t.cancelled = ctx.Err() != nil
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

// arrive opens the journal entry of a call. tool is nil when the call is
// answered without looking at any result.
func (s *Server) arrive(t *ticket) (*Call, *Tool) {
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(t.params, &params) // mcp-go has read it before us
	args := params.Arguments
	if string(args) == "null" {
		args = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.seq, t.resets, t.start = len(s.journal)+1, s.resets, s.opts.Clock.Now()
	s.journal = append(s.journal, harness.ToolExchange{
		Seq: t.seq, Server: s.script.Name, Tool: params.Name, Args: args, Start: t.start,
	})
	call := &Call{Tool: params.Name, Args: args, State: s.state.Append(nil)}
	if len(args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	if s.opts.Turn != nil {
		call.Turn = s.opts.Turn()
	}
	if s.opts.User != nil {
		call.User = s.opts.User()
	}
	tool := s.byName[params.Name]
	switch {
	case tool == nil:
		t.answer = refuse("Tool %s not found", params.Name)
	case !isObject(call.Args):
		t.answer = refuse("Input validation error: Invalid arguments for tool %s: expected object, got %s", tool.Name, mcpwire.Excerpt(call.Args, 200))
	default:
		if wrong := s.schemas[tool.Name].check(call.Args); wrong != nil {
			t.answer = refuse("Input validation error: Invalid arguments for tool %s: %s", tool.Name, strings.Join(wrong, "; "))
		}
	}
	if t.answer != nil {
		return call, nil
	}
	return call, tool
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
// state as it is and then changes the state, all under the lock.
func (s *Server) decide(call *Call, tool *Tool, t *ticket) (*Answer, time.Duration, error) {
	if tool == nil {
		return t.answer, 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	call.State = s.state.Append(nil)
	var whys []string
	for i := range tool.Results {
		r := &tool.Results[i]
		where := place(r.Pos, i)
		if r.Match != nil {
			ok, why, err := matches(r, call)
			if err != nil {
				return s.fail(s.broken(call, where+": matching", err))
			}
			if !ok {
				whys = append(whys, fmt.Sprintf("%s: %s", where, why))
				continue
			}
		}
		answer, err := s.apply(call, r)
		if err != nil {
			return s.fail(s.broken(call, where, err))
		}
		return answer, r.Latency, nil
	}
	reason := fmt.Sprintf("no scripted result of %s.%s fits the call with %s", s.script.Name, tool.Name, mcpwire.Excerpt(call.Args, 500))
	if len(whys) > 0 {
		reason += ": " + strings.Join(whys, "; ")
	}
	return s.fail(rpcAnswer(codeMiss, "rehearse_miss: "+reason), &verdict{miss: true, reason: reason})
}

func (*Server) fail(answer *Answer, err error) (*Answer, time.Duration, error) { return answer, 0, err }

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
	if r.Answer == nil {
		return nil, errors.New("the result has no answer")
	}
	answer, err := guard(func() (*Answer, error) { return r.Answer(call) })
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
	s.state = value.MergePatch(s.state, p)
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

// settle records what a call is answered with.
func (s *Server) settle(t *ticket, call *Call, tool *Tool, answer *Answer, err error) {
	t.answer = answer
	x := harness.ToolExchange{IsError: answer.IsError, RPCError: answer.RPCError}
	var v *verdict
	if errors.As(err, &v) {
		if v.miss {
			x.Miss = v.reason
		} else {
			x.ScriptError = v.reason
		}
	}
	x.Failed = x.IsError || x.RPCError != nil
	if answer.RPCError == nil {
		x.Text, x.Result = answer.text(), answer.value()
		if failed, err := s.failedWhen(tool, call, x.Result); err != nil {
			x.ScriptError = fmt.Sprintf("failed_when of %s.%s: %v", s.script.Name, call.Tool, err)
		} else if failed {
			x.Failed = true
		}
	}
	for _, line := range []string{x.Miss, x.ScriptError} {
		if line != "" {
			s.opts.Logf("%s", line)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.entry(t)
	if entry == nil {
		return
	}
	x.Seq, x.Server, x.Tool, x.Args, x.Start = entry.Seq, entry.Server, entry.Tool, entry.Args, entry.Start
	*entry = x
}

func (s *Server) failedWhen(tool *Tool, call *Call, result json.RawMessage) (bool, error) {
	judge := s.script.FailedWhen
	if tool != nil && tool.FailedWhen != nil {
		judge = tool.FailedWhen
	}
	if judge == nil || tool == nil {
		return false, nil
	}
	return guard(func() (bool, error) { return judge(call, result) })
}

// sent completes the journal entry when the answer goes out.
func (s *Server) sent(t *ticket, content json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.entry(t); entry != nil {
		entry.Content = content
		entry.Duration = s.opts.Clock.Now().Sub(t.start)
	}
}

// entry is the journal's entry of a call; nil when a reset has dropped it. The
// caller holds mu.
func (s *Server) entry(t *ticket) *harness.ToolExchange {
	if t.resets != s.resets {
		return nil
	}
	return &s.journal[t.seq-1]
}

// check reports an answer that says nothing or two things.
func (a *Answer) check() error {
	if a == nil {
		return errors.New("there is no answer")
	}
	n := 0
	for _, set := range []bool{a.JSON != nil, a.Text != "", a.Content != nil, a.RPCError != nil} {
		if set {
			n++
		}
	}
	if n > 1 {
		return errors.New("the answer has more than one of json, text, content and rpc_error")
	}
	if a.JSON != nil && !json.Valid(a.JSON) {
		return fmt.Errorf("the answer's json is not valid: %s", mcpwire.Excerpt(a.JSON, 60))
	}
	for _, c := range a.Content {
		if !isObject(c) {
			return fmt.Errorf("a content block is no JSON object: %s", mcpwire.Excerpt(c, 60))
		}
	}
	if a.RPCError != nil && len(a.RPCError.Data) > 0 && !json.Valid(a.RPCError.Data) {
		return fmt.Errorf("the data of the error is not valid JSON: %s", mcpwire.Excerpt(a.RPCError.Data, 60))
	}
	return nil
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// text is the text of the answer, blocks joined with newlines.
func (a *Answer) text() string {
	switch {
	case a.JSON != nil:
		return string(mcpwire.Marshal(a.JSON))
	case a.Content != nil:
		return mcpwire.Text(a.Content)
	}
	return a.Text
}

// value is what `result` means to a script: the structured content, else the
// text parsed as JSON, else the text.
func (a *Answer) value() json.RawMessage {
	if a.JSON != nil {
		return a.JSON
	}
	if a.RPCError != nil {
		return nil
	}
	return mcpwire.TextValue(a.text())
}

// blocks are the content blocks to send.
func (a *Answer) blocks() []json.RawMessage {
	if a.Content != nil {
		return a.Content
	}
	return []json.RawMessage{mcpwire.Marshal(textBlock{"text", a.text()})}
}
