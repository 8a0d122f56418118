// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// The provider wants the signatures of thoughts back, in the parts in which
// they came, and what its own tools did. A call has its signature in its Extra.
// For the others, a message of the model has all parts of the reply in its Extra,
// as the member content_parts: calls only hold their places there.

// CallExtra is the Extra of a call.
type CallExtra struct {
	Signature string `json:"thoughtSignature,omitempty"`
}

// partKind is what a part of a reply is.
type partKind int

const (
	partText partKind = iota
	partThought
	partCall
	partOther
)

// saidPart is a part of a reply.
type saidPart struct {
	kind          partKind
	text          strings.Builder
	signature     string
	members, call dialect.Members // call is nil in others
}

// keep adds a part. Texts in a row are one, unless they are signed.
func (p *parser) keep(part *saidPart) {
	if n := len(p.parts); n > 0 && part.kind == partText && part.signature == "" {
		if last := p.parts[n-1]; last.kind == partText && last.signature == "" {
			last.text.WriteString(part.text.String())
			return
		}
	}
	p.parts = append(p.parts, part)
}

// textPart is a text as it is kept and sent.
type textPart struct {
	Text string `json:"text"`
	CallExtra
}

// End keeps the parts that the provider wants back.
func (p *parser) End(r *dialect.Reader) {
	var list []json.RawMessage
	wanted := false
	for _, part := range p.parts {
		switch {
		case part.kind == partCall:
			list = append(list, json.RawMessage(`{"functionCall":{}}`))
		case part.kind == partText:
			list = append(list, dialect.Encode(textPart{dialect.ToValid(part.text.String()), CallExtra{part.signature}}))
			wanted = wanted || part.signature != ""
		case part.kind == partOther || part.signature != "": // thoughts that nobody signed are not sent back
			list = append(list, dialect.Encode(part.members))
			wanted = true
		}
	}
	if wanted {
		r.Extra = string(dialect.Encode(map[string]any{"content_parts": list}))
	}
}

// Back are the parts with which a message of the model is sent back. call writes
// those of its calls.
func Back(m harness.Message, call func(harness.ToolCall) json.RawMessage) []json.RawMessage {
	var extra struct {
		Parts []json.RawMessage `json:"content_parts"`
	}
	_ = json.Unmarshal([]byte(m.Extra), &extra) // of another endpoint, or none
	var out, kept []json.RawMessage
	var said string
	calls := m.Calls
	for _, raw := range extra.Parts {
		var o dialect.Members
		_ = json.Unmarshal(raw, &o) // it was written here
		switch isCall := o.Get("functionCall") != nil; {
		case isCall && len(calls) > 0:
			out, calls = append(out, call(calls[0])), calls[1:]
		case isCall:
		default:
			if o.Get("text") != nil && !o.IsTrue("thought") {
				said += string(o.Text("text"))
			} else {
				kept = append(kept, raw)
			}
			out = append(out, raw)
		}
	}
	if said != m.Text { // it was changed since: what is kept comes first
		out, calls = kept, m.Calls
		if m.Text != "" {
			out = append(out, dialect.Encode(textPart{Text: m.Text}))
		}
	}
	for _, c := range calls {
		out = append(out, call(c))
	}
	return out
}
