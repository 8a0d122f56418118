// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package chat has OpenAI's chat completions, the older completions, and
// embeddings.
package chat

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/toolname"
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

// readMessage reads the message at b[at:]. Until [Message.keep], its spans
// are into b.
func readMessage(b []byte, at, depth int) (*dialect.Message, int, error) {
	m := &dialect.Message{}
	if at >= len(b) || b[at] != '{' {
		end, err := dialect.SkipValue(b, at, depth)
		if err == nil {
			kind := slices.Clone(b[at:end])
			m.Problem = func(path string) *dialect.Refusal { return dialect.WrongType(path, "an object", kind) }
		}
		return m, end, err
	}
	var f fields
	end, err := dialect.EachField(b, at, depth, func(key dialect.Span, at, depth int) (int, error) {
		var end int
		var err error
		if string(key.Of(b)) == "tool_calls" && b[at] == '[' {
			end, err = f.readCalls(b, at, depth)
		} else {
			end, err = dialect.SkipValue(b, at, depth)
		}
		f.set(key.Of(b), dialect.Span{Lo: at, Hi: end})
		return end, err
	})
	if err != nil {
		return m, end, err
	}
	m.Content, m.Refusal, m.Reasoning = f.content, f.refusal, f.reasoning
	m.Answers = dialect.IDOf(f.callID.Of(b))
	m.Calls = f.calls
	m.Speaker = role(f.role.Of(b))
	m.Problem = f.check(b, m.Speaker)
	if m.Speaker == "developer" {
		m.Speaker = harness.RoleSystem
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
	return harness.Role(dialect.TextOf(raw))
}

// fields are the places of a message's keys while it is read.
type fields struct {
	role, content, refusal, reasoning, callID, toolCalls, functionCall, audio dialect.Span

	calls       []dialect.RawCall
	callProblem func(path string) *dialect.Refusal
}

func (f *fields) set(key []byte, v dialect.Span) {
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
	return dialect.EachItem(b, at, depth, func(_ dialect.Span, at, depth int) (int, error) {
		i++
		var id, kind, name, args dialect.Span
		if b[at] != '{' {
			end, err := dialect.SkipValue(b, at, depth)
			f.report(i, "", func(p string) *dialect.Refusal { return dialect.WrongType(p, "an object", nil) })
			return end, err
		}
		inner := func(key dialect.Span, at, depth int) (int, error) {
			end, err := dialect.SkipValue(b, at, depth)
			switch string(key.Of(b)) {
			case "name":
				name = dialect.Span{Lo: at, Hi: end}
			case "arguments", "input":
				args = dialect.Span{Lo: at, Hi: end}
			}
			return end, err
		}
		function := false
		end, err := dialect.EachField(b, at, depth, func(key dialect.Span, at, depth int) (int, error) {
			k := string(key.Of(b))
			if (k == "function" || k == "custom") && b[at] == '{' {
				function = true
				return dialect.EachField(b, at, depth, inner)
			}
			end, err := dialect.SkipValue(b, at, depth)
			switch k {
			case "id":
				id = dialect.Span{Lo: at, Hi: end}
			case "type":
				kind = dialect.Span{Lo: at, Hi: end}
			}
			return end, err
		})
		if err != nil {
			return end, err
		}
		f.checkCall(b, i, id, kind, name, args, function)
		f.calls = append(f.calls, dialect.RawCall{ID: dialect.IDOf(id.Of(b)), Name: name, Args: args})
		return end, nil
	})
}

// maxCallID is the longest tool call id that the provider takes back.
const maxCallID = 40

// checkCall says what the provider would refuse about one tool call.
func (f *fields) checkCall(b []byte, i int, id, kind, name, args dialect.Span, function bool) {
	required := func(v dialect.Span, suffix string) bool {
		if v.IsZero() {
			f.report(i, suffix, dialect.Missing)
			return false
		}
		if b[v.Lo] != '"' {
			raw := slices.Clone(v.Of(b))
			f.report(i, suffix, func(p string) *dialect.Refusal { return dialect.WrongType(p, "a string", raw) })
			return false
		}
		return true
	}
	if required(id, ".id") && id.Hi-id.Lo > maxCallID+len(`""`) {
		if n := len(dialect.TextOf(id.Of(b))); n > maxCallID {
			f.report(i, ".id", func(p string) *dialect.Refusal { return dialect.TooLongString(p, maxCallID, n) })
		}
	}
	required(kind, ".type")
	if !function {
		f.report(i, ".function", dialect.Missing)
		return
	}
	if required(name, ".function.name") {
		n := dialect.TextOf(name.Of(b))
		if len(n) > toolname.MaxLen {
			f.report(i, ".function.name", func(p string) *dialect.Refusal { return dialect.TooLongString(p, toolname.MaxLen, len(n)) })
		} else if !toolname.Valid(n) {
			f.report(i, ".function.name", dialect.BadPattern)
		}
	}
	required(args, ".function.arguments")
}

// check says what the provider would refuse about a message alone; nil is
// nothing.
func (f *fields) check(b []byte, role harness.Role) func(path string) *dialect.Refusal {
	if f.role.IsZero() {
		return func(path string) *dialect.Refusal { return dialect.Missing(path + ".role") }
	}
	if b[f.role.Lo] != '"' {
		raw := slices.Clone(f.role.Of(b))
		return func(path string) *dialect.Refusal { return dialect.WrongType(path+".role", "a string", raw) }
	}
	switch role {
	case harness.RoleSystem, harness.RoleUser, harness.RoleTool, "developer", "function":
		if role == harness.RoleTool && (f.callID.IsZero() || b[f.callID.Lo] != '"') {
			return func(path string) *dialect.Refusal { return dialect.Missing(path + ".tool_call_id") }
		}
		return f.checkContent(b, true)
	case harness.RoleAssistant:
		return f.checkAssistant(b)
	}
	return func(path string) *dialect.Refusal {
		return dialect.Invalid(path+".role", "invalid_value",
			"Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
	}
}

func (f *fields) checkAssistant(b []byte) func(path string) *dialect.Refusal {
	calls := f.toolCalls.Of(b)
	switch {
	case len(calls) == 0 || calls[0] == 'n':
		bare := isNull(b, f.functionCall) && isNull(b, f.refusal) && isNull(b, f.audio)
		return f.checkContent(b, bare)
	case calls[0] != '[':
		kind := slices.Clone(calls[:1])
		return func(path string) *dialect.Refusal {
			return dialect.WrongType(path+".tool_calls", "an array of objects", kind)
		}
	case f.callProblem != nil:
		return f.callProblem
	case len(f.calls) == 0:
		return func(path string) *dialect.Refusal { return dialect.EmptyArray(path + ".tool_calls") }
	}
	return f.checkContent(b, false)
}

func isNull(b []byte, v dialect.Span) bool { return v.IsZero() || b[v.Lo] == 'n' }

func (f *fields) checkContent(b []byte, required bool) func(path string) *dialect.Refusal {
	if isNull(b, f.content) {
		if !required {
			return nil
		}
		return func(path string) *dialect.Refusal {
			return dialect.Invalid(dotted(path)+".content", "", "Invalid value for 'content': expected a string, got null.")
		}
	}
	raw := f.content.Of(b)
	switch raw[0] {
	case '"':
		return nil
	case '[':
		return checkParts(raw)
	}
	kind := slices.Clone(raw)
	return func(path string) *dialect.Refusal {
		return dialect.WrongType(path+".content", "one of a string or array of objects", kind)
	}
}

// checkSequence says what the provider would refuse about the order of
// messages: calls without results, results without calls, and two results of
// one call.
func checkSequence(messages []*dialect.Message) *dialect.Refusal {
	var open []dialect.RawCall // calls of the last assistant message
	var answered []int         // by which message, from 1; 0 for not yet
	unanswered := func(i int) *dialect.Refusal {
		var ids []string
		for n, c := range open {
			if answered[n] == 0 {
				ids = append(ids, c.ID)
			}
		}
		if ids == nil {
			return nil
		}
		return dialect.Invalid(fmt.Sprintf("messages.[%d].role", i), "",
			"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
			strings.Join(ids, ", "))
	}
	for i, m := range messages {
		if m.Speaker != harness.RoleTool {
			if r := unanswered(i); r != nil {
				return r
			}
			open = m.Calls
			answered = append(answered[:0], make([]int, len(open))...)
			continue
		}
		if open == nil {
			return dialect.Invalid(fmt.Sprintf("messages.[%d].role", i), "",
				"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		}
		n := slices.IndexFunc(open, func(c dialect.RawCall) bool { return c.ID == m.Answers })
		if n < 0 {
			return dialect.Invalid(fmt.Sprintf("messages.[%d].tool_call_id", i), "",
				"Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", m.Answers)
		}
		if first := answered[n]; first > 0 {
			return dialect.Invalid(fmt.Sprintf("messages.[%d].tool_call_id", i), "",
				"Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", m.Answers, first-1, i)
		}
		answered[n] = i + 1
	}
	return unanswered(len(messages))
}

// unsupported is what OpenAI itself refuses of the messages.
func unsupported(c *dialect.Chat) *dialect.Refusal {
	for i, m := range c.Messages {
		if plain(m) {
			continue
		}
		if r := unsupportedIn(m, i); r != nil {
			return r
		}
	}
	return nil
}

// plain reports whether a message has one text and names nobody, so that OpenAI
// has nothing else to refuse of it.
func plain(m *dialect.Message) bool {
	content := m.Content.Of(m.Raw)
	if len(content) > 0 && content[0] == '[' {
		return false
	}
	// A name is beside the content, which may be long.
	name := []byte(`"name"`)
	return m.HasCalls() || !bytes.Contains(m.Raw[:m.Content.Lo], name) && !bytes.Contains(m.Raw[m.Content.Hi:], name)
}
