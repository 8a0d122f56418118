// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"maps"
	"regexp"
	"slices"
	"strings"

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
