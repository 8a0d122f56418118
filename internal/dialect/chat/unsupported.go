// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// parameters are what chat completions take, by
// https://platform.openai.com/docs/api-reference/chat/create.
func parameters() []string {
	return []string{
		"audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens",
		"messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
		"stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
	}
}

// readUnsupported looks at the keys of a request.
func readUnsupported(e *dialect.Envelope, o dialect.Object) {
	if e.NotSupported = unrecognized(o, parameters()); e.NotSupported != nil {
		return
	}
	if e.NotSupported = dialect.UnknownParameter(o, Shapes(), ""); e.NotSupported != nil {
		return
	}
	switch {
	case !dialect.Absent(o["max_tokens"]) && reasons(e.Model):
		e.NotSupported = dialect.Invalid("max_tokens", "unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	case !dialect.Absent(o["reasoning_effort"]) && regexp.MustCompile(`^(gpt-3|gpt-4|chatgpt-)`).MatchString(e.Model):
		e.NotSupported = dialect.Invalid("", "", "Unrecognized request argument supplied: reasoning_effort")
	case !dialect.Absent(o["stop"]) && dialect.Thinks(e.Model):
		e.NotSupported = unsupportedParameter("stop")
	case !dialect.Absent(o["parallel_tool_calls"]) && oneByOne().MatchString(e.Model):
		e.NotSupported = unsupportedParameter("parallel_tool_calls")
	case !dialect.Coolable(e.Model, e.Temperature):
		e.NotSupported = dialect.Invalid("temperature", "unsupported_value",
			"Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.", *e.Temperature)
	}
}

// unrecognized refuses the keys of a request that are not known.
func unrecognized(o dialect.Object, known []string) *dialect.Refusal {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	switch len(unknown) {
	case 0:
		return nil
	case 1:
		return dialect.Invalid("", "", "Unrecognized request argument supplied: %s", unknown[0])
	}
	return dialect.Invalid("", "", "Unrecognized request arguments supplied: %s", strings.Join(unknown, ", "))
}

// oneByOne matches the models that make one call at a time, and do not take
// the parameter that asks for that.
func oneByOne() *regexp.Regexp {
	return regexp.MustCompile(`^(o1|o3-mini)(-[0-9]{4}-[0-9]{2}-[0-9]{2})?$`)
}

func unsupportedParameter(name string) *dialect.Refusal {
	return dialect.Invalid(name, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", name)
}

// reasons reports whether a model is one of OpenAI's that think.
func reasons(model string) bool {
	return regexp.MustCompile(`^(o[1-9]|gpt-([5-9]|[1-9][0-9]))([-.]|$)`).MatchString(model) && !strings.Contains(model, "-chat")
}

func Shapes() map[string]dialect.Shape {
	name := dialect.Having("name", nil)
	return map[string]dialect.Shape{
		"tools": {Kinds: map[string]dialect.Shape{
			"function": dialect.Having("type function", map[string]dialect.Shape{"function": dialect.Having("name description parameters strict", nil)}),
			"custom":   dialect.Having("type custom", nil),
		}},
		"tool_choice": {Kinds: map[string]dialect.Shape{
			"function":      dialect.Having("type function", map[string]dialect.Shape{"function": name}),
			"custom":        dialect.Having("type custom", map[string]dialect.Shape{"custom": name}),
			"allowed_tools": dialect.Having("type allowed_tools", map[string]dialect.Shape{"allowed_tools": dialect.Having("mode tools", nil)}),
		}},
		"response_format": {Kinds: map[string]dialect.Shape{
			"text": dialect.Having("type", nil), "json_object": dialect.Having("type", nil),
			"json_schema": dialect.Having("type json_schema", map[string]dialect.Shape{"json_schema": dialect.Having("name description schema strict", nil)}),
		}},
		"stream_options": dialect.Having("include_usage include_obfuscation", nil),
		"audio":          dialect.Having("voice format", nil),
	}
}

// ContentShapes is the content of a message that a client writes. What clients send
// back of replies and results has keys of other endpoints in it.
func ContentShapes() map[string]dialect.Shape {
	return map[string]dialect.Shape{"content": {Kinds: map[string]dialect.Shape{
		"text":        dialect.Having("type text prompt_cache_breakpoint", nil),
		"image_url":   dialect.Having("type image_url prompt_cache_breakpoint", map[string]dialect.Shape{"image_url": dialect.Having("url detail", nil)}),
		"input_audio": dialect.Having("type input_audio prompt_cache_breakpoint", map[string]dialect.Shape{"input_audio": dialect.Having("data format", nil)}),
		"file":        dialect.Having("type file prompt_cache_breakpoint", map[string]dialect.Shape{"file": dialect.Having("file_data file_id filename", nil)}),
	}}}
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

// report keeps the first problem of a tool call, under its path.
func (f *fields) report(i int, suffix string, problem func(path string) *dialect.Refusal) {
	if f.callProblem == nil {
		f.callProblem = func(path string) *dialect.Refusal {
			return problem(fmt.Sprintf("%s.tool_calls[%d]%s", path, i, suffix))
		}
	}
}
