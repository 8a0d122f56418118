// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// said is what the gateway says in an exchange, in any of its dialects, and
// what goes wrong meanwhile.
type said struct {
	text   []string // in the pieces of a stream
	calls  []toolCall
	finish string // in OpenAI's words; "" is stop, or tool_calls

	// trouble is drop, cut, reset, error, error-event, late-error,
	// late-error-event, no-done or bare-call.
	trouble string
	// status, above 0, is answered with body in place of all else.
	status     int
	kind, body string
}

type toolCall struct{ name, args string }

// dated is the name that the provider has for a model of the gateway.
func dated(model string) string {
	names := map[string]string{
		"gpt4o": "gpt-4o-2024-11-20", "gpt5nano": "gpt-5-nano-2025-08-07", "gpt54nano": "gpt-5.4-nano", "gpt5": "gpt-5-2025-08-07",
		"claudeopus45": "claude-opus-4-5-20251101", "claudesonnet45": "claude-sonnet-4-5-20250929", "claudehaiku45": "claude-haiku-4-5-20251001",
	}
	if n := names[model]; n != "" {
		return n
	}
	return model
}

// modelList is the gateway's list of models.
func modelList() string {
	var rows []string
	for _, m := range [][2]string{
		{"GPT-4o", "gpt4o"},
		{"o1", "gpto1"},
		{"o3-mini", "gpto3mini"},
		{"GPT-4.1", "gpt41"},
		{"GPT-5", "gpt5"},
		{"GPT-5 nano", "gpt5nano"},
		{"GPT-5.4 nano", "gpt54nano"},
		{"Gemini 2.5 Pro", "gemini25pro"},
		{"Gemini 2.5 Flash", "gemini25flash"},
		{"Claude Haiku 4.5", "claudehaiku45"},
		{"Claude Sonnet 4.5", "claudesonnet45"},
		{"Claude Opus 4.5", "claudeopus45"},
		{"text-embedding-ada-002", "ada002"},
		{"text-embedding-3-small", "v3small"},
		{"text-embedding-3-large", "v3large"},
	} {
		rows = append(rows, fmt.Sprintf(`{"id":%q,"internal_id":%q,"created":1764280000,"object":"model","owned_by":"system"}`, m[0], m[1]))
	}
	return `{"object":"list","data":[` + strings.Join(rows, ",") + `]}`
}

func (s said) reason() string {
	switch {
	case s.finish != "":
		return s.finish
	case len(s.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// stopReason is the reason in Anthropic's words.
func (s said) stopReason() string {
	return map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}[s.reason()]
}

func (s said) callID(q asked, i int) string {
	if q.claude() {
		return fmt.Sprintf("toolu_vrtx_01%c", 'A'+i)
	}
	return fmt.Sprintf("call_AAA%d", i+1)
}

const (
	filterNote  = `{"hate": {"filtered": false, "severity": "safe"}}`
	promptNote  = `[{"prompt_index": 0, "content_filter_results": ` + filterNote + `}]`
	usageOpenAI = `{"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29, ` +
		`"completion_tokens_details": {"accepted_prediction_tokens": 0, "audio_tokens": 0, "reasoning_tokens": 0, "rejected_prediction_tokens": 0}, ` +
		`"prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": 0}}`
	usageClaude = `{"input_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": %d}`
)

// completion is a reply as chat completions have it.
func (s said) completion(q asked) string {
	content, calls := encode(strings.Join(s.text, "")), ""
	if len(s.text) == 0 && len(s.calls) > 0 {
		content = "null"
	}
	for i, c := range s.calls {
		calls += fmt.Sprintf(`, {"id": %q, "type": "function", "function": {"name": %q, "arguments": %s}}`, s.callID(q, i), c.name, encode(c.args))
	}
	if calls != "" {
		calls = `, "tool_calls": [` + strings.TrimPrefix(calls, ", ") + `]`
	}
	return fmt.Sprintf(`{"id": "chatcmpl-AbC123", "object": "chat.completion", "created": 1764280000, "model": %q, "system_fingerprint": "fp_ee1d74bde0", `+
		`"choices": [{"index": 0, "finish_reason": %q, "logprobs": null, "content_filter_results": %s, `+
		`"message": {"role": "assistant", "content": %s, "refusal": null, "annotations": []%s}}], "usage": %s, "prompt_filter_results": %s}`,
		dated(q.Model), s.reason(), filterNote, content, calls, usageOpenAI, promptNote)
}

// chunks are the same, streamed; the last is [DONE].
func (s said) chunks(q asked) []string {
	out := []string{fmt.Sprintf(`data: {"id": "", "choices": [], "created": 0, "model": "", "object": "", "prompt_filter_results": %s}`+"\n\n", promptNote)}
	const tail = `"created": 1764280000, "model": %q, "object": "chat.completion.chunk", "service_tier": null, "system_fingerprint": "fp_ee1d74bde0", "usage": %s, "obfuscation": "x9"}` + "\n\n"
	chunk := func(role, content, calls, finish string) {
		out = append(out, fmt.Sprintf(`data: {"id": "chatcmpl-AbC123", "choices": [{"delta": {"content": %s, "function_call": null, "refusal": null, "role": %s, "tool_calls": %s}, `+
			`"finish_reason": %s, "index": 0, "logprobs": null, "content_filter_results": {}}], `+tail, content, role, calls, finish, dated(q.Model), "null"))
	}
	role := `"assistant"`
	if len(s.text) > 0 || len(s.calls) == 0 {
		chunk(role, `""`, "null", "null")
		role = "null"
	}
	for _, t := range s.text {
		chunk("null", encode(t), "null", "null")
	}
	for i, c := range s.calls {
		chunk(role, "null", fmt.Sprintf(`[{"index": %d, "id": %q, "function": {"arguments": "", "name": %q}, "type": "function"}]`, i, s.callID(q, i), c.name), "null")
		role = "null"
		half := len(c.args) / 2
		for _, a := range []string{c.args[:half], c.args[half:]} {
			chunk("null", "null", fmt.Sprintf(`[{"index": %d, "id": null, "function": {"arguments": %s, "name": null}, "type": null}]`, i, encode(a)), "null")
		}
	}
	chunk("null", "null", "null", encode(s.reason()))
	out = append(out, fmt.Sprintf(`data: {"id": "chatcmpl-AbC123", "choices": [], `+tail, dated(q.Model), usageOpenAI))
	return append(out, "data: [DONE]\n\n")
}

// message is a reply as Anthropic's messages have it.
func (s said) message(q asked) string {
	var blocks []string
	if len(s.text) > 0 {
		blocks = append(blocks, `{"type": "text", "text": `+encode(strings.Join(s.text, ""))+`}`)
	}
	for i, c := range s.calls {
		blocks = append(blocks, fmt.Sprintf(`{"type": "tool_use", "id": %q, "name": %q, "input": %s}`, s.callID(q, i), c.name, c.args))
	}
	return fmt.Sprintf(`{"id": "msg_vrtx_01XYZ", "type": "message", "role": "assistant", "model": %q, "content": [%s], "stop_reason": %q, "stop_sequence": null, "usage": %s}`,
		dated(q.Model), strings.Join(blocks, ", "), s.stopReason(), fmt.Sprintf(usageClaude, 9))
}

// events are the same, streamed.
func (s said) events(q asked) []string {
	var out []string
	event := func(name, rest string, args ...any) {
		out = append(out, fmt.Sprintf("event: %s\ndata: {\"type\": %q%s}\n\n", name, name, fmt.Sprintf(rest, args...)))
	}
	event("message_start", `, "message": {"id": "msg_vrtx_01XYZ", "type": "message", "role": "assistant", "model": %q, "content": [], "stop_reason": null, "stop_sequence": null, "usage": %s}`,
		dated(q.Model), fmt.Sprintf(usageClaude, 1))
	event("ping", "")
	n := 0
	if len(s.text) > 0 {
		event("content_block_start", `, "index": %d, "content_block": {"type": "text", "text": ""}`, n)
		for _, t := range s.text {
			event("content_block_delta", `, "index": %d, "delta": {"type": "text_delta", "text": %s}`, n, encode(t))
		}
		event("content_block_stop", `, "index": %d`, n)
		n++
	}
	for i, c := range s.calls {
		event("content_block_start", `, "index": %d, "content_block": {"type": "tool_use", "id": %q, "name": %q, "input": {}}`, n, s.callID(q, i), c.name)
		half := len(c.args) / 2
		parts := []string{"", c.args[:half], c.args[half:]}
		if c.args == "{}" {
			parts = []string{""}
		}
		for _, a := range parts {
			event("content_block_delta", `, "index": %d, "delta": {"type": "input_json_delta", "partial_json": %s}`, n, encode(a))
		}
		event("content_block_stop", `, "index": %d`, n)
		n++
	}
	event("message_delta", `, "delta": {"stop_reason": %q, "stop_sequence": null}, "usage": {"output_tokens": 9}`, s.stopReason())
	event("message_stop", "")
	return out
}

// old is a reply of the older interface. Of Gemini's calls, the documentation
// has a single one as a bare object.
func (s said) old(q asked) string {
	text := strings.Join(s.text, "")
	if len(q.Tools) == 0 {
		return `{"response": ` + encode(text) + `}`
	}
	var calls []string
	for i, c := range s.calls {
		switch {
		case q.claude():
			calls = append(calls, fmt.Sprintf(`{"id": %q, "input": %s, "name": %q, "type": "tool_use", "cache_control": null}`, s.callID(q, i), c.args, c.name))
		case strings.HasPrefix(q.Model, "gemini"):
			calls = append(calls, fmt.Sprintf(`{"id": null, "args": %s, "name": %q}`, c.args, c.name))
		default:
			calls = append(calls, fmt.Sprintf(`{"id": %q, "function": {"arguments": %s, "name": %q}, "type": "function"}`, s.callID(q, i), encode(c.args), c.name))
		}
	}
	list := "[" + strings.Join(calls, ", ") + "]"
	if s.trouble == "bare-call" {
		list = strings.Join(calls, ", ")
	}
	return `{"response": {"content": ` + encode(text) + `, "tool_calls": ` + list + `}}`
}

// count is how many texts there are in a list, or in one text.
func count(texts json.RawMessage) int {
	var one string
	if json.Unmarshal(texts, &one) == nil {
		return 1
	}
	var list []json.RawMessage
	_ = json.Unmarshal(texts, &list) // neither is nothing
	return len(list)
}

// embedded are vectors as OpenAI has them.
func embedded(q asked) string {
	var rows []string
	vector := "[0.1, 0.2, 0.3]"
	if q.Encoding == "base64" {
		vector = `"zczMPc3MTD6amZk+"`
	}
	for i := range count(q.Input) {
		rows = append(rows, fmt.Sprintf(`{"object": "embedding", "index": %d, "embedding": %s}`, i, vector))
	}
	return fmt.Sprintf(`{"object": "list", "data": [%s], "model": %q, "usage": {"prompt_tokens": 2, "total_tokens": 2}}`, strings.Join(rows, ", "), "text-embedding-3-small")
}

func embeddedOld(q asked) string {
	var rows []string
	for range count(q.Prompt) {
		rows = append(rows, "[0.1, 0.2, 0.3]")
	}
	return `{"embedding": [` + strings.Join(rows, ", ") + `]}`
}
