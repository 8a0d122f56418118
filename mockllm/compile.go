// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/filepos"
)

// program is a script made ready to play.
type program struct {
	Script
	turns         []turn
	bare          bool // of Replies: user texts do not matter
	asides, rules []rule
	lanes         []lane
	asks          bool // something is computed from an Ask
	lenient       bool // calls are spelled oddly somewhere, and may come back so
	hash          uint64
	fingerprint   string // system_fingerprint, by the hash
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

// content is what a reply says, as far as it does not depend on the request.
type content struct {
	say, reasoning, refusal string
	calls                   []callContent
	finish                  string
	logprobs                json.RawMessage
	others                  []string // texts of further choices
	words                   []wordedText

	count           sync.Once
	tokens, thought int
}

type callContent struct {
	tool      string // as scripted
	unoffered bool
	args      string
}

// wordedText is a text with what a stream cuts it into, which is done once.
type wordedText struct {
	text  string
	words []string
}

func (c *content) cut(texts ...string) {
	for _, s := range texts {
		if s != "" {
			c.words = append(c.words, wordedText{s, dialect.Words(s)})
		}
	}
}

func quote(s string) []byte { return dialect.Quote(s) }

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
	if s.Habits != nil {
		if err := s.Habits.Check(); err != nil {
			return nil, err
		}
	}
	for _, field := range s.Echo {
		if !slices.Contains(EchoFields(), field) {
			return nil, fmt.Errorf("a client cannot be asked to send %q back, only %s", field, strings.Join(EchoFields(), ", "))
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
	p.hash = p.hashed()
	p.fingerprint = fingerprintOf(p.hash)
	p.lenient = p.spellsCalls()
	return p, nil
}

func compileRules(rules []Rule) ([]rule, error) {
	var out []rule
	for _, r := range rules {
		if err := checkChance(&r); err != nil {
			return nil, err
		}
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
	if r.Habits != nil {
		if err := r.Habits.Check(); err != nil {
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
	c := &content{say: r.Say, reasoning: r.Reasoning, refusal: r.Refusal, finish: r.Finish, logprobs: r.Logprobs, others: r.Choices}
	c.cut(r.Say, r.Reasoning, r.Refusal)
	for _, call := range r.Calls {
		args, err := encodeArgs(call.Args)
		if err != nil {
			return nil, fmt.Errorf("%sarguments of %q: %w", at(r.Pos), call.Tool, err)
		}
		c.cut(args)
		c.calls = append(c.calls, callContent{tool: call.Tool, unoffered: call.Unoffered, args: args})
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
	b, err := exactjson.Marshal(args)
	return string(b), err
}

// at returns a position as the start of a message.
func at(p harness.Position) string {
	if p.IsZero() {
		return ""
	}
	return p.String() + ": "
}

// located is an error of what stands at a place of the script.
func located(what string, p harness.Position, err error) error {
	return &locatedError{what, p, err}
}

// locatedError is an error of the script with its place.
type locatedError struct {
	what string
	pos  harness.Position
	err  error
}

func (e *locatedError) Error() string { return filepos.Told(e.pos, e.bare()) }
func (e *locatedError) Unwrap() error { return e.err }

// bare is the message beside which the place stands.
func (e *locatedError) bare() string {
	if filepos.Of(e.err) == e.pos {
		return e.what + ": " + filepos.Bare(e.err)
	}
	return fmt.Sprintf("%s: %v", e.what, e.err)
}

// fingerprintOf is the system_fingerprint.
func fingerprintOf(h uint64) string {
	const digits = "0123456789abcdef"
	b := []byte("fp_")
	for i := 0; i < 10; i, h = i+1, h>>4 {
		b = append(b, digits[h&15])
	}
	return string(b)
}

// hashed tells scripts apart, so that ids of two mocks differ.
func (p *program) hashed() uint64 {
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
		add(r.content.say, r.content.reasoning, r.content.refusal)
		for _, c := range r.content.calls {
			add(c.tool, c.args)
		}
	}
	for _, t := range p.turns {
		add(t.User)
		add(t.Contains...)
		if t.Pattern != nil {
			add(t.Pattern.String())
		}
		for _, r := range t.replies {
			content(r)
		}
	}
	for _, r := range slices.Concat(p.asides, p.rules) {
		content(r.reply)
	}
	return h.Sum64()
}
