// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
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
	s.record(t, answer, err)
	var keep func(context.Context)
	if s.opts.Executed != nil {
		keep = s.opts.Executed(t.call.Tool)
	}
	r.decided()
	if keep != nil {
		keep(ctx)
	}
	s.linger(ctx, t, result)
	if ctx.Err() != nil {
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

// order has a call wait until the one is decided that has arrived before it: on the
// same connection, or over HTTP, where each may come on one of its own.
func (s *Server) order(r *request) {
	if r.Method != mcpwire.MethodCall {
		return
	}
	line := &r.client.line
	if t := r.client.transport; t == fault.HTTP || t == fault.SSE {
		line = &s.line
	}
	decided := make(chan struct{})
	r.decided = sync.OnceFunc(func() { close(decided) })
	line.mu.Lock()
	defer line.mu.Unlock()
	r.after, line.last = line.last, decided
}

// line is the order in which calls arrive.
type line struct {
	mu   sync.Mutex      // guards what follows
	last <-chan struct{} // closed when the call that arrived last is decided
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
			s.play(ctx, t.r, &round{}, func(json.RawMessage) ([]Step, error) { return r.Before, nil })
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

func (s *Server) handle(ctx context.Context, call *Call, tool *Tool) (*Answer, error) {
	answer, err := guard(func() (*Answer, error) { return tool.Handler(ctx, call) })
	if err == nil {
		err = answer.check()
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return rpcAnswer(codeBroken, err.Error()), nil // nobody waits for it, and the script is not wrong
	}
	if err != nil {
		return s.broken(call, filepos.Of(err), "", err)
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
	var round *round
	var wrong *jsonrpc.Error
	if t.r.era == modern && (bytes.Contains(t.r.Params, []byte(`"requestState"`)) || bytes.Contains(t.r.Params, []byte(`"inputResponses"`))) {
		round, wrong = s.resume(t.r, params.Name)
	}
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
	case t.r.out.strike != nil && t.r.out.strike.answer() != nil:
		t.answer = t.r.out.strike.answer()
	case t.tool == nil:
		t.answer = refuse("Tool %s not found", params.Name)
	case !mcpwire.IsObject(t.call.Args):
		t.answer = refuse("Input validation error: Invalid arguments for tool %s: expected object, got %s", params.Name, prose.Excerpt(t.call.Args, 200))
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
	t.resets, t.start = s.resets, s.now()
	t.seq = s.journal.add(harness.ToolExchange{Server: s.script.Name, Tool: t.call.Tool, Args: args, Start: t.start})
}

// refuse is how the official servers report a call that cannot be made: as a
// result that the model reads, in the words of a protocol error.
func refuse(format string, args ...any) *Answer {
	return &Answer{Text: "MCP error -32602: " + fmt.Sprintf(format, args...), IsError: true}
}

// verdict is an error that goes into the journal beside the answer: a miss or
// an error of the script.
type verdict struct {
	miss   bool
	reason string
	pos    harness.Position // of what an error of the script is about
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
				return s.fail(s.broken(call, posOf(r, err), fmt.Sprintf("result %d", i+1), fmt.Errorf("matching: %w", err)))
			}
			if !ok {
				whys = append(whys, fmt.Sprintf("%s: %s", place(r.Pos, i), why))
				continue
			}
		}
		if st := t.r.out.strike; st != nil {
			if answer := st.answer(); answer != nil {
				return answer, nil, nil
			}
		}
		if tool.asks[i] {
			if t.round == nil {
				t.round = &round{}
			}
			t.round.result = i
			return nil, r, nil
		}
		if s.faults != nil {
			s.faults.pick(t.r, r)
			if answer := s.struckResult(t); answer != nil {
				return answer, r, nil
			}
		}
		answer, err := s.apply(call, r)
		if err != nil {
			return s.fail(s.broken(call, posOf(r, err), fmt.Sprintf("result %d", i+1), err))
		}
		return answer, r, nil
	}
	reason := fmt.Sprintf("no scripted result of %s.%s fits the call with %s", s.script.Name, tool.Name, prose.Excerpt(call.Args, 500))
	if len(whys) > 0 {
		reason += ": " + strings.Join(whys, "; ")
	}
	return s.fail(rpcAnswer(codeMiss, "rehearse_miss: "+reason), &verdict{miss: true, reason: reason})
}

func (*Server) fail(answer *Answer, err error) (*Answer, *Result, error) { return answer, nil, err }

// tellState reports a state that has changed.
func (s *Server) tellState() {
	if s.opts.OnState != nil {
		s.opts.OnState(s.State())
	}
}

// broken is the answer to a call that met an error of the script. It is about
// the place where that stands, or else about what is named.
func (s *Server) broken(call *Call, pos harness.Position, what string, err error) (*Answer, error) {
	reason := fmt.Sprintf("answering %s.%s: %s", s.script.Name, call.Tool, filepos.Bare(err))
	if pos.IsZero() && what != "" {
		reason = fmt.Sprintf("answering %s.%s: %s: %s", s.script.Name, call.Tool, what, filepos.Bare(err))
	}
	return rpcAnswer(codeBroken, "rehearse_script: "+filepos.Told(pos, reason)), &verdict{reason: reason, pos: pos}
}

// posOf is where the expression stands that an error is about, or else the
// result.
func posOf(r *Result, err error) harness.Position {
	if pos := filepos.Of(err); !pos.IsZero() {
		return pos
	}
	return r.Pos
}

func rpcAnswer(code int, message string) *Answer {
	return &Answer{RPCError: &jsonrpc.Error{Code: code, Message: message}}
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
		return fmt.Errorf("the answer's json is not valid: %s", prose.Excerpt(a.JSON, 60))
	}
	switch {
	case a.Structured == nil:
	case a.JSON != nil || a.RPCError != nil:
		return errors.New("structured content of its own is for an answer of text or content")
	case !json.Valid(a.Structured):
		return fmt.Errorf("the answer's structured content is not valid: %s", prose.Excerpt(a.Structured, 60))
	}
	for _, c := range a.Content {
		if !mcpwire.IsObject(c) {
			return fmt.Errorf("a content block is not a JSON object: %s", prose.Excerpt(c, 60))
		}
	}
	if len(a.Meta) > 0 && !mcpwire.IsObject(a.Meta) {
		return fmt.Errorf("the _meta of the answer is not a JSON object: %s", prose.Excerpt(a.Meta, 60))
	}
	if a.RPCError != nil && len(a.RPCError.Data) > 0 && !json.Valid(a.RPCError.Data) {
		return fmt.Errorf("the data of the error is not valid JSON: %s", prose.Excerpt(a.RPCError.Data, 60))
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
	case a.size > 0:
		return a.sized()
	case a.JSON != nil:
		return string(mcpwire.Marshal(a.JSON))
	case a.Content != nil:
		return mcpwire.Text(a.Content)
	}
	return a.Text
}

// result is the result object of the answer, without the envelope of the era.
func (a *Answer) result(e era) json.RawMessage {
	r := struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent,omitempty"`
		IsError    bool              `json:"isError,omitempty"`
	}{Content: a.blocks(), IsError: a.IsError}
	// Before 2026-07-28 structured content is an object or absent.
	if s := a.structured(); e == modern || mcpwire.IsObject(s) {
		r.Structured = s
	}
	return mcpwire.Marshal(r)
}

// value is what `result` means to a script: the structured content, else the
// text parsed as JSON, else the text.
func (a *Answer) value() json.RawMessage {
	if s := a.structured(); s != nil {
		return s
	}
	if a.RPCError != nil {
		return nil
	}
	return mcpwire.TextValue(a.text())
}

// structured is the structured content; nil without.
func (a *Answer) structured() json.RawMessage {
	if a.JSON != nil {
		return a.JSON
	}
	return a.Structured
}

// blocks are the content blocks to send.
func (a *Answer) blocks() []json.RawMessage {
	if a.Content != nil {
		return a.Content
	}
	return []json.RawMessage{mcpwire.Marshal(textBlock{"text", a.text()})}
}

// answer computes the answer of a result, whatever it comes from.
func (r *Result) answer(call *Call) (*Answer, error) {
	var a *Answer
	var err error
	switch {
	case r.Answer != nil:
		a, err = guard(func() (*Answer, error) { return r.Answer(call) })
	case r.Root != "":
		a, err = fileBelow(r.Root, r.File)
	case r.File != "":
		a, err = fileAnswer(r.File)
	case r.Size > 0:
		a = &Answer{}
	default:
		err = errors.New("the result has no answer")
	}
	if err != nil || r.Size == 0 || a == nil {
		return a, err
	}
	if a.Content != nil || a.RPCError != nil {
		return nil, errors.New("the result has a size, and only text and json can be made longer")
	}
	sized := *a
	sized.size = r.Size
	return &sized, nil
}

// stateJSON is the state as it is now, for scripts, which must not change it.
// The caller holds mu.
func (s *Server) stateJSON() json.RawMessage {
	if s.spelled == nil {
		s.spelled = slices.Clip(s.state.Append(nil))
	}
	return s.spelled
}
