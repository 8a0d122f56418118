// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// This file has the odd spellings of replies, see [dialect.Habits]. The journal has
// names and ids as the script has them: they are the same tool and the same
// call, and a client that brings them back in either spelling does right.

// The fields of chat messages that a client can be asked to send back.
const (
	reasoningField = "reasoning_content"
	detailsField   = "reasoning_details"
	extraField     = "extra_content"
)

// EchoFields are the fields that [Script.Echo] may name.
func EchoFields() []string { return []string{reasoningField, detailsField, extraField} }

// spelling returns how a reply is spelled; nil is as the profile does.
func (m *Mock) spelling(r *reply) *dialect.Habits {
	h := r.Habits
	if h == nil {
		h = m.program.Habits
	}
	details, extra := slices.Contains(m.program.Echo, detailsField), slices.Contains(m.program.Echo, extraField)
	if !details && !extra {
		return h
	}
	own := dialect.Habits{}
	if h != nil {
		own = *h
	}
	own.ReasoningDetails, own.ExtraContent = own.ReasoningDetails || details, own.ExtraContent || extra
	return &own
}

// spellsCalls reports whether any reply has ids or names in an odd spelling.
func (p *program) spellsCalls() bool {
	odd := func(h *dialect.Habits) bool { return h != nil && (h.IDs != "" || h.Names != "") }
	any := func(r *reply) bool { return odd(r.Habits) }
	of := func(r rule) bool { return any(r.reply) }
	found := odd(p.Habits) || slices.ContainsFunc(p.asides, of) || slices.ContainsFunc(p.rules, of) ||
		slices.ContainsFunc(p.turns, func(t turn) bool { return slices.ContainsFunc(t.replies, any) })
	return found || slices.ContainsFunc(p.lanes, func(l lane) bool { return l.program.lenient })
}

// padded is a name with what stands around it.
func padded(form dialect.NameForm, name string) string {
	switch form {
	case dialect.NamePadded:
		return " " + name + " "
	case dialect.NameNewline:
		return name + "\n"
	}
	return name
}

// spell returns a reply as the habits spell it.
func (x *exchange) spell(r *dialect.Reply) *dialect.Reply {
	h := x.style.Habits
	out := r.Clone()
	for i := range out.Choices {
		calls := out.Choices[i].Calls
		for n := range calls {
			call := &calls[n]
			if h.ExtraContent && x.plainChat() && call.Extra == nil {
				call.Extra = chat.ExtraContent(dialect.Signature(call.Name))
			}
			call.Name = padded(h.Names, call.Name)
			switch h.Args {
			case dialect.ArgsQuotes:
				call.Arguments += `""`
			case dialect.ArgsDouble:
				call.Arguments = "{}" + call.Arguments
			}
		}
	}
	if h.Args != "" && len(out.Choices) > 0 && len(out.Choices[0].Calls) > 0 {
		// What is judged is what was sent.
		x.changed = out.Clone()
		unpad(x.style, x.changed)
	}
	return out
}

// unpad takes off what stands around the names that the journal has.
func unpad(style *dialect.Style, r *dialect.Reply) {
	if style.Habits.Names == "" {
		return
	}
	for i := range r.Choices {
		calls := r.Choices[i].Calls
		for n := range calls {
			calls[n].Name = strings.TrimSpace(calls[n].Name)
		}
	}
}

// spellIDs writes the ids of calls as numbers, whatever the dialect calls them.
func (x *exchange) spellIDs(sp *givenReply, b *dialect.Body) {
	if x.style.Habits.IDs != dialect.IDNumber {
		return
	}
	for _, call := range sp.calls {
		quoted := slices.Concat([]byte{'"'}, []byte(call.ID), []byte{'"'})
		for i := range b.Frames {
			b.Frames[i].Data = bytes.ReplaceAll(b.Frames[i].Data, quoted, []byte(call.ID))
		}
	}
}

// withoutIDs has the position of a stream without ids be continued under those
// that the client makes up, and the journal be without them.
func (m *Mock) withoutIDs(x *exchange, r *dialect.Reply) {
	if !x.stream() || !x.plainChat() || len(r.Choices) == 0 || len(r.Choices[0].Calls) == 0 {
		return
	}
	x.changed = r.Clone()
	for _, c := range x.changed.Choices {
		for n := range c.Calls {
			c.Calls[n].ID = ""
		}
	}
	if s := x.served; s != nil {
		m.mu.Lock()
		s.altered = true
		m.mu.Unlock()
	}
}

// respelled returns a request with the ids and names of calls that came back as
// they were sent in the spelling of the dialect. A body that is no JSON is
// returned as it is.
func respelled(body []byte) []byte {
	v, err := value.Parse(body)
	if err != nil {
		return body
	}
	return value.Map(v, func(at value.Path, v value.Value) (value.Value, bool) {
		switch key := at.Key(); {
		case v.Kind() == value.Number && slices.Contains([]string{"id", "call_id", "tool_call_id", "tool_use_id"}, key):
			return value.StringOf(v.Num()), false
		case v.Kind() == value.String && key == "name":
			return value.StringOf(strings.TrimSpace(v.Str())), false
		case key == "input_schema", key == "parameters", key == "arguments", key == "input" && v.Kind() == value.Object:
			return v, false
		}
		return v, true
	}).Append(nil)
}
