// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// parameters are what the responses endpoint takes, by
// https://platform.openai.com/docs/api-reference/responses/create, and what
// OpenAI's own clients send it.
func parameters() []string {
	return []string{
		"access_programs", "background", "background_options", "client_metadata", "context_management", "conversation", "image", "include",
		"input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "moderation", "parallel_tool_calls",
		"previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
		"safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools",
		"top_logprobs", "top_p", "truncation", "user",
	}
}

// unsupported is what OpenAI itself refuses of a request to the responses
// endpoint.
func (d *reader) unsupported() *dialect.Refusal {
	known := parameters()
	for _, key := range slices.Sorted(maps.Keys(d.o)) {
		if !slices.Contains(known, key) {
			return dialect.Invalid(key, "unknown_parameter", "Unknown parameter: '%s'.", key)
		}
	}
	if r := dialect.UnknownParameter(d.o, Shapes(), ""); r != nil {
		return r
	}
	if !dialect.Coolable(d.env.Model, d.env.Temperature) {
		return dialect.Invalid("temperature", "", "Unsupported parameter: 'temperature' is not supported with this model.")
	}
	return nil
}

func Shapes() map[string]dialect.Shape {
	parts := dialect.Shape{Kinds: map[string]dialect.Shape{
		"input_text":  dialect.Having("type text prompt_cache_breakpoint", nil),
		"input_image": dialect.Having("type detail file_id image_url prompt_cache_breakpoint", nil),
		"input_file":  dialect.Having("type detail file_data file_id file_url filename prompt_cache_breakpoint", nil),
		"output_text": dialect.Having("type annotations logprobs text parsed", nil),
		"refusal":     dialect.Having("type refusal", nil),
	}}
	return map[string]dialect.Shape{
		"input": {Kind: "message", Kinds: map[string]dialect.Shape{
			"message":              dialect.Having("type role content id status phase metadata end_turn", map[string]dialect.Shape{"content": parts}),
			"function_call":        dialect.Having("type arguments async call_id caller created_by id name namespace parsed_arguments status", nil),
			"function_call_output": dialect.Having("type call_id caller created_by id name namespace output status", map[string]dialect.Shape{"output": parts}),
		}},
		"reasoning": dialect.Having("context effort generate_summary mode summary", nil),
		"text": dialect.Having("format verbosity", map[string]dialect.Shape{"format": {Kinds: map[string]dialect.Shape{
			"text": dialect.Having("type", nil), "json_object": dialect.Having("type", nil), "json_schema": dialect.Having("type name description schema strict", nil),
		}}}),
		"tools": {Kinds: map[string]dialect.Shape{
			"function": dialect.Having("type allowed_callers async defer_loading description name output_schema parameters strict", nil),
			"custom":   dialect.Having("type allowed_callers async defer_loading description format name", nil),
		}},
		"tool_choice": {Kinds: map[string]dialect.Shape{
			"function": dialect.Having("type name", nil), "custom": dialect.Having("type name", nil), "allowed_tools": dialect.Having("type mode tools", nil),
		}},
	}
}
