// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// The provider wants some blocks of a reply back as they were: thoughts with
// their signatures, thoughts that it hides, and the work of its own tools, in
// their order. A message of the model has them in its Extra, as the member
// content_blocks: all blocks of the reply, in which a text and a tool_use only
// hold the places of what the message itself says.

// place holds the place of a text or of a tool_use.
type place struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
}

// End keeps the blocks that the provider wants back.
func (p *parser) End(r *dialect.Reader) {
	var list []json.RawMessage
	wanted := false
	for _, b := range p.blocks {
		raw, back := b.back()
		if raw != nil {
			list, wanted = append(list, raw), wanted || back
		}
	}
	if wanted {
		r.Extra = string(dialect.Encode(map[string]any{"content_blocks": list}))
	}
}

// back is a block as it is kept, and whether the provider wants it back; nil is
// not kept.
func (b *block) back() (raw json.RawMessage, wanted bool) {
	switch {
	case b.kind == "text" || b.kind == "tool_use":
		return dialect.Encode(place{b.kind, dialect.ToValid(b.text.String())}), false
	case b.kind != "thinking":
		if b.input.Len() > 0 && json.Valid([]byte(b.input.String())) {
			b.began["input"] = json.RawMessage(b.input.String())
		}
		return dialect.Encode(b.began), true
	case b.signature.Len() == 0:
		return nil, false // a thought that nobody signed is refused
	}
	return dialect.Encode(struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}{b.kind, dialect.ToValid(b.text.String()), dialect.ToValid(b.signature.String())}), true
}

// Back are the blocks with which a message of the model is sent back. text and
// call write those of its text and of its calls.
func Back(m harness.Message, text func(string) json.RawMessage, call func(harness.ToolCall) json.RawMessage) []json.RawMessage {
	var extra struct {
		Blocks []json.RawMessage `json:"content_blocks"`
	}
	_ = json.Unmarshal([]byte(m.Extra), &extra) // of another endpoint, or none
	var out, kept []json.RawMessage
	var said string
	calls := m.Calls
	for _, raw := range extra.Blocks {
		var b place
		_ = json.Unmarshal(raw, &b)
		switch {
		case b.Type == "text":
			said += b.Text
			if raw := text(b.Text); raw != nil {
				out = append(out, raw)
			}
		case b.Type == "tool_use" && len(calls) > 0:
			out, calls = append(out, call(calls[0])), calls[1:]
		case b.Type != "tool_use":
			kept, out = append(kept, raw), append(out, raw)
		}
	}
	if said != m.Text { // it was changed since: what is kept comes first
		out, calls = kept, m.Calls
		if raw := text(m.Text); raw != nil {
			out = append(out, raw)
		}
	}
	for _, c := range calls {
		out = append(out, call(c))
	}
	return out
}
