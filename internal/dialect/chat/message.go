// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

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
	m.Answers = dialect.TextOf(f.callID.Of(b))
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
		f.calls = append(f.calls, dialect.RawCall{ID: dialect.TextOf(id.Of(b)), Name: name, Args: args})
		return end, nil
	})
}

// maxCallID is the longest tool call id that the provider takes back.
const maxCallID = 40

// report keeps the first problem of a tool call, under its path.
func (f *fields) report(i int, suffix string, problem func(path string) *dialect.Refusal) {
	if f.callProblem == nil {
		f.callProblem = func(path string) *dialect.Refusal {
			return problem(fmt.Sprintf("%s.tool_calls[%d]%s", path, i, suffix))
		}
	}
}

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

func checkParts(raw []byte) (problem func(path string) *dialect.Refusal) {
	i := 0
	// raw has been checked: the error cannot be.
	_, _ = dialect.EachItem(raw, 0, 0, func(_ dialect.Span, at, depth int) (int, error) {
		end, err := dialect.SkipValue(raw, at, depth)
		if raw[at] != '{' && problem == nil {
			n, kind := i, slices.Clone(raw[at:at+1])
			problem = func(path string) *dialect.Refusal {
				return dialect.WrongType(fmt.Sprintf("%s.content[%d]", path, n), "an object", kind)
			}
		}
		i++
		return end, err
	})
	if i == 0 {
		return func(path string) *dialect.Refusal { return dialect.EmptyArray(path + ".content") }
	}
	return problem
}

// dotted spells messages[3] as messages.[3], as some of the provider's errors
// do.
func dotted(path string) string { return strings.Replace(path, "[", ".[", 1) }

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
		if r := unsupportedIn(m, i); r != nil {
			return r
		}
	}
	return nil
}

// unsupportedIn is what OpenAI itself refuses of message i of a chat completions
// request: parts of a kind that it does not know or that have nothing in them,
// and names with white space.
func unsupportedIn(m *dialect.Message, i int) *dialect.Refusal {
	if name := participant(m); strings.ContainsAny(name, " \t\r\n<|\\/>") {
		path := fmt.Sprintf("messages[%d].name", i)
		return dialect.Invalid(path, "invalid_value", `Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[^\s<|\\/>]+$'.`, path)
	}
	content := m.Content.Of(m.Raw)
	if len(content) == 0 || content[0] != '[' {
		return nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return nil // checked when the message was read
	}
	for k, part := range parts {
		path := fmt.Sprintf("messages[%d].content[%d]", i, k)
		o := dialect.ReadObject(part)
		switch kind := dialect.TextOf(o["type"]); {
		case dialect.Absent(o["type"]):
			return dialect.Missing(path + ".type")
		case !slices.Contains(partKinds(), kind):
			return dialect.Invalid(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, dialect.WordList(partKinds()))
		case dialect.Absent(o[kind]):
			return dialect.Missing(path + "." + kind)
		}
	}
	if m.Speaker == harness.RoleAssistant || m.Speaker == harness.RoleTool {
		return nil
	}
	return dialect.UnknownParameter(dialect.Object{"content": content}, ContentShapes(), fmt.Sprintf("messages[%d].", i))
}

// participant returns the name of the participant, which few messages have.
func participant(m *dialect.Message) string {
	if !bytes.Contains(m.Raw, []byte(`"name"`)) || m.HasCalls() {
		return ""
	}
	return dialect.TextOf(m.Member("name"))
}

// partKinds are the kinds of parts of a message. A part has its content under
// the name of its kind.
func partKinds() []string { return []string{"text", "image_url", "input_audio", "refusal", "file"} }
