// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
)

// Chat is a chat completions request. It is immutable and keeps nothing of
// the body it was read from.
type Chat struct {
	// The body is head, the messages joined by sep, tail; or whole when it is
	// spelled otherwise.
	head, sep, tail []byte
	whole           []byte
	messages        []*Message
	env             *envelope
	size            int
	refusal         *Refusal

	request atomic.Pointer[harness.Request] // nil until it is asked for
}

// DecodeChat reads the body of a chat completions request. prev may be an
// earlier request of the same conversation, which makes it cheap; nil is
// fine. A body that is spelled like prev's gives prev.
//
// The refusal says what the provider would refuse; nil means that it would
// answer. The chat is nil when the body is no JSON object; otherwise it is
// there beside a refusal, as far as it could be read.
func DecodeChat(body []byte, prev *Chat) (*Chat, *Refusal) {
	if prev != nil && prev.spells(body) {
		return prev, prev.refusal
	}
	c := &Chat{}
	r := reader{body: body, chat: c}
	err := r.read(prev)
	if err != nil {
		return nil, notJSON(err)
	}
	if r.duplicate {
		return nil, notJSON(errors.New("the key \"messages\" occurs twice"))
	}
	c.env = r.envelope(prev)
	c.refusal = c.check(&r)
	return c, c.refusal
}

// check says what the provider would refuse.
func (c *Chat) check(r *reader) *Refusal {
	if c.env.refusal != nil {
		return c.env.refusal
	}
	switch {
	case r.notArray != nil:
		return wrongType("messages", "an array of objects", r.notArray)
	case !r.found:
		return missing("messages")
	case len(c.messages) == 0:
		return emptyArray("messages")
	}
	for i, m := range c.messages {
		if m.problem != nil {
			return m.problem(fmt.Sprintf("messages[%d]", i))
		}
	}
	if refusal := checkSequence(c.messages); refusal != nil {
		return refusal
	}
	if c.env.toolRefusal != nil {
		return c.env.toolRefusal
	}
	return c.checkFormat()
}

// Refusal is what the provider would answer instead of a reply, if it would.
func (c *Chat) Refusal() *Refusal { return c.refusal }

// Len returns the number of messages.
func (c *Chat) Len() int { return len(c.messages) }

// At returns message i.
func (c *Chat) At(i int) *Message { return c.messages[i] }

// Model returns the model that is asked for.
func (c *Chat) Model() string { return c.env.model }

// Stream reports whether a stream is asked for.
func (c *Chat) Stream() bool { return c.env.stream }

// IncludeUsage reports whether a stream is to end in a chunk with the usage.
func (c *Chat) IncludeUsage() bool { return c.env.includeUsage }

// Tools returns the offered tools. The slice is shared by the chats of a
// conversation as long as the client offers the same.
func (c *Chat) Tools() []harness.Tool { return c.env.tools }

// Choices returns the number of choices that are asked for, n.
func (c *Chat) Choices() int { return max(c.env.choices, 1) }

// ToolTokens returns the number of tokens of the offered tools, which count
// tells once.
func (c *Chat) ToolTokens(count func([]harness.Tool) int) int {
	return once(&c.env.tokens, func() int { return count(c.env.tools) })
}

// Request returns the whole request in the common vocabulary. Its slices are
// shared: they are not to be changed.
func (c *Chat) Request() harness.Request {
	if r := c.request.Load(); r != nil {
		return *r
	}
	messages := make([]harness.Message, len(c.messages))
	for i, m := range c.messages {
		messages[i] = m.Message()
	}
	e := c.env
	r := &harness.Request{
		Model: e.model, Messages: messages, Tools: e.tools, ToolChoice: e.toolChoice,
		Temperature: e.temperature, MaxTokens: e.maxTokens, Stream: e.stream,
	}
	c.request.CompareAndSwap(nil, r)
	return *c.request.Load()
}

// Body returns the request as it came.
func (c *Chat) Body() json.RawMessage {
	if c.whole != nil {
		return c.whole
	}
	n := len(c.head) + len(c.tail)
	for _, m := range c.messages {
		n += len(m.raw) + len(c.sep)
	}
	b := append(make([]byte, 0, n), c.head...)
	for i, m := range c.messages {
		if i > 0 {
			b = append(b, c.sep...)
		}
		b = append(b, m.raw...)
	}
	return append(b, c.tail...)
}

// spells reports whether b is the request as it came. It looks from the end,
// where the requests of a conversation differ.
func (c *Chat) spells(b []byte) bool {
	if c.whole != nil || len(c.head) == 0 { // perhaps one of another dialect
		return false
	}
	b, ok := bytes.CutSuffix(b, c.tail)
	for i := len(c.messages) - 1; i >= 0 && ok; i-- {
		if b, ok = bytes.CutSuffix(b, c.messages[i].raw); ok && i > 0 {
			b, ok = bytes.CutSuffix(b, c.sep)
		}
	}
	return ok && bytes.Equal(b, c.head)
}

// Size returns the number of bytes that c holds and does not share with the
// chat that it was decoded after.
func (c *Chat) Size() int { return c.size }

// Common returns the number of messages at the start that two chats have in
// common, however they are spelled.
func (c *Chat) Common(o *Chat) int {
	n := min(len(c.messages), len(o.messages))
	for i := range n {
		if !c.messages[i].equal(o.messages[i]) {
			return i
		}
	}
	return n
}

// SameMessages reports whether two chats have the same messages.
func (c *Chat) SameMessages(o *Chat) bool {
	return len(c.messages) == len(o.messages) && c.Common(o) == len(c.messages)
}

// reader reads one body.
type reader struct {
	body      []byte
	chat      *Chat
	found     bool   // there is a messages array
	notArray  []byte // the messages, when they are no array
	duplicate bool

	pos         int   // in body
	starts      []int // where each message that is not shared starts
	ends        []int
	first, last int // where the messages start and end
	oddSeps     bool
}

func (r *reader) read(prev *Chat) error {
	if prev != nil && prev.whole == nil && len(prev.head) > 0 && bytes.HasPrefix(r.body, prev.head) {
		r.pos = skipSpace(r.body, len(prev.head))
		r.first, r.last = r.pos, r.pos
		r.found = true
		return r.readAfter(prev)
	}
	b := r.body
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		if end, err := skipValue(b, i, 0); err != nil || skipSpace(b, end) != len(b) {
			return errSyntax
		}
		return errors.New("not an object")
	}
	end, err := eachField(b, i, 0, func(key span, at, depth int) (int, error) {
		if string(key.of(b)) != "messages" {
			return skipValue(b, at, depth)
		}
		if r.found || r.notArray != nil {
			r.duplicate = true
		}
		if b[at] != '[' {
			end, err := skipValue(b, at, depth)
			r.notArray = b[at:end]
			return end, err
		}
		r.found = true
		r.pos = skipSpace(b, at+1)
		r.first, r.last = r.pos, r.pos
		if r.pos < len(b) && b[r.pos] == ']' {
			return r.pos + 1, nil
		}
		if err := r.messages(depth + 1); err != nil {
			return r.pos, err
		}
		return skipSpace(b, r.last) + 1, nil
	})
	if err != nil {
		return err
	}
	if skipSpace(b, end) != len(b) {
		return errSyntax
	}
	if !utf8.Valid(b) {
		return errors.New("not valid UTF-8")
	}
	if !r.found {
		r.chat.whole = bytes.Clone(b)
		r.chat.size = len(b)
		return nil
	}
	r.keep(nil)
	return nil
}

// readAfter reads a body that starts like prev's. A message is shared when
// the same bytes stand at its place: a JSON object ends where its last brace
// is, so that equal bytes are an equal value.
func (r *reader) readAfter(prev *Chat) error {
	c, b := r.chat, r.body
	c.messages = make([]*Message, 0, len(prev.messages)+2)
	for _, m := range prev.messages {
		if len(m.raw) == 0 || m.raw[0] != '{' || !bytes.HasPrefix(b[r.pos:], m.raw) {
			break
		}
		c.messages = append(c.messages, m)
		r.pos += len(m.raw)
		r.last = r.pos
		if !bytes.HasPrefix(b[r.pos:], prev.sep) || len(prev.sep) == 0 {
			break
		}
		r.pos += len(prev.sep)
	}
	shared := r.pos
	if err := r.rest(prev); err != nil {
		return err
	}
	if r.last != len(b)-len(prev.tail) || !bytes.HasSuffix(b, prev.tail) {
		if err := r.checkSkeleton(); err != nil {
			return err
		}
	}
	if !utf8.Valid(b[shared:]) {
		return errors.New("not valid UTF-8")
	}
	r.keep(prev)
	return nil
}

// rest reads the messages after those shared with prev.
func (r *reader) rest(prev *Chat) error {
	c, b := r.chat, r.body
	if r.pos < len(b) && b[r.pos] == ']' && r.pos == r.last {
		c.sep = prev.sep
		return nil
	}
	if len(c.messages) == 0 {
		return r.messages(2)
	}
	c.sep = prev.sep
	if r.pos == r.last {
		// Not prev's separator: another one, or white space before the end.
		i := skipSpace(b, r.pos)
		if i < len(b) && b[i] == ']' {
			return nil
		}
		if i >= len(b) || b[i] != ',' {
			return errSyntax
		}
		r.pos = skipSpace(b, i+1)
		c.sep = bytes.Clone(b[r.last:r.pos])
		r.oddSeps = len(c.messages) > 1
	}
	return r.messages(2)
}

// checkSkeleton checks the body without its messages.
func (r *reader) checkSkeleton() error {
	b := r.skeleton()
	n := 0
	end, err := eachField(b, skipSpace(b, 0), 0, func(key span, at, depth int) (int, error) {
		if string(key.of(b)) == "messages" {
			n++
		}
		return skipValue(b, at, depth)
	})
	if err != nil {
		return err
	}
	if skipSpace(b, end) != len(b) {
		return errSyntax
	}
	r.duplicate = n > 1
	return nil
}

// skeleton returns the body with its array of messages empty.
func (r *reader) skeleton() []byte {
	return append(bytes.Clone(r.body[:r.first]), r.body[r.last:]...)
}

// messages reads the rest of the array, from r.pos where a message starts.
func (r *reader) messages(depth int) error {
	b, c := r.body, r.chat
	for {
		m, end, err := readMessage(b, r.pos, depth)
		if err != nil {
			return err
		}
		r.starts, r.ends = append(r.starts, r.pos), append(r.ends, end)
		c.messages = append(c.messages, m)
		r.last = end
		i := skipSpace(b, end)
		if i >= len(b) {
			return errSyntax
		}
		if b[i] == ']' {
			return nil
		}
		if b[i] != ',' {
			return errSyntax
		}
		r.pos = skipSpace(b, i+1)
		if sep := b[end:r.pos]; c.sep == nil {
			c.sep = bytes.Clone(sep)
		} else if !bytes.Equal(c.sep, sep) {
			r.oddSeps = true
		}
	}
}

const pointerSize = 8

// keep copies out of the body what the chat does not share with prev.
func (r *reader) keep(prev *Chat) {
	c, b := r.chat, r.body
	c.size = pointerSize * len(c.messages)
	if n := len(r.starts); n > 0 {
		lo := r.starts[0]
		region := bytes.Clone(b[lo:r.ends[n-1]])
		c.size += len(region)
		for i, m := range c.messages[len(c.messages)-n:] {
			m.keep(region[r.starts[i]-lo:r.ends[i]-lo], r.starts[i])
		}
	}
	share := func(part []byte, old []byte) []byte {
		if bytes.Equal(part, old) {
			return old
		}
		c.size += len(part)
		return bytes.Clone(part)
	}
	var head, tail []byte
	if prev != nil {
		head, tail = prev.head, prev.tail
	}
	c.head, c.tail = share(b[:r.first], head), share(b[r.last:], tail)
	if r.oddSeps {
		c.whole = bytes.Clone(b)
		c.size += len(b)
	}
}
