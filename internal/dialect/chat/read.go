// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package chat has OpenAI's chat completions, the older completions, and
// embeddings.
package chat

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// readRequest is [Read] for the table.
func readRequest(body []byte, q *dialect.Query) (dialect.Request, *dialect.Refusal) {
	c, refusal := Read(body, q.Prev)
	if c == nil {
		return nil, refusal
	}
	return Request{dialect.Plain{Chat: c}}, refusal
}

// Read reads the body of a chat completions request. prev may be an
// earlier request of the same conversation, which makes it cheap; nil is
// fine. A body that is spelled like prev's gives prev.
//
// The refusal says what the provider would refuse; nil means that it would
// answer. The chat is nil when the body is no JSON object; otherwise it is
// there beside a refusal, as far as it could be read.
func Read(body []byte, prev *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
	if prev != nil && prev.Spells(body) {
		return prev, prev.Refused
	}
	c := &dialect.Chat{Further: unsupported}
	r := reader{body: body, chat: c}
	err := r.read(prev)
	if err != nil {
		return nil, dialect.NotJSON(err)
	}
	if r.duplicate {
		return nil, dialect.NotJSON(errors.New("the key \"messages\" occurs twice"))
	}
	c.Env = r.envelope(prev)
	c.Refused = check(c, &r)
	return c, c.Refused
}

// check says what the provider would refuse.
func check(c *dialect.Chat, r *reader) *dialect.Refusal {
	if c.Env.Refusal != nil {
		return c.Env.Refusal
	}
	switch {
	case r.notArray != nil:
		return dialect.WrongType("messages", "an array of objects", r.notArray)
	case !r.found:
		return dialect.Missing("messages")
	case len(c.Messages) == 0:
		return dialect.EmptyArray("messages")
	}
	for i, m := range c.Messages {
		if m.Problem != nil {
			return m.Problem(fmt.Sprintf("messages[%d]", i))
		}
	}
	if refusal := checkSequence(c.Messages); refusal != nil {
		return refusal
	}
	if c.Env.ToolRefusal != nil {
		return c.Env.ToolRefusal
	}
	return checkFormat(c)
}

// reader reads one body.
type reader struct {
	body      []byte
	chat      *dialect.Chat
	found     bool   // there is a messages array
	notArray  []byte // the messages, when they are no array
	duplicate bool

	pos         int   // in body
	starts      []int // where each message that is not shared starts
	ends        []int
	first, last int // where the messages start and end
	oddSeps     bool
}

func (r *reader) read(prev *dialect.Chat) error {
	if prev != nil && prev.Whole == nil && len(prev.Head) > 0 && bytes.HasPrefix(r.body, prev.Head) {
		r.pos = dialect.SkipSpace(r.body, len(prev.Head))
		r.first, r.last = r.pos, r.pos
		r.found = true
		return r.readAfter(prev)
	}
	b := r.body
	i := dialect.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		if end, err := dialect.SkipValue(b, i, 0); err != nil || dialect.SkipSpace(b, end) != len(b) {
			return dialect.ErrSyntax
		}
		return errors.New("not an object")
	}
	end, err := dialect.EachField(b, i, 0, func(key dialect.Span, at, depth int) (int, error) {
		if string(key.Of(b)) != "messages" {
			return dialect.SkipValue(b, at, depth)
		}
		if r.found || r.notArray != nil {
			r.duplicate = true
		}
		if b[at] != '[' {
			end, err := dialect.SkipValue(b, at, depth)
			r.notArray = b[at:end]
			return end, err
		}
		r.found = true
		r.pos = dialect.SkipSpace(b, at+1)
		r.first, r.last = r.pos, r.pos
		if r.pos < len(b) && b[r.pos] == ']' {
			return r.pos + 1, nil
		}
		if err := r.messages(depth + 1); err != nil {
			return r.pos, err
		}
		return dialect.SkipSpace(b, r.last) + 1, nil
	})
	if err != nil {
		return err
	}
	if dialect.SkipSpace(b, end) != len(b) {
		return dialect.ErrSyntax
	}
	if !utf8.Valid(b) {
		return errors.New("not valid UTF-8")
	}
	if !r.found {
		r.chat.Whole = bytes.Clone(b)
		r.chat.Bytes = len(b)
		return nil
	}
	r.keep(nil)
	return nil
}

// readAfter reads a body that starts like prev's. A message is shared when
// the same bytes stand at its place: a JSON object ends where its last brace
// is, so that equal bytes are an equal value.
func (r *reader) readAfter(prev *dialect.Chat) error {
	c, b := r.chat, r.body
	c.Messages = make([]*dialect.Message, 0, len(prev.Messages)+2)
	for _, m := range prev.Messages {
		if len(m.Raw) == 0 || m.Raw[0] != '{' || !bytes.HasPrefix(b[r.pos:], m.Raw) {
			break
		}
		c.Messages = append(c.Messages, m)
		r.pos += len(m.Raw)
		r.last = r.pos
		if !bytes.HasPrefix(b[r.pos:], prev.Sep) || len(prev.Sep) == 0 {
			break
		}
		r.pos += len(prev.Sep)
	}
	shared := r.pos
	if err := r.rest(prev); err != nil {
		return err
	}
	if r.last != len(b)-len(prev.Tail) || !bytes.HasSuffix(b, prev.Tail) {
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
func (r *reader) rest(prev *dialect.Chat) error {
	c, b := r.chat, r.body
	if r.pos < len(b) && b[r.pos] == ']' && r.pos == r.last {
		c.Sep = prev.Sep
		return nil
	}
	if len(c.Messages) == 0 {
		return r.messages(2)
	}
	c.Sep = prev.Sep
	if r.pos == r.last {
		// Not prev's separator: another one, or white space before the end.
		i := dialect.SkipSpace(b, r.pos)
		if i < len(b) && b[i] == ']' {
			return nil
		}
		if i >= len(b) || b[i] != ',' {
			return dialect.ErrSyntax
		}
		r.pos = dialect.SkipSpace(b, i+1)
		c.Sep = bytes.Clone(b[r.last:r.pos])
		r.oddSeps = len(c.Messages) > 1
	}
	return r.messages(2)
}

// checkSkeleton checks the body without its messages.
func (r *reader) checkSkeleton() error {
	b := r.skeleton()
	n := 0
	end, err := dialect.EachField(b, dialect.SkipSpace(b, 0), 0, func(key dialect.Span, at, depth int) (int, error) {
		if string(key.Of(b)) == "messages" {
			n++
		}
		return dialect.SkipValue(b, at, depth)
	})
	if err != nil {
		return err
	}
	if dialect.SkipSpace(b, end) != len(b) {
		return dialect.ErrSyntax
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
		c.Messages = append(c.Messages, m)
		r.last = end
		i := dialect.SkipSpace(b, end)
		if i >= len(b) {
			return dialect.ErrSyntax
		}
		if b[i] == ']' {
			return nil
		}
		if b[i] != ',' {
			return dialect.ErrSyntax
		}
		r.pos = dialect.SkipSpace(b, i+1)
		if sep := b[end:r.pos]; c.Sep == nil {
			c.Sep = bytes.Clone(sep)
		} else if !bytes.Equal(c.Sep, sep) {
			r.oddSeps = true
		}
	}
}

// keep copies out of the body what the chat does not share with prev.
func (r *reader) keep(prev *dialect.Chat) {
	c, b := r.chat, r.body
	c.Bytes = dialect.PointerSize * len(c.Messages)
	if n := len(r.starts); n > 0 {
		lo := r.starts[0]
		region := bytes.Clone(b[lo:r.ends[n-1]])
		c.Bytes += len(region)
		for i, m := range c.Messages[len(c.Messages)-n:] {
			m.Keep(region[r.starts[i]-lo:r.ends[i]-lo], r.starts[i])
		}
	}
	share := func(part []byte, old []byte) []byte {
		if bytes.Equal(part, old) {
			return old
		}
		c.Bytes += len(part)
		return bytes.Clone(part)
	}
	var head, tail []byte
	if prev != nil {
		head, tail = prev.Head, prev.Tail
	}
	c.Head, c.Tail = share(b[:r.first], head), share(b[r.last:], tail)
	if r.oddSeps {
		c.Whole = bytes.Clone(b)
		c.Bytes += len(b)
	}
}

// envelope returns prev's envelope when it is spelled the same, else a new
// one.
func (r *reader) envelope(prev *dialect.Chat) *dialect.Envelope {
	c := r.chat
	if prev != nil && r.found && len(c.Head) > 0 && len(prev.Head) > 0 && &c.Head[0] == &prev.Head[0] && &c.Tail[0] == &prev.Tail[0] {
		return prev.Env
	}
	skeleton := r.body
	if r.found {
		skeleton = r.skeleton()
	}
	o := dialect.ReadObject(skeleton)
	e := &dialect.Envelope{}
	e.Refusal = readSettings(e, o)
	e.ToolRefusal = readTools(e, o)
	readUnsupported(e, o)
	return e
}

// checkFormat says what the provider refuses about messages and format.
func checkFormat(c *dialect.Chat) *dialect.Refusal {
	if c.Env.Options.Format != "json_object" || dialect.SaysJSON(c.Messages) {
		return nil
	}
	return dialect.Invalid("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
}
