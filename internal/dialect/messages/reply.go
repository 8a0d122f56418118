// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// blocks are the calls of a stream of messages by the indexes of their blocks.
type blocks map[int]*dialect.PendingCall

// parser puts a message together.
type parser struct {
	blocks  blocks
	guessed int // tokens of the reply that the start of a message counts
}

// End has nothing to add.
func (*parser) End(*dialect.Reader) {}

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
		stopMessage(r, o.Object("delta"))
		if u := o.Object("usage"); u["output_tokens"] != nil && p.guessed > 0 { // what the start says is a guess
			r.Usage.TotalTokens -= p.guessed
			r.Usage.CompletionTokens, p.guessed = 0, 0
		}
		countMessages(r, o.Object("usage"))
	case "message_stop":
		r.Ended = true
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
func (p *parser) startBlock(r *dialect.Reader, index dialect.Number, b dialect.Members) error {
	r.Answered = true
	switch kind := b.Text("type"); {
	case kind == "tool_use", kind == "" && b.Get("input") != nil:
		return p.startToolUse(r, index, b)
	case kind == "thinking":
		r.AddReasoning(b.Text("thinking"))
	case kind == "text", kind == "":
		r.AddText(b.Text("text"))
	}
	return nil
}

// startToolUse begins a call. Its input is empty where deltas bring it, but
// some endpoints have all of it here.
func (p *parser) startToolUse(r *dialect.Reader, index dialect.Number, b dialect.Members) error {
	if err := r.AddCall(nil, dialect.Piece{ID: b.Text("id"), Name: b.Text("name")}); err != nil {
		return err
	}
	c := r.Calls[len(r.Calls)-1]
	c.Initial = b.Text("input")
	if len(c.Initial) > r.Limits.Arguments {
		return r.LongArguments(dialect.Text(c.Name))
	}
	if index.Set {
		if p.blocks == nil {
			p.blocks = blocks{}
		}
		p.blocks[index.N] = c
	}
	return nil
}

// addBlockDelta takes a piece of a block.
func (p *parser) addBlockDelta(r *dialect.Reader, index dialect.Number, d dialect.Members) error {
	r.Answered = true
	kind := d.Text("type")
	switch {
	case kind == "input_json_delta", kind == "" && d.Get("partial_json") != nil:
		c := p.blocks[index.N]
		if c == nil || !index.Set {
			if len(r.Calls) == 0 {
				return nil
			}
			c = r.Calls[len(r.Calls)-1]
		}
		return r.AddCall(c, dialect.Piece{Arguments: d.Text("partial_json")})
	case kind == "thinking_delta":
		r.AddReasoning(d.Text("thinking"))
	case kind == "text_delta", kind == "":
		r.AddText(d.Text("text"))
	}
	return nil
}

// countMessages takes a usage. That of the end is cumulative, and may have the
// output alone.
func countMessages(r *dialect.Reader, u dialect.Members) {
	if u == nil {
		return
	}
	now := harness.Usage{
		CachedTokens:     u.Count("cache_read_input_tokens"),
		CompletionTokens: u.Count("output_tokens"),
		ReasoningTokens:  u.Object("output_tokens_details").Count("thinking_tokens"),
	}
	now.PromptTokens = u.Count("input_tokens") + now.CachedTokens + u.Count("cache_creation_input_tokens")
	r.SetUsage(now)
}
