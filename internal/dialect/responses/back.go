// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// A client that keeps the conversation itself sends reasoning back as sealed
// items, which have encrypted_content, before the item that followed it. A
// message of the model has them in its Extra, as the member output_items: all
// items of the reply, in which a message and a function_call only hold the places
// of what the message itself says.

// place holds the place of a message or of a function_call.
type place struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
}

// back are the items that the provider wants back; empty for none.
func (l *items) back() string {
	var list []json.RawMessage
	wanted := false
	for _, it := range l.list {
		switch {
		case it.sealed != nil:
			list, wanted = append(list, dialect.Encode(it.sealed)), true
		case it.isCall():
			list = append(list, dialect.Encode(place{Type: "function_call"}))
		case it.text.all.text != "":
			list = append(list, dialect.Encode(place{"message", dialect.ToValid(it.text.all.text)}))
		}
	}
	if !wanted {
		return ""
	}
	return string(dialect.Encode(map[string]any{"output_items": list}))
}

// Back are the items with which a message of the model is sent back. text and
// call write those of its text and of its calls.
func Back(m harness.Message, text func(string) json.RawMessage, call func(harness.ToolCall) json.RawMessage) []json.RawMessage {
	var extra struct {
		Items []json.RawMessage `json:"output_items"`
	}
	_ = json.Unmarshal([]byte(m.Extra), &extra) // of another endpoint, or none
	var out []json.RawMessage
	var said string
	calls := m.Calls
	for _, raw := range extra.Items {
		var it place
		_ = json.Unmarshal(raw, &it)
		switch {
		case it.Type == "message":
			said += it.Text
			out = append(out, text(it.Text))
		case it.Type == "function_call" && len(calls) > 0:
			out, calls = append(out, call(calls[0])), calls[1:]
		case it.Type != "function_call":
			out = append(out, raw)
		}
	}
	if said != m.Text { // it was changed since: reasoning must not stand before another text
		out, calls = nil, m.Calls
		if m.Text != "" {
			out = append(out, text(m.Text))
		}
	}
	for _, c := range calls {
		out = append(out, call(c))
	}
	return out
}

// shown is what was shown of a text.
type shown struct {
	text    string
	pending dialect.Pending
}

// more returns what can be shown of a text, beyond what was.
func (s *shown) more(text string) string {
	rest, goesOn := strings.CutPrefix(text, s.text)
	if !goesOn { // it was replaced: the whole reply has it as it is
		return ""
	}
	s.text = text
	return s.pending.Add(dialect.Text(rest))
}

// show tells what is new about an item.
func (p *parser) show(r *dialect.Reader, it *item) {
	if it.isCall() {
		begins := it.number == 0
		if begins {
			p.calls++
			it.number = p.calls
		}
		if more := it.asked.more(it.arguments.text); more != "" || begins {
			c := it.named()
			r.Show(dialect.Delta{Kind: dialect.CallDelta, Call: it.number - 1, ID: dialect.ToValid(c.ID), Name: dialect.ToValid(c.Name), Text: more})
		}
		return
	}
	if it.kind == "" && it.text.all.text == "" && it.summary.all.text == "" {
		return // arguments of a call whose name is not known yet
	}
	if more := it.thought.more(it.summary.all.text); more != "" {
		r.Show(dialect.Delta{Kind: dialect.ReasoningDelta, Text: more})
	}
	if more := it.said.more(it.text.all.text); more != "" {
		r.Show(dialect.Delta{Kind: dialect.TextDelta, Text: more})
	}
}
