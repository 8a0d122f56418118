// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/harness"
)

// Message is one message of a [Chat]. It is immutable; its texts are decoded
// when first asked for. Chats of one conversation share their messages.
type Message struct {
	raw  []byte
	role harness.Role
	// Places of values in raw; zero when the key is not there.
	content, reasoning, refusal span
	calls                       []call
	callID                      string
	// problem is what the provider would refuse about the message alone; it
	// is given the message's path.
	problem func(path string) *Refusal

	decode  sync.Once
	decoded harness.Message
	tokens  atomic.Int64 // see once
}

// call is one entry of tool_calls.
type call struct {
	id         string
	name, args span
}

// Role returns the role, with developer as system.
func (m *Message) Role() harness.Role { return m.role }

// CallID returns the id that a tool message answers.
func (m *Message) CallID() string { return m.callID }

// HasCalls reports whether the message makes tool calls.
func (m *Message) HasCalls() bool { return len(m.calls) > 0 }

// Message returns the whole message, decoded. Its slices are shared.
func (m *Message) Message() harness.Message {
	m.decode.Do(func() {
		d := harness.Message{
			Role:      m.role,
			Text:      contentText(m.content.of(m.raw)),
			Reasoning: text(m.reasoning.of(m.raw)),
			Refusal:   text(m.refusal.of(m.raw)),
			CallID:    m.callID,
		}
		for _, c := range m.calls {
			d.Calls = append(d.Calls, harness.ToolCall{ID: c.id, Name: text(c.name.of(m.raw)), Arguments: text(c.args.of(m.raw))})
		}
		m.decoded = d
	})
	return m.decoded
}

// Tokens returns the message's number of tokens, which count tells once.
func (m *Message) Tokens(count func(harness.Message) int) int {
	return once(&m.tokens, func() int { return count(m.Message()) })
}

// once returns the count kept in n, which f tells the first time. n is one
// more than the count, so that zero means not counted yet.
func once(n *atomic.Int64, f func() int) int {
	if v := n.Load(); v > 0 {
		return int(v - 1)
	}
	v := f()
	n.Store(int64(v) + 1)
	return v
}

// equal reports whether two messages say the same, however they are spelled.
func (m *Message) equal(o *Message) bool {
	if m == o || len(m.raw) > 0 && bytes.Equal(m.raw, o.raw) {
		return true
	}
	a, b := m.Message(), o.Message()
	return a.Role == b.Role && a.Text == b.Text && a.Reasoning == b.Reasoning &&
		a.Refusal == b.Refusal && a.CallID == b.CallID && slices.Equal(a.Calls, b.Calls)
}

// contentText returns the text of a content value: a string, or the text
// parts of an array, joined with newlines.
func contentText(raw []byte) string {
	if len(raw) == 0 || raw[0] != '[' {
		return text(raw)
	}
	var parts []string
	// raw has been checked when the message was read.
	_, _ = eachItem(raw, 0, 0, func(_ span, at, depth int) (int, error) {
		if raw[at] != '{' {
			return skipValue(raw, at, depth)
		}
		return eachField(raw, at, depth, func(key span, at, depth int) (int, error) {
			end, err := skipValue(raw, at, depth)
			if string(key.of(raw)) == "text" && raw[at] == '"' {
				parts = append(parts, text(raw[at:end]))
			}
			return end, err
		})
	})
	return strings.Join(parts, "\n")
}

// readMessage reads the message at b[at:]. Until [Message.keep], its spans
// are into b.
func readMessage(b []byte, at, depth int) (*Message, int, error) {
	m := &Message{}
	if at >= len(b) || b[at] != '{' {
		end, err := skipValue(b, at, depth)
		if err == nil {
			kind := slices.Clone(b[at:end])
			m.problem = func(path string) *Refusal { return wrongType(path, "an object", kind) }
		}
		return m, end, err
	}
	var f fields
	end, err := eachField(b, at, depth, func(key span, at, depth int) (int, error) {
		var end int
		var err error
		if string(key.of(b)) == "tool_calls" && b[at] == '[' {
			end, err = f.readCalls(b, at, depth)
		} else {
			end, err = skipValue(b, at, depth)
		}
		f.set(key.of(b), span{at, end})
		return end, err
	})
	if err != nil {
		return m, end, err
	}
	m.content, m.refusal, m.reasoning = f.content, f.refusal, f.reasoning
	m.callID = text(f.callID.of(b))
	m.calls = f.calls
	m.role = role(f.role.of(b))
	m.problem = f.check(b, m.role)
	if m.role == "developer" {
		m.role = harness.RoleSystem
	}
	return m, end, nil
}

// role decodes a role; the usual ones are not copied.
func role(raw []byte) harness.Role {
	for _, r := range []harness.Role{harness.RoleTool, harness.RoleAssistant, harness.RoleUser, harness.RoleSystem} {
		if len(raw) == len(r)+2 && string(raw[1:len(raw)-1]) == string(r) {
			return r
		}
	}
	return harness.Role(text(raw))
}

// keep gives m its own bytes, of which its spans were offset by at.
func (m *Message) keep(raw []byte, at int) {
	m.raw = raw
	for _, s := range []*span{&m.content, &m.reasoning, &m.refusal} {
		s.move(at)
	}
	for i := range m.calls {
		m.calls[i].name.move(at)
		m.calls[i].args.move(at)
	}
}

func (s *span) move(at int) {
	if !s.isZero() {
		s.lo, s.hi = s.lo-at, s.hi-at
	}
}

// fields are the places of a message's keys while it is read.
type fields struct {
	role, content, refusal, reasoning, callID, toolCalls, functionCall, audio span

	calls       []call
	callProblem func(path string) *Refusal
}

func (f *fields) set(key []byte, v span) {
	switch string(key) {
	case "role":
		f.role = v
	case "content":
		f.content = v
	case "refusal":
		f.refusal = v
	case "reasoning_content", "reasoning":
		f.reasoning = v
	case "tool_call_id":
		f.callID = v
	case "tool_calls":
		f.toolCalls = v
	case "function_call":
		f.functionCall = v
	case "audio":
		f.audio = v
	}
}

func (f *fields) readCalls(b []byte, at, depth int) (int, error) {
	f.calls = nil
	i := -1
	return eachItem(b, at, depth, func(_ span, at, depth int) (int, error) {
		i++
		var id, kind, name, args span
		if b[at] != '{' {
			end, err := skipValue(b, at, depth)
			f.report(i, "", func(p string) *Refusal { return wrongType(p, "an object", nil) })
			return end, err
		}
		inner := func(key span, at, depth int) (int, error) {
			end, err := skipValue(b, at, depth)
			switch string(key.of(b)) {
			case "name":
				name = span{at, end}
			case "arguments", "input":
				args = span{at, end}
			}
			return end, err
		}
		function := false
		end, err := eachField(b, at, depth, func(key span, at, depth int) (int, error) {
			k := string(key.of(b))
			if (k == "function" || k == "custom") && b[at] == '{' {
				function = true
				return eachField(b, at, depth, inner)
			}
			end, err := skipValue(b, at, depth)
			switch k {
			case "id":
				id = span{at, end}
			case "type":
				kind = span{at, end}
			}
			return end, err
		})
		if err != nil {
			return end, err
		}
		f.checkCall(b, i, id, kind, name, args, function)
		f.calls = append(f.calls, call{id: text(id.of(b)), name: name, args: args})
		return end, nil
	})
}
