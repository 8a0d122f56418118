// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

// ownEdits are changes to requests by the surface that knows them. Those of
// tools change a request that has some.
func ownEdits() map[string]map[string]func(object) {
	set := func(key string, v any) func(object) { return func(b object) { b[key] = v } }
	say := func(key string, v ...any) func(object) {
		return func(b object) { b[key] = append(b[key].([]any), v...) }
	}
	only := func(key string, v ...any) func(object) { return func(b object) { b[key] = v } }
	image := object{"type": "image_url", "image_url": object{"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}
	jsonSchema := object{"type": "json_schema", "json_schema": object{"name": "mass", "schema": schema()}}
	return map[string]map[string]func(object){
		"chat": {
			"temperature": set("temperature", "hot"), "temperature-range": set("temperature", 9), "max-tokens": set("max_tokens", "many"), "max-completion": set("max_completion_tokens", 20),
			"top-p": set("top_p", []int{1}), "items": only("messages", "hello"), "numbers": only("messages", 1, 2), "no-content": say("messages", object{"role": "user"}),
			"number-content": say("messages", object{"role": "user", "content": 7}), "null-content": say("messages", object{"role": "user", "content": nil}),
			"parts":     say("messages", object{"role": "user", "content": []any{object{"type": "text", "text": "and ATP?"}}}),
			"image":     say("messages", object{"role": "user", "content": []any{object{"type": "text", "text": "what is it?"}, image}}),
			"developer": say("messages", object{"role": "developer", "content": "be kind"}), "no-role": say("messages", object{"content": "x"}),
			"system-only": only("messages", object{"role": "system", "content": "Be brief."}), "assistant-last": say("messages", object{"role": "assistant", "content": "It is"}),
			"stray-result": say("messages", object{"role": "tool", "tool_call_id": "call_9", "content": "x"}), "result-no-id": say("messages", object{"role": "tool", "content": "x"}),
			"n": set("n", 1), "stop": set("stop", []string{"END"}), "stop-text": set("stop", "END"), "format-text": set("response_format", object{"type": "text"}),
			"format-schema": set("response_format", jsonSchema), "seed": set("seed", 7), "effort": set("reasoning_effort", "low"), "user": set("user", "somebody"), "user-number": set("user", 5),
			"metadata-text": set("metadata", "x"), "logit-bias": set("logit_bias", object{"5": 1}), "service-tier": set("service_tier", "flex"), "store": set("store", true),
			"stream-options-null": set("stream_options", nil), "thinking": set("thinking", object{"type": "enabled", "budget_tokens": 1024}),
			"tools-items": set("tools", []any{"search"}), "tools-no-name": set("tools", []any{object{"type": "function", "function": object{"description": "x"}}}),
			"tools-no-function": set("tools", []any{object{"type": "function"}}), "tools-no-type": set("tools", []any{object{"function": object{"name": "search", "parameters": schema()}}}),
			"tools-flat": set("tools", []any{object{"type": "function", "name": "search", "parameters": schema()}}), "tools-no-description": set("tools", []any{object{"type": "function", "function": object{"name": "search", "parameters": schema()}}}),
			"tools-no-parameters": set("tools", []any{object{"type": "function", "function": object{"name": "search"}}}), "tools-strict": set("tools", []any{object{"type": "function", "function": object{"name": "search", "strict": true, "parameters": schema()}}}),
			"tool-auto": set("tool_choice", "auto"), "tool-none": set("tool_choice", "none"), "tool-parallel": set("parallel_tool_calls", false),
			"functions": set("functions", []any{object{"name": "search", "parameters": schema()}}),
		},
		"messages": {
			"temperature": set("temperature", "hot"), "max-tokens": set("max_tokens", "many"), "no-max-tokens": func(b object) { delete(b, "max_tokens") }, "zero-max-tokens": set("max_tokens", 0),
			"system": set("system", "Be brief."), "system-list": set("system", []any{object{"type": "text", "text": "Be brief."}}), "system-number": set("system", 5),
			"items": only("messages", "hello"), "no-content": say("messages", object{"role": "user"}), "blocks": say("messages", object{"role": "user", "content": []any{object{"type": "text", "text": "and ATP?"}}}),
			"system-role": say("messages", object{"role": "system", "content": "be kind"}), "assistant-last": say("messages", object{"role": "assistant", "content": "It is"}),
			"stop": set("stop_sequences", []string{"END"}), "top-k": set("top_k", 5), "thinking": set("thinking", object{"type": "enabled", "budget_tokens": 1024}), "thinking-off": set("thinking", object{"type": "disabled"}),
			"metadata": set("metadata", object{"user_id": "somebody"}), "tier": set("service_tier", "auto"), "tools-items": set("tools", []any{"search"}), "tools-no-name": set("tools", []any{object{"input_schema": schema()}}),
			"tools-no-schema": set("tools", []any{object{"name": "search"}}), "tool-choice-auto": set("tool_choice", object{"type": "auto"}), "tool-choice-none": set("tool_choice", object{"type": "none"}),
			"tools-server": set("tools", []any{object{"type": "web_search_20250305", "name": "web_search"}}),
			"stray-result": say("messages", object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "toolu_9", "content": "x"}}}),
		},
		"responses": {
			"temperature": set("temperature", "hot"), "max-tokens": set("max_output_tokens", "many"), "instructions": set("instructions", "Be brief."), "items": only("input", "hello"), "number": set("input", 5),
			"parts": say("input", object{"role": "user", "content": []any{object{"type": "input_text", "text": "and ATP?"}}}), "typed": say("input", object{"type": "message", "role": "user", "content": "and ATP?"}),
			"developer": say("input", object{"role": "developer", "content": "be kind"}), "assistant": say("input", object{"role": "assistant", "content": "It is"}, object{"role": "user", "content": "go on"}),
			"no-content": say("input", object{"role": "user"}), "reference": say("input", object{"type": "item_reference", "id": "msg_1"}), "strange-item": say("input", object{"type": "wizardry", "id": "w"}),
			"stray-result": say("input", object{"type": "function_call_output", "call_id": "call_9", "output": "x"}), "previous": set("previous_response_id", "resp_1"), "metadata": set("metadata", object{"a": "b"}),
			"metadata-null": set("metadata", nil), "reasoning": set("reasoning", object{"effort": "high", "summary": "auto"}), "include": set("include", []string{"reasoning.encrypted_content"}),
			"format-schema": set("text", object{"format": object{"type": "json_schema", "name": "mass", "schema": schema()}}), "verbosity": set("text", object{"verbosity": "low"}), "background": set("background", true),
			"tools-items": set("tools", []any{"search"}), "tools-search": set("tools", []any{object{"type": "web_search"}}), "tools-custom": set("tools", []any{object{"type": "custom", "name": "shell"}}),
			"tools-strict": set("tools", []any{object{"type": "function", "name": "search", "strict": true, "parameters": schema()}}), "tools-no-name": set("tools", []any{object{"type": "function", "parameters": schema()}}),
			"tool-auto": set("tool_choice", "auto"), "tool-none": set("tool_choice", "none"), "tool-parallel": set("parallel_tool_calls", false), "tools-max": set("max_tool_calls", 3),
			"user": set("user", "somebody"), "cache-key": set("prompt_cache_key", "k"), "safety": set("safety_identifier", "s"), "store": set("store", true), "penalty": set("frequency_penalty", 0.5),
			"service-tier": set("service_tier", "priority"), "truncation": set("truncation", "auto"), "top-p": set("top_p", 0.5),
		},
		"generate": {
			"config":      set("generationConfig", object{"temperature": 0.5, "maxOutputTokens": 50, "topP": 0.9, "topK": 5, "stopSequences": []string{"END"}, "candidateCount": 1}),
			"config-text": set("generationConfig", object{"temperature": "hot"}), "mime": set("generationConfig", object{"responseMimeType": "application/json", "responseSchema": schema()}),
			"thinking": set("generationConfig", object{"thinkingConfig": object{"thinkingBudget": 100, "includeThoughts": true}}), "safety": set("safetySettings", []any{object{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE"}}),
			"snake": set("system_instruction", object{"parts": []any{object{"text": "Be brief."}}}), "system-text": set("systemInstruction", "Be brief."), "items": only("contents", "hello"), "no-role": only("contents", object{"parts": []any{object{"text": "hello"}}}),
			"no-parts": only("contents", object{"role": "user"}), "model-last": say("contents", object{"role": "model", "parts": []any{object{"text": "It is"}}}),
			"inline":      say("contents", object{"role": "user", "parts": []any{object{"inlineData": object{"mimeType": "image/png", "data": "iVBORw0KGgo="}}}}),
			"tools-items": set("tools", []any{"search"}), "tools-bare": set("tools", []any{object{"googleSearch": object{}}}), "tools-schema": set("tools", []any{object{"functionDeclarations": []any{object{"name": "search", "parametersJsonSchema": schema()}}}}),
			"tool-config": set("toolConfig", object{"functionCallingConfig": object{"mode": "AUTO"}}), "tool-none": set("toolConfig", object{"functionCallingConfig": object{"mode": "NONE"}}),
			"cached": set("cachedContent", "cachedContents/1"),
		},
		"completions": {
			"temperature": set("temperature", "hot"), "list": set("prompt", []string{"a", "b"}), "number": set("prompt", 5), "echo": set("echo", true), "n": set("n", 1), "suffix": set("suffix", "x"), "logprobs": set("logprobs", 2),
			"stop": set("stop", []string{"END"}), "messages": set("messages", []any{object{"role": "user", "content": "hello"}}), "max-tokens": set("max_tokens", 20),
		},
	}
}
