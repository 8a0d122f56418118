// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// Dialect is OpenAI's chat completions.
var Dialect = &dialect.Dialect{
	Name: "chat", Provider: "openai", Path: "/chat/completions", ClientPath: "/v1/chat/completions",
	Read:     readRequest,
	Overflow: overflow, ReplyID: dialect.IDs{Prefix: "chatcmpl-", Len: 29}, CallID: dialect.IDs{Prefix: "call_", Len: 24},
	Models: func(ids []string, created int64) []byte {
		list := []model{}
		for _, id := range ids {
			list = append(list, newModel(id, created))
		}
		return dialect.Encode(struct {
			Object string  `json:"object"`
			Data   []model `json:"data"`
		}{"list", list})
	},
	Model:  func(id string, created int64) []byte { return dialect.Encode(newModel(id, created)) },
	OpenAI: true, Calls: true, ChatFields: true,
	Part: "choices with a message", Several: true, Parse: newParser,
}

type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModel(id string, created int64) model {
	return model{ID: id, Object: "model", Created: created, OwnedBy: "rehearse"}
}

// overflow is what chat completions say of too many tokens.
func overflow(l dialect.Length) *dialect.Refusal {
	if l.Prompt+l.Room <= l.Window {
		return nil
	}
	parts, reduce := fmt.Sprintf("%d in the messages", l.Prompt-l.Tools), "messages"
	switch {
	case l.Tools > 0 && l.Room > 0:
		parts += fmt.Sprintf(", %d in the functions, and %d in the completion", l.Tools, l.Room)
		reduce = "messages, functions, or completion"
	case l.Room > 0:
		parts += fmt.Sprintf(", %d in the completion", l.Room)
		reduce = "messages or completion"
	case l.Tools > 0:
		parts += fmt.Sprintf(", %d in the functions", l.Tools)
		reduce = "messages or functions"
	}
	said := fmt.Sprintf("your messages resulted in %d tokens", l.Prompt)
	if l.Room > 0 {
		said = fmt.Sprintf("you requested %d tokens", l.Prompt+l.Room)
	}
	if l.Tools > 0 || l.Room > 0 {
		said += " (" + parts + ")"
	}
	return dialect.Invalid("messages", "context_length_exceeded",
		"This model's maximum context length is %d tokens. However, %s. Please reduce the length of the %s.", l.Window, said, reduce)
}

func readSettings(e *dialect.Envelope, o dialect.Object) *dialect.Refusal {
	if dialect.Absent(o["model"]) {
		return dialect.Invalid("", "", "you must provide a model parameter")
	}
	if o["model"][0] != '"' {
		return dialect.WrongType("model", "a string", o["model"])
	}
	if e.Model = dialect.TextOf(o["model"]); e.Model == "" {
		return dialect.Invalid("", "", "you must provide a model parameter")
	}
	var topP *float64
	var completion int
	for _, r := range []*dialect.Refusal{
		dialect.CheckDecimal("temperature", o["temperature"], 0, 2, &e.Temperature),
		dialect.CheckDecimal("top_p", o["top_p"], 0, 1, &topP),
		dialect.CheckPositive("max_tokens", o["max_tokens"], &e.MaxTokens),
		dialect.CheckPositive("max_completion_tokens", o["max_completion_tokens"], &completion),
		dialect.CheckPositive("n", o["n"], &e.Choices),
		dialect.CheckBoolean("stream", o["stream"], &e.Stream),
	} {
		if r != nil {
			return r
		}
	}
	if e.MaxTokens > 0 && completion > 0 {
		return dialect.Invalid("max_tokens", "invalid_parameter_combination",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	e.MaxTokens = max(e.MaxTokens, completion)
	if r := e.StreamOptions(o["stream_options"]); r != nil {
		return r
	}
	return readChatOptions(e, o)
}

func readTools(e *dialect.Envelope, o dialect.Object) *dialect.Refusal {
	if dialect.Absent(o["tools"]) {
		if !dialect.Absent(o["tool_choice"]) && string(o["tool_choice"]) != `"none"` {
			return dialect.Invalid("tool_choice", "", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
		}
		if !dialect.Absent(o["parallel_tool_calls"]) {
			return dialect.Invalid("parallel_tool_calls", "", "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.")
		}
		return nil
	}
	var tools []json.RawMessage
	if err := json.Unmarshal(o["tools"], &tools); err != nil {
		return dialect.WrongType("tools", "an array of objects", o["tools"])
	}
	// All tools are read, whatever is wrong with one: the journal shows them.
	first := countTools(len(tools))
	seen := make(map[string]bool)
	for i, raw := range tools {
		t, refusal := readTool(fmt.Sprintf("tools[%d]", i), raw)
		if refusal == nil && seen[t.Name] {
			refusal = dialect.Invalid("tools", "invalid_value", "Invalid value for 'tools': duplicate function name '%s'. Tool names must be unique.", t.Name)
		}
		if first == nil {
			first = refusal
		}
		seen[t.Name] = true
		e.Tools = append(e.Tools, t)
	}
	choice := readChoice(e, o["tool_choice"], seen)
	if first == nil {
		first = choice
	}
	var parallel bool
	if r := dialect.CheckBoolean("parallel_tool_calls", o["parallel_tool_calls"], &parallel); first == nil {
		first = r
	}
	return first
}

func countTools(n int) *dialect.Refusal {
	switch {
	case n == 0:
		return dialect.EmptyArray("tools")
	case n > dialect.MaxTools:
		return dialect.Invalid("tools", "array_above_max_length",
			"Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", dialect.MaxTools, n)
	}
	return nil
}

func readChoice(e *dialect.Envelope, raw json.RawMessage, offered map[string]bool) *dialect.Refusal {
	if dialect.Absent(raw) {
		return nil
	}
	switch raw[0] {
	case '"':
		e.ToolChoice = dialect.TextOf(raw)
		switch e.ToolChoice {
		case "none", "auto", "required":
			return nil
		}
		return dialect.Invalid("tool_choice", "invalid_value", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", e.ToolChoice)
	case '{':
		c := dialect.ReadObject(raw)
		if dialect.TextOf(c["type"]) == "allowed_tools" {
			e.ToolChoice = dialect.TextOf(dialect.ReadObject(c["allowed_tools"])["mode"])
			return nil
		}
		name := dialect.TextOf(dialect.ReadObject(c["function"])["name"])
		if name == "" {
			return dialect.Missing("tool_choice.function")
		}
		if !offered[name] {
			return dialect.Invalid("tool_choice", "", "Invalid value for 'tool_choice': tool choice '%s' not found in 'tools' parameter.", name)
		}
		e.ToolChoice = name
		return nil
	}
	return dialect.WrongType("tool_choice", "one of a string or object", raw)
}

// readChatOptions reads what only chat completions have.
func readChatOptions(e *dialect.Envelope, o dialect.Object) *dialect.Refusal {
	var parallel, logprobs bool
	var top int
	r := dialect.FirstOf(
		func() *dialect.Refusal { return e.ReadSharedOptions(o) },
		func() *dialect.Refusal { return dialect.CheckBoolean("logprobs", o["logprobs"], &logprobs) },
		func() *dialect.Refusal { return dialect.CheckInteger("top_logprobs", o["top_logprobs"], &top) },
		func() *dialect.Refusal { return dialect.CheckAtMost("top_logprobs", top, dialect.MaxTopLogprobs) },
	)
	if r != nil {
		return r
	}
	if top > 0 && !logprobs {
		return dialect.Invalid("top_logprobs", "", "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.")
	}
	e.Options.Logprobs = logprobs
	if !dialect.Absent(o["parallel_tool_calls"]) && json.Unmarshal(o["parallel_tool_calls"], &parallel) == nil {
		e.Options.Serial = !parallel
	}
	if dialect.Absent(o["response_format"]) {
		return nil
	}
	if o["response_format"][0] != '{' {
		return dialect.WrongType("response_format", "an object", o["response_format"])
	}
	return e.Options.ReadFormat("response_format", dialect.ReadObject(o["response_format"]))
}

// readTool reads one entry of tools, and says what the provider would refuse
// about it.
func readTool(path string, raw json.RawMessage) (harness.Tool, *dialect.Refusal) {
	if raw[0] != '{' {
		return harness.Tool{}, dialect.WrongType(path, "an object", raw)
	}
	o := dialect.ReadObject(raw)
	kind, function := o["type"], o["function"]
	switch {
	case dialect.Absent(kind):
		return harness.Tool{}, dialect.Missing(path + ".type")
	case dialect.TextOf(kind) == "custom": // has no schema
		c := dialect.ReadObject(o["custom"])
		t := harness.Tool{Name: dialect.TextOf(c["name"]), Description: dialect.TextOf(c["description"])}
		return t, dialect.CheckName(path+".custom.name", t.Name)
	case dialect.TextOf(kind) != "function":
		return harness.Tool{}, dialect.Invalid(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", dialect.TextOf(kind))
	case dialect.Absent(function):
		return harness.Tool{}, dialect.Missing(path + ".function")
	case function[0] != '{':
		return harness.Tool{}, dialect.WrongType(path+".function", "an object", function)
	}
	return dialect.ReadFunction(path+".function", dialect.ReadObject(function))
}
