// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/toolname"
)

// maxCallID is the longest tool call id that the provider takes back.
const maxCallID = 40

// report keeps the first problem of a tool call, under its path.
func (f *fields) report(i int, suffix string, problem func(path string) *Refusal) {
	if f.callProblem == nil {
		f.callProblem = func(path string) *Refusal {
			return problem(fmt.Sprintf("%s.tool_calls[%d]%s", path, i, suffix))
		}
	}
}

// checkCall says what the provider would refuse about one tool call.
func (f *fields) checkCall(b []byte, i int, id, kind, name, args span, function bool) {
	required := func(v span, suffix string) bool {
		if v.isZero() {
			f.report(i, suffix, missing)
			return false
		}
		if b[v.lo] != '"' {
			raw := slices.Clone(v.of(b))
			f.report(i, suffix, func(p string) *Refusal { return wrongType(p, "a string", raw) })
			return false
		}
		return true
	}
	if required(id, ".id") && id.hi-id.lo > maxCallID+len(`""`) {
		if n := len(text(id.of(b))); n > maxCallID {
			f.report(i, ".id", func(p string) *Refusal { return tooLong(p, maxCallID, n) })
		}
	}
	required(kind, ".type")
	if !function {
		f.report(i, ".function", missing)
		return
	}
	if required(name, ".function.name") {
		n := text(name.of(b))
		if len(n) > toolname.MaxLen {
			f.report(i, ".function.name", func(p string) *Refusal { return tooLong(p, toolname.MaxLen, len(n)) })
		} else if !toolname.Valid(n) {
			f.report(i, ".function.name", badPattern)
		}
	}
	required(args, ".function.arguments")
}

// check says what the provider would refuse about a message alone; nil is
// nothing.
func (f *fields) check(b []byte, role harness.Role) func(path string) *Refusal {
	if f.role.isZero() {
		return func(path string) *Refusal { return missing(path + ".role") }
	}
	if b[f.role.lo] != '"' {
		raw := slices.Clone(f.role.of(b))
		return func(path string) *Refusal { return wrongType(path+".role", "a string", raw) }
	}
	switch role {
	case harness.RoleSystem, harness.RoleUser, harness.RoleTool, "developer", "function":
		if role == harness.RoleTool && (f.callID.isZero() || b[f.callID.lo] != '"') {
			return func(path string) *Refusal { return missing(path + ".tool_call_id") }
		}
		return f.checkContent(b, true)
	case harness.RoleAssistant:
		return f.checkAssistant(b)
	}
	return func(path string) *Refusal {
		return invalid(path+".role", "invalid_value",
			"Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
	}
}

func (f *fields) checkAssistant(b []byte) func(path string) *Refusal {
	calls := f.toolCalls.of(b)
	switch {
	case len(calls) == 0 || calls[0] == 'n':
		bare := isNull(b, f.functionCall) && isNull(b, f.refusal) && isNull(b, f.audio)
		return f.checkContent(b, bare)
	case calls[0] != '[':
		kind := slices.Clone(calls[:1])
		return func(path string) *Refusal { return wrongType(path+".tool_calls", "an array of objects", kind) }
	case f.callProblem != nil:
		return f.callProblem
	case len(f.calls) == 0:
		return func(path string) *Refusal { return emptyArray(path + ".tool_calls") }
	}
	return f.checkContent(b, false)
}

func isNull(b []byte, v span) bool { return v.isZero() || b[v.lo] == 'n' }

func (f *fields) checkContent(b []byte, required bool) func(path string) *Refusal {
	if isNull(b, f.content) {
		if !required {
			return nil
		}
		return func(path string) *Refusal {
			return invalid(dotted(path)+".content", "", "Invalid value for 'content': expected a string, got null.")
		}
	}
	raw := f.content.of(b)
	switch raw[0] {
	case '"':
		return nil
	case '[':
		return checkParts(raw)
	}
	kind := slices.Clone(raw)
	return func(path string) *Refusal {
		return wrongType(path+".content", "one of a string or array of objects", kind)
	}
}

func checkParts(raw []byte) (problem func(path string) *Refusal) {
	i := 0
	// raw has been checked: the error cannot be.
	_, _ = eachItem(raw, 0, 0, func(_ span, at, depth int) (int, error) {
		end, err := skipValue(raw, at, depth)
		if raw[at] != '{' && problem == nil {
			n, kind := i, slices.Clone(raw[at:at+1])
			problem = func(path string) *Refusal {
				return wrongType(fmt.Sprintf("%s.content[%d]", path, n), "an object", kind)
			}
		}
		i++
		return end, err
	})
	if i == 0 {
		return func(path string) *Refusal { return emptyArray(path + ".content") }
	}
	return problem
}

// dotted spells messages[3] as messages.[3], as some of the provider's errors
// do.
func dotted(path string) string { return strings.Replace(path, "[", ".[", 1) }

// checkSequence says what the provider would refuse about the order of
// messages: calls without results and results without calls.
func checkSequence(messages []*Message) *Refusal {
	var open []call     // calls of the last assistant message
	var answered []bool // which of them have a result
	unanswered := func(i int) *Refusal {
		var ids []string
		for n, c := range open {
			if !answered[n] {
				ids = append(ids, c.id)
			}
		}
		if ids == nil {
			return nil
		}
		return invalid(fmt.Sprintf("messages.[%d].role", i), "",
			"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
			strings.Join(ids, ", "))
	}
	for i, m := range messages {
		if m.role != harness.RoleTool {
			if r := unanswered(i); r != nil {
				return r
			}
			open = m.calls
			answered = append(answered[:0], make([]bool, len(open))...)
			continue
		}
		if open == nil {
			return invalid(fmt.Sprintf("messages.[%d].role", i), "",
				"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		}
		n := slices.IndexFunc(open, func(c call) bool { return c.id == m.callID })
		if n < 0 {
			return invalid(fmt.Sprintf("messages.[%d].tool_call_id", i), "",
				"Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", m.callID)
		}
		answered[n] = true
	}
	return unanswered(len(messages))
}
