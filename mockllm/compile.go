// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
)

// program is a script made ready to play.
type program struct {
	Script
	turns         []turn
	bare          bool // of Replies: user texts do not matter
	asides, rules []rule
	lanes         []lane
	asks          bool // something is computed from an Ask
	hash          uint64
}

type turn struct {
	Turn
	replies []*reply
	count   int // of positions: replies with their repetitions
}

type rule struct {
	Rule
	reply *reply
}

// reply is a scripted reply; content is nil when a Func computes it.
type reply struct {
	Reply
	content *content
}

// noCalls reports whether a reply is known to call no tools.
func (r *reply) noCalls() bool {
	if r.content == nil {
		return r.NoCalls
	}
	return len(r.content.calls) == 0
}

// content is what a reply says, with everything encoded that does not depend
// on the request.
type content struct {
	say, reasoning, refusal text
	calls                   []callContent
	finish                  string
	logprobs                json.RawMessage
	others                  []string // texts of further choices

	count           sync.Once
	tokens, thought int
}

type callContent struct {
	tool string // as scripted
	args text
}

// text is a text with its JSON encodings.
type text struct {
	plain  string
	quoted []byte
	pieces [][]byte // as a stream sends it, each one quoted
}

func (t text) empty() bool { return t.plain == "" }

func newText(s string) text {
	t := text{plain: s, quoted: quote(s)}
	for _, p := range llmwire.Words(s) {
		t.pieces = append(t.pieces, quote(p))
	}
	return t
}

func quote(s string) []byte { return llmwire.Quote(s) }

func compile(s Script) (*program, error) {
	if err := checkProfile(s.Profile); err != nil {
		return nil, err
	}
	if s.Fragments != nil {
		if err := s.Fragments.Check(); err != nil {
			return nil, err
		}
	}
	if err := checkFaults(s.Faults, harness.Position{}); err != nil {
		return nil, err
	}
	for _, field := range s.Echo {
		if field != reasoningField {
			return nil, fmt.Errorf("a client cannot be asked to send %q back, only %s", field, reasoningField)
		}
	}
	if s.Turns != nil && s.Replies != nil {
		return nil, errors.New("a script has Turns or Replies, not both")
	}
	p := &program{Script: s, bare: s.Turns == nil, asks: len(s.Asides)+len(s.Rules) > 0}
	if p.bare && s.Replies != nil {
		p.Turns = []Turn{{Replies: s.Replies}}
	}
	for _, t := range p.Turns {
		replies, err := compileReplies(t.Replies)
		if err != nil {
			return nil, err
		}
		ct := turn{Turn: t, replies: replies}
		for _, r := range replies {
			ct.count += max(r.Repeat, 1)
			p.asks = p.asks || r.Func != nil
		}
		p.turns = append(p.turns, ct)
	}
	var err error
	if p.asides, err = compileRules(s.Asides); err != nil {
		return nil, err
	}
	if p.rules, err = compileRules(s.Rules); err != nil {
		return nil, err
	}
	if p.lanes, err = compileLanes(s); err != nil {
		return nil, err
	}
	p.hash = p.fingerprint()
	return p, nil
}

func compileRules(rules []Rule) ([]rule, error) {
	var out []rule
	for _, r := range rules {
		c, err := compileReply(r.Reply)
		if err != nil {
			return nil, err
		}
		out = append(out, rule{Rule: r, reply: c})
	}
	return out, nil
}

func compileReplies(replies []Reply) ([]*reply, error) {
	var out []*reply
	for _, r := range replies {
		c, err := compileReply(r)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func compileReply(r Reply) (*reply, error) {
	c := &reply{Reply: r}
	if r.Fragments != nil {
		if err := r.Fragments.Check(); err != nil {
			return nil, fmt.Errorf("%s%w", at(r.Pos), err)
		}
	}
	if err := checkFaults(r.Faults, r.Pos); err != nil {
		return nil, err
	}
	if r.Func != nil {
		return c, nil
	}
	var err error
	c.content, err = compileContent(r)
	return c, err
}

func compileContent(r Reply) (*content, error) {
	c := &content{say: newText(r.Say), reasoning: newText(r.Reasoning), refusal: newText(r.Refusal), finish: r.Finish, logprobs: r.Logprobs, others: r.Choices}
	for _, call := range r.Calls {
		args, err := encodeArgs(call.Args)
		if err != nil {
			return nil, fmt.Errorf("%sarguments of %q: %w", at(r.Pos), call.Tool, err)
		}
		c.calls = append(c.calls, callContent{tool: call.Tool, args: newText(args)})
	}
	if c.finish == "" {
		c.finish = "stop"
		if len(c.calls) > 0 {
			c.finish = "tool_calls"
		}
	}
	return c, nil
}

func encodeArgs(args any) (string, error) {
	switch a := args.(type) {
	case nil:
		return "{}", nil
	case json.RawMessage:
		return string(a), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(args); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// at returns a position as the start of a message.
func at(p harness.Position) string {
	if p.IsZero() {
		return ""
	}
	return p.String() + ": "
}

// located puts a position before an error that does not start with it.
func located(what string, p harness.Position, err error) error {
	if where := p.String(); !p.IsZero() && !strings.HasPrefix(err.Error(), where) {
		what += " (" + where + ")"
	}
	return &locatedError{p, fmt.Errorf("%s: %w", what, err)}
}

// locatedError is an error with its place.
type locatedError struct {
	pos harness.Position
	error
}

func (e *locatedError) Unwrap() error { return e.error }

// at returns the reply at position i, from 0, which is below t.count.
func (t *turn) at(i int) *reply {
	for _, r := range t.replies {
		if i -= max(r.Repeat, 1); i < 0 {
			return r
		}
	}
	panic("mockllm: position beyond the turn")
}

// fingerprint tells scripts apart, so that ids of two mocks differ.
func (p *program) fingerprint() uint64 {
	h := fnv.New64a()
	add := func(parts ...string) {
		for _, s := range parts {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	content := func(r *reply) {
		if r.content == nil {
			return
		}
		add(r.content.say.plain, r.content.reasoning.plain, r.content.refusal.plain)
		for _, c := range r.content.calls {
			add(c.tool, c.args.plain)
		}
	}
	for _, t := range p.turns {
		add(t.User)
		for _, r := range t.replies {
			content(r)
		}
	}
	for _, r := range slices.Concat(p.asides, p.rules) {
		content(r.reply)
	}
	return h.Sum64()
}

// source returns the random numbers that belong to label.
func (m *Mock) source(label string) *rand.Rand {
	return rand.New(rand.NewPCG(m.seeds(label)))
}

// seeds are what the random numbers of label begin with.
func (m *Mock) seeds(label string) (uint64, uint64) {
	return uint64(m.opts.Seed) ^ m.program.hash, hashOf(label)
}

// hashOf is the FNV-1a hash of s, without the interface around it: each reply
// needs one.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
