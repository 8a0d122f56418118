// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/harness"
)

// Chat is a chat completions request. It is immutable and keeps nothing of
// the body it was read from.
type Chat struct {
	// The body is head, the messages joined by sep, tail; or whole when it is
	// spelled otherwise.
	Head, Sep, Tail []byte
	Whole           []byte
	Messages        []*Message
	Env             *Envelope
	Bytes           int
	Refused         *Refusal

	// Silent says that the request asks for no reply: its prompt is to be put
	// into the cache.
	Silent bool
	// Further says what of the messages the provider itself refuses and others
	// of its dialect take; nil is nothing.
	Further func(c *Chat) *Refusal

	request atomic.Pointer[harness.Request] // nil until it is asked for
}

// Unsupported says what the provider itself refuses and other endpoints of its
// dialect take; nil is nothing. It comes after [Chat.Refusal].
func (c *Chat) Unsupported() *Refusal {
	if c.Env.NotSupported != nil || c.Further == nil {
		return c.Env.NotSupported
	}
	return c.Further(c)
}

// Refusal is what the provider would answer instead of a reply, if it would.
func (c *Chat) Refusal() *Refusal { return c.Refused }

// Len returns the number of messages.
func (c *Chat) Len() int { return len(c.Messages) }

// At returns message i.
func (c *Chat) At(i int) *Message { return c.Messages[i] }

// Model returns the model that is asked for.
func (c *Chat) Model() string { return c.Env.Model }

// Stream reports whether a stream is asked for.
func (c *Chat) Stream() bool { return c.Env.Stream }

// IncludeUsage reports whether a stream is to end in a chunk with the usage.
func (c *Chat) IncludeUsage() bool { return c.Env.IncludeUsage }

// Tools returns the offered tools. The slice is shared by the chats of a
// conversation as long as the client offers the same.
func (c *Chat) Tools() []harness.Tool { return c.Env.Tools }

// Choices returns the number of choices that are asked for, n.
func (c *Chat) Choices() int { return max(c.Env.Choices, 1) }

// ToolTokens returns the number of tokens of the offered tools, which count
// tells once.
func (c *Chat) ToolTokens(count func([]harness.Tool) int) int {
	return once(&c.Env.tokens, func() int { return count(c.Env.Tools) })
}

// Request returns the whole request in the common vocabulary. Its slices are
// shared: they are not to be changed.
func (c *Chat) Request() harness.Request {
	if r := c.request.Load(); r != nil {
		return *r
	}
	messages := make([]harness.Message, len(c.Messages))
	for i, m := range c.Messages {
		messages[i] = m.Message()
	}
	e := c.Env
	r := &harness.Request{
		Model: e.Model, Messages: messages, Tools: e.Tools, ToolChoice: e.ToolChoice,
		Temperature: e.Temperature, MaxTokens: e.MaxTokens, Stream: e.Stream,
	}
	c.request.CompareAndSwap(nil, r)
	return *c.request.Load()
}

// Body returns the request as it came.
func (c *Chat) Body() json.RawMessage {
	if c.Whole != nil {
		return c.Whole
	}
	n := len(c.Head) + len(c.Tail)
	for _, m := range c.Messages {
		n += len(m.Raw) + len(c.Sep)
	}
	b := append(make([]byte, 0, n), c.Head...)
	for i, m := range c.Messages {
		if i > 0 {
			b = append(b, c.Sep...)
		}
		b = append(b, m.Raw...)
	}
	return append(b, c.Tail...)
}

// Spells reports whether b is the request as it came. It looks from the end,
// where the requests of a conversation differ.
func (c *Chat) Spells(b []byte) bool {
	if c.Whole != nil || len(c.Head) == 0 { // perhaps one of another dialect
		return false
	}
	b, ok := bytes.CutSuffix(b, c.Tail)
	for i := len(c.Messages) - 1; i >= 0 && ok; i-- {
		if b, ok = bytes.CutSuffix(b, c.Messages[i].Raw); ok && i > 0 {
			b, ok = bytes.CutSuffix(b, c.Sep)
		}
	}
	return ok && bytes.Equal(b, c.Head)
}

// Size returns the number of bytes that c holds and does not share with the
// chat that it was decoded after.
func (c *Chat) Size() int { return c.Bytes }

// Common returns the number of messages at the start that two chats have in
// common, however they are spelled.
func (c *Chat) Common(o *Chat) int {
	n := min(len(c.Messages), len(o.Messages))
	for i := range n {
		if !c.Messages[i].equal(o.Messages[i]) {
			return i
		}
	}
	return n
}

// SameMessages reports whether two chats have the same messages.
func (c *Chat) SameMessages(o *Chat) bool {
	return len(c.Messages) == len(o.Messages) && c.Common(o) == len(c.Messages)
}

const PointerSize = 8

// Message is one message of a [Chat]. It is immutable; its texts are decoded
// when first asked for. Chats of one conversation share their messages.
type Message struct {
	Raw     []byte
	Speaker harness.Role
	// Places of values in raw; zero when the key is not there.
	Content, Reasoning, Refusal Span
	Calls                       []RawCall
	Answers                     string
	// Problem is what the provider would refuse about the message alone; it
	// is given the message's path.
	Problem func(path string) *Refusal

	decode  sync.Once
	decoded harness.Message
	tokens  atomic.Int64 // see once
}

// RawCall is one entry of tool_calls.
type RawCall struct {
	ID         string
	Name, Args Span
}

// Role returns the role, with developer as system.
func (m *Message) Role() harness.Role { return m.Speaker }

// CallID returns the id that a tool message answers.
func (m *Message) CallID() string { return m.Answers }

// Member returns a member of the message as a chat completions request spells
// it; nil when it has none, or came in another dialect.
func (m *Message) Member(name string) json.RawMessage { return ReadObject(m.Raw)[name] }

// HasCalls reports whether the message makes tool calls.
func (m *Message) HasCalls() bool { return len(m.Calls) > 0 }

// Message returns the whole message, decoded. Its slices are shared.
func (m *Message) Message() harness.Message {
	m.decode.Do(func() {
		d := harness.Message{
			Role:      m.Speaker,
			Text:      contentText(m.Content.Of(m.Raw)),
			Reasoning: TextOf(m.Reasoning.Of(m.Raw)),
			Refusal:   TextOf(m.Refusal.Of(m.Raw)),
			CallID:    m.Answers,
		}
		d.Parts = Several(contentParts(m.Content.Of(m.Raw)))
		for _, c := range m.Calls {
			d.Calls = append(d.Calls, harness.ToolCall{ID: c.ID, Name: TextOf(c.Name.Of(m.Raw)), Arguments: TextOf(c.Args.Of(m.Raw))})
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
	if m == o || len(m.Raw) > 0 && bytes.Equal(m.Raw, o.Raw) {
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
		return TextOf(raw)
	}
	return strings.Join(contentParts(raw), "\n")
}

// Several returns the texts of a message of several parts; nil for one.
func Several(parts []string) []string {
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// contentParts returns the texts of the parts of a content value; nil for a
// string.
func contentParts(raw []byte) []string {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var parts []string
	// raw has been checked when the message was read.
	_, _ = EachItem(raw, 0, 0, func(_ Span, at, depth int) (int, error) {
		if raw[at] != '{' {
			return SkipValue(raw, at, depth)
		}
		return EachField(raw, at, depth, func(key Span, at, depth int) (int, error) {
			end, err := SkipValue(raw, at, depth)
			if string(key.Of(raw)) == "text" && raw[at] == '"' {
				parts = append(parts, TextOf(raw[at:end]))
			}
			return end, err
		})
	})
	return parts
}

// Keep gives m its own bytes, of which its spans were offset by at.
func (m *Message) Keep(raw []byte, at int) {
	m.Raw = raw
	for _, s := range []*Span{&m.Content, &m.Reasoning, &m.Refusal} {
		s.move(at)
	}
	for i := range m.Calls {
		m.Calls[i].Name.move(at)
		m.Calls[i].Args.move(at)
	}
}

func (s *Span) move(at int) {
	if !s.IsZero() {
		s.Lo, s.Hi = s.Lo-at, s.Hi-at
	}
}

// NewChat returns the chat that a request in another dialect amounts to. The
// body is the request as it came.
func NewChat(req harness.Request, body []byte) *Chat {
	c := &Chat{Whole: bytes.Clone(body), Bytes: len(body)}
	c.Env = &Envelope{
		Model: req.Model, Tools: req.Tools, ToolChoice: req.ToolChoice,
		Temperature: req.Temperature, MaxTokens: req.MaxTokens, Stream: req.Stream,
	}
	for _, m := range req.Messages {
		c.Messages = append(c.Messages, newMessage(m))
	}
	c.Bytes += PointerSize * len(c.Messages)
	return c
}

// newMessage returns a message that was decoded from another dialect.
func newMessage(m harness.Message) *Message {
	out := &Message{Speaker: m.Role, Answers: m.CallID}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, RawCall{ID: c.ID})
	}
	out.decode.Do(func() { out.decoded = m })
	return out
}

// Envelope is a request without its messages. The chats of a conversation
// share it as long as the client spells it the same.
type Envelope struct {
	Model        string
	Tools        []harness.Tool
	ToolChoice   string
	Temperature  *float64
	MaxTokens    int
	Stream       bool
	IncludeUsage bool
	Seed         string // as it is spelled; empty for none
	Choices      int
	Options      Options      // what is not above
	tokens       atomic.Int64 // of the tools; see once

	Refusal      *Refusal // of the settings
	ToolRefusal  *Refusal // of tools and tool_choice
	NotSupported *Refusal // see Chat.Unsupported
}

// Options are what a request asks of its reply, whatever the dialect.
type Options struct {
	// ToolChoice is none, auto, required, or the name of a tool.
	ToolChoice string
	// Serial says that parallel_tool_calls is false: at most one call.
	Serial bool
	// Choices is the number of replies, at least 1.
	Choices int
	// Stop are texts that end a reply before they occur in it.
	Stop []string
	// MaxTokens bounds the reply. 0 is no bound.
	MaxTokens int
	// Format is text, json_object or json_schema, which text is to match
	// Schema.
	Format string
	Schema json.RawMessage
	// Logprobs says that the probabilities of tokens are asked for.
	Logprobs bool
}

// Asks reports whether a request asks more of its reply than to be one.
func (c *Chat) Asks() bool {
	e, o := c.Env, &c.Env.Options
	return e.Choices > 1 || e.MaxTokens > 0 || e.ToolChoice != "" && e.ToolChoice != "auto" ||
		o.Serial || o.Logprobs || o.Stop != nil || o.Format != "" && o.Format != "text"
}

// Options returns what the request asks of its reply.
func (c *Chat) Options() Options {
	o := c.Env.Options
	o.ToolChoice, o.MaxTokens, o.Choices = c.Env.ToolChoice, c.Env.MaxTokens, c.Choices()
	if o.ToolChoice == "" {
		o.ToolChoice = "auto"
	}
	if o.Format == "" {
		o.Format = "text"
	}
	return o
}

// Embeddings is a request to the embeddings endpoint.
type Embeddings struct {
	// Chat has each input as a user message. It is never nil.
	Chat *Chat
	// Inputs are the texts. Tokens are spelled as JSON.
	Inputs []string
	// Dimensions is how many numbers a vector is to have.
	Dimensions int
	// Base64 says that vectors are to come as base64 and not as numbers.
	Base64 bool
}

// Plain is a request whose dialect keeps nothing from one to the next.
type Plain struct{ *Chat }

// AsChat is the request as all dialects see it.
func (p Plain) AsChat() *Chat { return p.Chat }

// Passed keeps nothing.
func (Plain) Passed(Received, *Store) {}

// Concealed stands for the value of a header that may be secret.
const Concealed = "(secret)"

// Headers are the headers of a request as a journal keeps them: their names in
// lower case, several values joined, and nothing secret. before, which may be
// nil, are those of an earlier request; they are returned when they are the
// same, so that a journal keeps one copy.
func Headers(h http.Header, before map[string]string) map[string]string {
	if SameHeaders(h, before) {
		return before
	}
	out := make(map[string]string, len(h))
	for name, values := range h {
		if !ofMessage(name) {
			out[strings.ToLower(name)] = shown(name, values)
		}
	}
	return out
}

// SameHeaders reports whether a journal keeps before of these headers.
func SameHeaders(h http.Header, before map[string]string) bool {
	if before == nil {
		return false
	}
	n := 0
	for name, values := range h {
		if ofMessage(name) {
			continue
		}
		if n++; !sameHeader(before, name, values) {
			return false
		}
	}
	return n == len(before)
}

// sameHeader reports whether a header is the same as before. This is asked of
// every request, so it makes no texts.
func sameHeader(before map[string]string, name string, values []string) bool {
	var lower [64]byte
	if len(name) > len(lower) || len(values) != 1 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	v, ok := before[string(lower[:len(name)])]
	return ok && (v == values[0] || v == Concealed)
}

// ofMessage reports whether a header describes one message or connection only.
func ofMessage(name string) bool { return name == "Content-Length" || name == "Connection" }

func shown(name string, values []string) string {
	switch {
	case secretHeader(name):
		return Concealed
	case len(values) == 1:
		return values[0]
	}
	return strings.Join(values, ", ")
}

// secretHeader reports whether the name of a header says that its value is
// secret.
func secretHeader(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"authorization", "key", "token", "secret", "passw", "credential", "cookie"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
