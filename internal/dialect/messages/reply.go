// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// parser puts a message together.
type parser struct {
	blocks  []*block
	byIndex map[int]*block
	guessed int  // tokens of the reply that the start of a message counts
	told    bool // what ends a reply came: its reason, or its usage
}

// block is a block of a message, as far as it came.
type block struct {
	kind string
	call *dialect.PendingCall // of a tool_use; nil in others
	// text is that of a text or of a thought, and signature what signs the
	// thought.
	text, signature strings.Builder
	// began is a block of another kind, as it began, and input what came of its
	// input in pieces.
	began dialect.Members
	input strings.Builder
}

// Add takes a message, or an event of one. Its name is in the data as
// a rule, and some endpoints have it in the event field alone.
func (p *parser) Add(r *dialect.Reader, d dialect.Document) error {
	var o dialect.Members
	if err := json.Unmarshal(d.Data, &o); err != nil {
		return err
	}
	kind := string(o.Text("type"))
	if kind == "" {
		kind = d.Name
	}
	switch kind {
	case "message_start":
		m := o.Object("message")
		r.SetID(m.Text("id"), m.Text("model"))
		countMessages(r, m.Object("usage"))
		p.guessed = r.Usage.CompletionTokens
		return p.addBlocks(r, m)
	case "content_block_start":
		return p.startBlock(r, o.Number("index"), o.Object("content_block"))
	case "content_block_delta":
		return p.addBlockDelta(r, o.Number("index"), o.Object("delta"))
	case "content_block_stop":
	case "message_delta":
		p.told = true
		stopMessage(r, o.Object("delta"))
		if u := o.Object("usage"); u["output_tokens"] != nil && p.guessed > 0 { // what the start says is a guess
			r.Usage.TotalTokens -= p.guessed
			r.Usage.CompletionTokens, p.guessed = 0, 0
		}
		countMessages(r, o.Object("usage"))
	case "message_stop":
		r.Ended = p.told // else the stream was cut off, and something before the endpoint ended it
	default:
		if o["content"] == nil && kind != "message" {
			return nil // an event that tells nothing of the reply
		}
		r.SetID(o.Text("id"), o.Text("model"))
		countMessages(r, o.Object("usage"))
		stopMessage(r, o)
		return p.addBlocks(r, o)
	}
	return nil
}

func stopMessage(r *dialect.Reader, o dialect.Members) {
	if reason := o.Text("stop_reason"); reason != "" {
		r.Finish, r.Answered = string(reason), true
	}
}

// addBlocks takes the content of a message: blocks, or a text.
func (p *parser) addBlocks(r *dialect.Reader, m dialect.Members) error {
	if raw := m.Get("content"); raw != nil && raw[0] == '"' {
		r.Answered = true
		r.AddText(m.Text("content"))
		return nil
	}
	for _, b := range m.Objects("content") {
		if err := p.startBlock(r, dialect.Number{}, b); err != nil {
			return err
		}
	}
	return nil
}

// startBlock takes a block, or the beginning of one.
func (p *parser) startBlock(r *dialect.Reader, index dialect.Number, o dialect.Members) error {
	r.Answered = true
	if b := p.byIndex[index.N]; index.Set && b != nil && b.call != nil && b.call.ID != "" && b.call.ID == string(o.Text("id")) {
		return nil // the same beginning once more
	}
	b := &block{kind: string(o.Text("type"))}
	switch {
	case b.kind == "" && o.Get("input") != nil:
		b.kind = "tool_use"
	case b.kind == "":
		b.kind = "text"
	}
	p.blocks = append(p.blocks, b)
	if index.Set {
		if p.byIndex == nil {
			p.byIndex = map[int]*block{}
		}
		p.byIndex[index.N] = b
	}
	switch b.kind {
	case "tool_use":
		return b.startToolUse(r, o)
	case "thinking":
		b.addThought(r, o)
	case "text":
		b.addText(r, o.Text("text"))
	default:
		b.began = o
	}
	return nil
}

// startToolUse begins a call. Its input is empty where deltas bring it, but
// some endpoints have all of it here.
func (b *block) startToolUse(r *dialect.Reader, o dialect.Members) error {
	if err := r.AddCall(nil, dialect.Piece{ID: o.Text("id"), Name: o.Text("name")}); err != nil {
		return err
	}
	b.call = r.Calls[len(r.Calls)-1]
	b.call.Initial = o.Text("input")
	if len(b.call.Initial) > r.Limits.Arguments {
		return r.LongArguments(dialect.Text(b.call.Name))
	}
	return nil
}

func (b *block) addText(r *dialect.Reader, s dialect.Text) {
	r.AddText(s)
	b.text.WriteString(string(s))
}

func (b *block) addThought(r *dialect.Reader, o dialect.Members) {
	s := o.Text("thinking")
	r.AddReasoning(s)
	b.text.WriteString(string(s))
	b.signature.WriteString(string(o.Text("signature")))
}

// addBlockDelta takes a piece of a block.
func (p *parser) addBlockDelta(r *dialect.Reader, index dialect.Number, d dialect.Members) error {
	r.Answered = true
	var b *block // nil when it has not begun
	if index.Set {
		b = p.byIndex[index.N]
	}
	kind := d.Text("type")
	switch {
	case kind == "input_json_delta", kind == "" && d.Get("partial_json") != nil:
		return p.addInput(r, b, d.Text("partial_json"))
	case kind == "thinking_delta", kind == "signature_delta":
		p.blockOf(b, "thinking").addThought(r, d)
	case kind == "text_delta", kind == "":
		p.blockOf(b, "text").addText(r, d.Text("text"))
	}
	return nil
}

// addInput takes a piece of the input of b, or of the last call.
func (p *parser) addInput(r *dialect.Reader, b *block, s dialect.Text) error {
	switch {
	case b != nil && b.began != nil:
		b.input.WriteString(string(s))
		return nil
	case b != nil && b.call != nil:
		return r.AddCall(b.call, dialect.Piece{Arguments: s})
	case len(r.Calls) > 0:
		return r.AddCall(r.Calls[len(r.Calls)-1], dialect.Piece{Arguments: s})
	}
	return nil
}

// blockOf is b, or the block that a piece of this kind belongs to where it names
// none: the last one, if that is of the kind.
func (p *parser) blockOf(b *block, kind string) *block {
	if b != nil && b.kind == kind {
		return b
	}
	if n := len(p.blocks); n > 0 && p.blocks[n-1].kind == kind {
		return p.blocks[n-1]
	}
	b = &block{kind: kind}
	p.blocks = append(p.blocks, b)
	return b
}

// countMessages takes a usage. That of the end is cumulative, and may have the
// output alone.
func countMessages(r *dialect.Reader, u dialect.Members) {
	if u == nil {
		return
	}
	now := harness.Usage{
		CachedTokens:     u.Count("cache_read_input_tokens"),
		CacheWriteTokens: u.Count("cache_creation_input_tokens"),
		CompletionTokens: u.Count("output_tokens"),
		ReasoningTokens:  u.Object("output_tokens_details").Count("thinking_tokens"),
	}
	now.PromptTokens = u.Count("input_tokens") + now.CachedTokens + now.CacheWriteTokens
	r.SetUsage(now)
}
