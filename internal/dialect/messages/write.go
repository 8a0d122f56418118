// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Write is Anthropic's messages. The objects for [dialect.Style] Keys are
//
//	messages                  the message
//	messages.start            the message in message_start
//	messages.text             a text block
//	messages.text.start       a text block in content_block_start
//	messages.tool_use         a tool_use block; messages.tool_use.start
//	messages.thinking         a thinking block; messages.thinking.start
//	messages.delta            delta of message_delta
//	messages.usage            usage of the message
//	messages.usage.start      usage of message_start
//	messages.usage.delta      usage of message_delta
//	messages.event.EVENT      an event: message_start, content_block_start, ...
//	messages.ping             the ping after the first content_block_start
//	messages.ping.early       a ping after message_start
//
// A ping without members is not sent.
func Write(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	m := writer{r: r, c: &r.Choices[0], style: style}
	if !stream {
		return m.whole()
	}
	return m.stream()
}

type writer struct {
	r      *dialect.Reply
	c      *dialect.Choice
	style  *dialect.Style
	frames []dialect.Frame
	blocks int
}

func (m *writer) object(name string, usual dialect.Keys, value func(string) []byte) []byte {
	return dialect.AppendObject(nil, dialect.KeysOf(m.style, "messages"+name, usual), value)
}

// usually are the members of the objects that a style may change.
func usually(name string) dialect.Keys {
	switch name {
	case "", ".start":
		return dialect.Keys{"model", "id", "type", "role", "content", "stop_reason", "stop_sequence", "stop_details", "usage"}
	case ".usage":
		return dialect.Keys{
			"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "output_tokens",
			"output_tokens_details", "service_tier", "inference_geo",
		}
	case ".usage.start":
		return dialect.Keys{
			"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "output_tokens",
			"service_tier", "inference_geo",
		}
	case ".usage.delta":
		return dialect.Keys{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens", "output_tokens_details"}
	case ".delta":
		return dialect.Keys{"stop_reason", "stop_sequence", "stop_details"}
	case ".text", ".text.start":
		return dialect.Keys{"type", "text"}
	case ".tool_use", ".tool_use.start":
		return dialect.Keys{"type", "id", "name", "input"}
	case ".thinking", ".thinking.start":
		return dialect.Keys{"type", "thinking", "signature"}
	}
	return nil
}

// whole is the message as one JSON object.
func (m *writer) whole() *dialect.Body {
	tokens := 0
	var blocks [][]byte
	if c := m.c; c.Reasoning != "" || c.Signature != "" {
		blocks = append(blocks, m.thinking("", c.Reasoning, c.Signature))
		tokens += len(dialect.Pieces(c.Reasoning, m.style, m.r.Seed))
	}
	for _, s := range m.texts() {
		blocks = append(blocks, m.text("", s))
		tokens += len(dialect.Pieces(s, m.style, m.r.Seed))
	}
	for i := range m.c.Calls {
		c := &m.c.Calls[i]
		blocks = append(blocks, m.toolUse("", c, dialect.InputObject(c.Arguments)))
		tokens += len(dialect.Pieces(c.Arguments, m.style, m.r.Seed))
	}
	content := append(append([]byte{'['}, bytes.Join(blocks, []byte{','})...), ']')
	data := m.message("", content, true, m.usage(".usage", m.r.Usage.CompletionTokens))
	return &dialect.Body{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Frames: []dialect.Frame{{Data: data, Tokens: tokens}},
	}
}

// texts are the texts of the reply, each a block.
func (m *writer) texts() []string {
	var out []string
	for _, s := range []string{m.c.Text, m.c.Refusal} {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (m *writer) message(name string, content []byte, ended bool, usage []byte) []byte {
	return m.object(name, usually(name), func(key string) []byte {
		switch key {
		case "model":
			return dialect.Quote(m.r.Model)
		case "id":
			return dialect.Quote(m.r.ID)
		case "type":
			return []byte(`"message"`)
		case "role":
			return []byte(`"assistant"`)
		case "content":
			return content
		case "stop_reason", "stop_sequence":
			if ended {
				return m.stop(key)
			}
		case "usage":
			return usage
		}
		return nil
	})
}

func (m *writer) usage(name string, output int) []byte {
	u := m.r.Usage
	return m.object(name, usually(name), func(key string) []byte {
		n := 0
		switch key {
		case "input_tokens":
			n = u.PromptTokens - u.CachedTokens
		case "cache_read_input_tokens":
			n = u.CachedTokens
		case "output_tokens":
			n = output
		case "cache_creation":
			return []byte(`{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}`)
		case "output_tokens_details":
			return fmt.Appendf(nil, `{"thinking_tokens":%d}`, u.ReasoningTokens)
		case "service_tier":
			return []byte(`"standard"`)
		case "inference_geo":
			return []byte(`"global"`)
		case "cache_creation_input_tokens":
		default:
			return nil
		}
		return strconv.AppendInt(nil, int64(n), 10)
	})
}

// stop is what is said about the end: stop_reason or stop_sequence.
func (m *writer) stop(key string) []byte {
	switch {
	case key == "stop_reason":
		return m.stopReason()
	case key == "stop_sequence" && m.c.Stopped != "":
		return dialect.Quote(m.c.Stopped)
	}
	return nil
}

func (m *writer) stopReason() []byte {
	switch f := m.c.Finish; f {
	case "", "stop":
		switch {
		case m.c.Refusal != "":
			return []byte(`"refusal"`)
		case m.c.Stopped != "":
			return []byte(`"stop_sequence"`)
		}
		return []byte(`"end_turn"`)
	case "tool_calls":
		return []byte(`"tool_use"`)
	case "length":
		return []byte(`"max_tokens"`)
	case "content_filter":
		return []byte(`"refusal"`)
	default:
		return dialect.Quote(f)
	}
}

// The blocks. start is empty, or .start for those of content_block_start.

func (m *writer) text(start, s string) []byte {
	return m.object(".text"+start, usually(".text"), func(key string) []byte {
		switch key {
		case "type":
			return []byte(`"text"`)
		case "text":
			return dialect.Quote(s)
		}
		return nil
	})
}

func (m *writer) thinking(start, s, signature string) []byte {
	return m.object(".thinking"+start, usually(".thinking"), func(key string) []byte {
		switch key {
		case "type":
			return []byte(`"thinking"`)
		case "thinking":
			return dialect.Quote(s)
		case "signature":
			return dialect.Quote(signature)
		}
		return nil
	})
}

func (m *writer) toolUse(start string, c *dialect.Call, input []byte) []byte {
	return m.object(".tool_use"+start, usually(".tool_use"), func(key string) []byte {
		switch key {
		case "type":
			return []byte(`"tool_use"`)
		case "id":
			return dialect.Quote(c.ID)
		case "name":
			return dialect.Quote(c.Name)
		case "input":
			return input
		}
		return nil
	})
}

// stream is the message as events.
func (m *writer) stream() *dialect.Body {
	m.event(dialect.Frame{Kind: dialect.KindPreamble}, "message_start", "message", m.message(".start", []byte("[]"), false, m.usage(".usage.start", 1)))
	m.ping("messages.ping.early", dialect.Keys{})
	if c := m.c; c.Reasoning != "" || c.Signature != "" {
		m.thought(c.Reasoning, c.Signature)
	}
	calls := func() {
		for i := range m.c.Calls {
			m.call(i)
		}
	}
	if m.style.CallsFirst {
		calls()
	}
	for _, s := range m.texts() {
		m.begin(dialect.Frame{Kind: dialect.KindRole}, m.text(".start", ""))
		for _, p := range dialect.Pieces(s, m.style, m.r.Seed) {
			m.delta(dialect.Frame{Kind: dialect.KindText, Tokens: 1}, "text_delta", "text", p)
		}
		m.end(dialect.Frame{})
	}
	if !m.style.CallsFirst {
		calls()
	}
	delta := m.object(".delta", usually(".delta"), m.stop)
	finish, has := m.style.Fragments.Finish, true
	if finish == "" {
		finish = m.style.Finish
	}
	if finish == dialect.FinishNever {
		has = false
	}
	if has {
		m.event(dialect.Frame{Kind: dialect.KindFinish}, "message_delta", "delta", delta, "usage", m.usage(".usage.delta", m.r.Usage.CompletionTokens))
	}
	if !m.style.NoDone {
		m.event(dialect.Frame{Kind: dialect.KindDone}, "message_stop")
	}
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, EarlyHead: m.style.EarlyHead, Frames: m.frames,
		Header: dialect.StreamHeader,
	}
}

func (m *writer) thought(s, signature string) {
	m.begin(dialect.Frame{Kind: dialect.KindReasoning}, m.thinking(".start", "", ""))
	for _, p := range dialect.Pieces(s, m.style, m.r.Seed) {
		m.delta(dialect.Frame{Kind: dialect.KindReasoning, Tokens: 1}, "thinking_delta", "thinking", p)
	}
	m.delta(dialect.Frame{Kind: dialect.KindReasoning}, "signature_delta", "signature", signature)
	m.end(dialect.Frame{Kind: dialect.KindReasoning})
}

// call is a tool_use block. Its arguments begin with an empty piece, and that
// is all when they are empty.
func (m *writer) call(i int) {
	c := &m.c.Calls[i]
	m.begin(dialect.Frame{Kind: dialect.KindCallStart, Call: i}, m.toolUse(".start", c, []byte("{}")))
	m.delta(dialect.Frame{Kind: dialect.KindCallArgs, Call: i}, "input_json_delta", "partial_json", "")
	var pieces []string
	switch {
	case c.Arguments == "{}":
	case m.style.WholeCalls || m.style.Fragments.Args == dialect.ArgsWhole:
		pieces = []string{c.Arguments}
	default:
		pieces = dialect.Pieces(c.Arguments, m.style, m.r.Seed+uint64(i))
	}
	for _, p := range pieces {
		m.delta(dialect.Frame{Kind: dialect.KindCallArgs, Call: i, Tokens: 1}, "input_json_delta", "partial_json", p)
	}
	m.end(dialect.Frame{Call: i})
}

// begin starts a block.
func (m *writer) begin(f dialect.Frame, block []byte) {
	m.event(f, "content_block_start", "index", m.index(), "content_block", block)
	if m.blocks == 0 {
		m.ping("messages.ping", dialect.Keys{"type"})
	}
}

func (m *writer) delta(f dialect.Frame, kind, key, value string) {
	d := fmt.Appendf(nil, `{"type":"%s","%s":`, kind, key)
	d = append(append(d, dialect.Quote(value)...), '}')
	m.event(f, "content_block_delta", "index", m.index(), "delta", d)
}

// end ends a block.
func (m *writer) end(f dialect.Frame) {
	m.event(f, "content_block_stop", "index", m.index())
	m.blocks++
}

func (m *writer) index() []byte { return strconv.AppendInt(nil, int64(m.blocks), 10) }

// event adds an event with members, which are told in pairs of name and JSON.
func (m *writer) event(f dialect.Frame, name string, members ...any) {
	keys := dialect.Keys{"type"}
	values := map[string][]byte{"type": dialect.Quote(name)}
	for i := 0; i+1 < len(members); i += 2 {
		key := members[i].(string)
		keys = append(keys, key)
		values[key] = members[i+1].([]byte)
	}
	data := m.object(".event."+name, keys, func(key string) []byte { return values[key] })
	f.Data = sse.Data(name, data)
	m.frames = append(m.frames, f)
}

// ping adds a ping, which the provider writes with a space.
func (m *writer) ping(object string, usual dialect.Keys) {
	if len(dialect.KeysOf(m.style, object, usual)) > 0 {
		m.frames = append(m.frames, dialect.Frame{Kind: dialect.KindOther, Data: sse.Data("ping", []byte(`{"type": "ping"}`))})
	}
}
