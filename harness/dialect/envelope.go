// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/harness"
)

// envelope is a request without its messages. The chats of a conversation
// share it as long as the client spells it the same.
type envelope struct {
	model        string
	tools        []harness.Tool
	toolChoice   string
	temperature  *float64
	maxTokens    int
	stream       bool
	includeUsage bool
	choices      int
	options      Options      // what is not above
	tokens       atomic.Int64 // of the tools; see once

	refusal     *Refusal // of the settings
	toolRefusal *Refusal // of tools and tool_choice
	unsupported *Refusal // see Chat.Unsupported
}

// object is a JSON object whose values are not read yet. Unlike a struct, it
// tells keys apart by their case.
type object map[string]json.RawMessage

// readObject reads raw, whose syntax has been checked. What is no object has
// no keys.
func readObject(raw []byte) object {
	var o object
	_ = json.Unmarshal(raw, &o)
	return o
}

// envelope returns prev's envelope when it is spelled the same, else a new
// one.
func (r *reader) envelope(prev *Chat) *envelope {
	c := r.chat
	if prev != nil && r.found && len(c.head) > 0 && len(prev.head) > 0 && &c.head[0] == &prev.head[0] && &c.tail[0] == &prev.tail[0] {
		return prev.env
	}
	skeleton := r.body
	if r.found {
		skeleton = r.skeleton()
	}
	o := readObject(skeleton)
	e := &envelope{}
	e.refusal = e.settings(o)
	e.toolRefusal = e.readTools(o)
	e.readUnsupported(o)
	return e
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (e *envelope) settings(o object) *Refusal {
	if absent(o["model"]) {
		return invalid("", "", "you must provide a model parameter")
	}
	if o["model"][0] != '"' {
		return wrongType("model", "a string", o["model"])
	}
	if e.model = text(o["model"]); e.model == "" {
		return invalid("", "", "you must provide a model parameter")
	}
	var topP *float64
	var completion int
	for _, r := range []*Refusal{
		decimal("temperature", o["temperature"], 2, &e.temperature),
		decimal("top_p", o["top_p"], 1, &topP),
		positive("max_tokens", o["max_tokens"], &e.maxTokens),
		positive("max_completion_tokens", o["max_completion_tokens"], &completion),
		positive("n", o["n"], &e.choices),
		boolean("stream", o["stream"], &e.stream),
	} {
		if r != nil {
			return r
		}
	}
	if e.maxTokens > 0 && completion > 0 {
		return invalid("max_tokens", "invalid_parameter_combination",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	e.maxTokens = max(e.maxTokens, completion)
	if r := e.streamOptions(o["stream_options"]); r != nil {
		return r
	}
	return e.chatOptions(o)
}

func (e *envelope) streamOptions(raw json.RawMessage) *Refusal {
	if absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return wrongType("stream_options", "an object", raw)
	}
	if !e.stream {
		return invalid("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	return boolean("stream_options.include_usage", readObject(raw)["include_usage"], &e.includeUsage)
}

func decimal(param string, raw json.RawMessage, limit float64, to **float64) *Refusal {
	if absent(raw) {
		return nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return wrongType(param, "a decimal", raw)
	}
	if f > limit {
		return invalid(param, "decimal_above_max_value", "Invalid '%s': decimal above maximum value. Expected a value <= %v, but got %s instead.", param, limit, raw)
	}
	if f < 0 {
		return invalid(param, "decimal_below_min_value", "Invalid '%s': decimal below minimum value. Expected a value >= 0, but got %s instead.", param, raw)
	}
	*to = &f
	return nil
}

func positive(param string, raw json.RawMessage, to *int) *Refusal {
	if absent(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return wrongType(param, "an integer", raw)
	}
	if *to < 1 {
		return invalid(param, "integer_below_min_value", "Invalid '%s': integer below minimum value. Expected a value >= 1, but got %d instead.", param, *to)
	}
	return nil
}

func boolean(param string, raw json.RawMessage, to *bool) *Refusal {
	if absent(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return wrongType(param, "a boolean", raw)
	}
	return nil
}

func (e *envelope) readTools(o object) *Refusal {
	if absent(o["tools"]) {
		if !absent(o["tool_choice"]) && string(o["tool_choice"]) != `"none"` {
			return invalid("tool_choice", "", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
		}
		if !absent(o["parallel_tool_calls"]) {
			return invalid("parallel_tool_calls", "", "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.")
		}
		return nil
	}
	var tools []json.RawMessage
	if err := json.Unmarshal(o["tools"], &tools); err != nil {
		return wrongType("tools", "an array of objects", o["tools"])
	}
	// All tools are read, whatever is wrong with one: the journal shows them.
	first := e.countTools(len(tools))
	seen := make(map[string]bool)
	for i, raw := range tools {
		t, refusal := readTool(fmt.Sprintf("tools[%d]", i), raw)
		if refusal == nil && seen[t.Name] {
			refusal = invalid("tools", "invalid_value", "Invalid value for 'tools': duplicate function name '%s'. Tool names must be unique.", t.Name)
		}
		if first == nil {
			first = refusal
		}
		seen[t.Name] = true
		e.tools = append(e.tools, t)
	}
	choice := e.readChoice(o["tool_choice"], seen)
	if first == nil {
		first = choice
	}
	var parallel bool
	if r := boolean("parallel_tool_calls", o["parallel_tool_calls"], &parallel); first == nil {
		first = r
	}
	return first
}

const maxTools = 128

func (e *envelope) countTools(n int) *Refusal {
	switch {
	case n == 0:
		return emptyArray("tools")
	case n > maxTools:
		return invalid("tools", "array_above_max_length",
			"Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, n)
	}
	return nil
}

func (e *envelope) readChoice(raw json.RawMessage, offered map[string]bool) *Refusal {
	if absent(raw) {
		return nil
	}
	switch raw[0] {
	case '"':
		e.toolChoice = text(raw)
		switch e.toolChoice {
		case "none", "auto", "required":
			return nil
		}
		return invalid("tool_choice", "invalid_value", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", e.toolChoice)
	case '{':
		c := readObject(raw)
		if text(c["type"]) == "allowed_tools" {
			e.toolChoice = text(readObject(c["allowed_tools"])["mode"])
			return nil
		}
		name := text(readObject(c["function"])["name"])
		if name == "" {
			return missing("tool_choice.function")
		}
		if !offered[name] {
			return invalid("tool_choice", "", "Invalid value for 'tool_choice': tool choice '%s' not found in 'tools' parameter.", name)
		}
		e.toolChoice = name
		return nil
	}
	return wrongType("tool_choice", "one of a string or object", raw)
}

func pathList(path []string) string {
	quoted := make([]string, len(path))
	for i, p := range path {
		quoted[i] = "'" + p + "'"
	}
	if len(quoted) == 1 {
		return "(" + quoted[0] + ",)"
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}
