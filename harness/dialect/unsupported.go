// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// chatParameters are what chat completions take, by
// https://platform.openai.com/docs/api-reference/chat/create.
func chatParameters() []string {
	return []string{
		"audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens",
		"messages", "metadata", "modalities", "model", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
		"prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
		"stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
	}
}

// Unsupported says what OpenAI itself refuses and other endpoints of its
// dialect take; nil is nothing. It comes after [Chat.Refusal].
func (c *Chat) Unsupported() *Refusal { return c.env.unsupported }

// readUnsupported looks at the keys of a request.
func (e *envelope) readUnsupported(o object) {
	known := chatParameters()
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	switch {
	case len(unknown) == 1:
		e.unsupported = invalid("", "", "Unrecognized request argument supplied: %s", unknown[0])
	case len(unknown) > 1:
		e.unsupported = invalid("", "", "Unrecognized request arguments supplied: %s", strings.Join(unknown, ", "))
	case !absent(o["max_tokens"]) && reasons(e.model):
		e.unsupported = invalid("max_tokens", "unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
}

// reasons reports whether a model is one of OpenAI's that think.
func reasons(model string) bool {
	return regexp.MustCompile(`^(o[1-9]|gpt-([5-9]|[1-9][0-9]))([-.]|$)`).MatchString(model) && !strings.Contains(model, "-chat")
}
