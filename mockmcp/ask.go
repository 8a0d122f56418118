// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// round is how far a request has come that asks the client something. In the
// modern era the client sends it again with each answer.
type round struct {
	started bool // the client has been asked, and came back
	method  string
	name    string
	seq     int // of the journal's entry; 0 for none
	resets  int
	result  int // the index of the tool's result
	next    int // the index of the next step
	asked   []value.Member
	partial []value.Member // of the present question
	// responses are the answers that came with this request.
	responses map[string]json.RawMessage
}

// answers are the client's answers so far, an object; null when it was asked
// nothing.
func (r *round) answers() json.RawMessage {
	if len(r.asked) == 0 {
		return nil
	}
	return value.ObjectOf(r.asked...).Append(nil)
}

// maxRounds is how many requests may wait for input; the oldest are forgotten.
const maxRounds = 1000

// resume finds the round that a request goes on with. It is nil for one that
// starts.
func (s *Server) resume(r *request, name string) (*round, *jsonrpc.Error) {
	if r.era != modern {
		return nil, nil
	}
	var p struct {
		State     *string                    `json:"requestState"`
		Responses map[string]json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, invalid("Invalid params: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if p.State == nil && p.Responses == nil {
		return nil, nil
	}
	if p.State == nil {
		return &round{responses: p.Responses}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.rounds[*p.State]
	if !ok || kept.method != r.Method || kept.name != name {
		return nil, invalid("Invalid requestState")
	}
	again := *kept
	again.asked, again.partial = slices.Clone(kept.asked), slices.Clone(kept.partial)
	again.started, again.responses = true, p.Responses
	return &again, nil
}

// keep remembers a round and returns the state by which it is found again.
func (s *Server) keep(r *round) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	token := stateToken(s.script.Name, s.asked)
	if s.rounds == nil {
		s.rounds = make(map[string]*round)
	}
	kept := *r
	s.rounds[token] = &kept
	delete(s.rounds, stateToken(s.script.Name, s.asked-maxRounds))
	return token
}

// stateToken is the n-th requestState of a server: not to be guessed by
// accident, and the same in each run.
func stateToken(server string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", server, n))
	return fmt.Sprintf("round-%d-%s", n, hex.EncodeToString(sum[:8]))
}

// question asks the client. It returns nil when all is answered.
func (s *Server) question(ctx context.Context, r *request, rd *round, ask Ask) *halt {
	var requests []Question
	for _, q := range ask {
		need := missing(q, r.capabilities())
		switch {
		case need == nil:
			requests = append(requests, q)
		case q.Optional:
		case r.era == modern:
			return &halt{rpc: &jsonrpc.Error{
				Code: mcpwire.CodeMissingCapability, Message: "Missing required client capability",
				Data: mcpwire.Marshal(map[string]any{"requiredCapabilities": need}),
			}}
		default:
			return &halt{refused: "The client does not support " + capability(q.Method)}
		}
	}
	if r.era == modern {
		return s.require(r, rd, requests)
	}
	return askNow(ctx, r, rd, requests)
}

// require takes the answers that came with the request. Where some are
// missing, or none that could be, the client is to send them.
func (s *Server) require(r *request, rd *round, requests []Question) *halt {
	var open []value.Member
	for _, q := range requests {
		if slices.ContainsFunc(rd.partial, func(m value.Member) bool { return m.Key == q.Name() }) {
			continue
		}
		if v, err := value.Parse(rd.responses[q.Name()]); err == nil && answersTo(q.Method, v) {
			rd.partial = append(rd.partial, value.Member{Key: q.Name(), Value: v})
			continue
		}
		params := value.ObjectOf()
		if len(q.Params) > 0 {
			params, _ = value.Parse(q.Params) // checkStep has seen that it is an object
		}
		open = append(open, value.Member{Key: q.Name(), Value: value.ObjectOf(
			value.Member{Key: "method", Value: value.StringOf(string(q.Method))},
			value.Member{Key: "params", Value: params},
		)})
	}
	if len(open) == 0 {
		rd.asked, rd.partial, rd.responses = append(rd.asked, rd.partial...), nil, nil
		return nil
	}
	rd.method, rd.name = r.Method, r.params.Name
	if r.Method == methodRead {
		rd.name = r.params.URI
	}
	return &halt{required: value.ObjectOf(
		value.Member{Key: "inputRequests", Value: value.ObjectOf(open...)},
		value.Member{Key: "requestState", Value: value.StringOf(s.keep(rd))},
	).Append(nil)}
}

// askNow sends the requests to a legacy client, one after the other, and waits
// for each answer.
func askNow(ctx context.Context, r *request, rd *round, requests []Question) *halt {
	for _, q := range requests {
		var params any
		if len(q.Params) > 0 {
			params = q.Params
		}
		result, rpc, err := r.out.ask(ctx, string(q.Method), params)
		var v value.Value
		switch {
		case err != nil && ctx.Err() != nil:
			return &halt{}
		case err != nil:
			return &halt{refused: err.Error()}
		case rpc != nil && !q.Optional:
			return &halt{refused: fmt.Sprintf("The client refused %s: %s (%d)", q.Method, rpc.Message, rpc.Code)}
		case rpc != nil:
			v, _ = value.From(map[string]any{"error": rpc})
		default:
			v, _ = value.Parse(result)
		}
		rd.asked = append(rd.asked, value.Member{Key: q.Name(), Value: v})
	}
	return nil
}

// answersTo reports whether v can be the answer to a request.
func answersTo(m QuestionMethod, v value.Value) bool {
	member := map[QuestionMethod]string{Sampling: "content", Elicitation: "action", Roots: "roots"}[m]
	_, ok := v.Get(member)
	return ok
}

// converse asks the client what a result wants to know, and computes the
// answer when that is known. It returns none when the call ends otherwise.
func (s *Server) converse(ctx context.Context, t *ticket, r *Result) (*Answer, *halt, error) {
	call := t.call
	t.round.seq, t.round.resets = t.seq, t.resets
	halt := s.play(ctx, t.r, t.round, func(asked json.RawMessage) ([]Step, error) {
		call.Asked = asked
		if r.Plan == nil {
			return r.Before, nil
		}
		planned, err := guard(func() ([]Step, error) { return r.Plan(call) })
		if err == nil {
			err = checkSteps(planned)
		}
		return slices.Concat(r.Before, planned), err
	})
	switch {
	case halt == nil:
	case halt.err != nil:
		answer, err := s.broken(call, posOf(r, halt.err), fmt.Sprintf("result %d", t.round.result+1), fmt.Errorf("before: %w", halt.err))
		return answer, nil, err
	case halt.rpc != nil:
		return &Answer{RPCError: halt.rpc}, nil, nil
	case halt.refused != "":
		return &Answer{Text: halt.refused, IsError: true}, nil, nil
	default:
		return nil, halt, nil
	}
	s.faults.pick(t.r, r)
	s.mu.Lock()
	struck := s.struckResult(t)
	s.mu.Unlock()
	if struck != nil {
		return struck, nil, nil
	}
	answer, err := s.applyNow(call, r)
	if err != nil {
		answer, err := s.broken(call, posOf(r, err), fmt.Sprintf("result %d", t.round.result+1), err)
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

// hold waits for a cue, or until ctx ends.
func (s *Server) hold(ctx context.Context, cue string) {
	held, done := s.cues.Held(ctx, cue)
	defer done()
	_ = s.opts.Clock.Sleep(held, harness.Forever)
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

// ask sends a request to a legacy client and waits for its answer.
func (o *outlet) ask(ctx context.Context, method string, params any) (json.RawMessage, *jsonrpc.Error, error) {
	c := o.c
	if c.id == "" {
		return nil, nil, fmt.Errorf("asking for %s: the client has no session to answer in", method)
	}
	q := &clientRequest{method, make(chan mcpwire.Message, 1)}
	c.mu.Lock()
	c.asked++
	id := strconv.Itoa(c.asked)
	if c.pending == nil {
		c.pending = make(map[string]*clientRequest)
	}
	c.pending[id] = q
	c.mu.Unlock()
	m := mcpwire.Message{ID: json.RawMessage(id), Method: method}
	if params != nil {
		m.Params = mcpwire.Marshal(params)
	}
	if err := o.write(jsonrpc.FrameRequest, method, m.ID, m.Encode()); err != nil {
		return nil, nil, fmt.Errorf("asking for %s: %w", method, err)
	}
	select {
	case a := <-q.answer:
		return a.Result, a.Error, nil
	case <-ctx.Done():
	case <-c.ctx.Done():
	case <-c.eof:
	}
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
	return nil, nil, fmt.Errorf("asking for %s: %w", method, context.Canceled)
}
