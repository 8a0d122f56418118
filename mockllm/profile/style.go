// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// Shapes that several releases have in common. The names of objects are those
// of the renderers in internal/llmwire.

// The ids that models have behind the gateway. [facts 1.3, 3.2]
func idsOf(f Family) (reply, call wire.IDs) {
	switch f {
	case Claude:
		return wire.IDs{Prefix: "msg_vrtx_01", Len: 22}, wire.IDs{Prefix: "toolu_vrtx_01", Len: 22}
	case Gemini:
		return wire.IDs{Len: 22}, wire.IDs{Prefix: "call_", Len: 24}
	}
	return wire.IDs{Prefix: "chatcmpl-", Len: 29}, wire.IDs{Prefix: "call_", Len: 24}
}

// usageKeys are how tokens are told: what Claude does not count is not told.
// [W: chat-*.txt of 3.x]
func usageKeys(f Family, keys map[string]wire.Keys) {
	if f == Claude {
		keys["chat.usage"] = wire.Keys{"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details"}
		keys["chat.usage.prompt"] = wire.Keys{"cached_tokens"}
		return
	}
	keys["chat.usage"] = wire.Keys{"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"}
	keys["chat.usage.prompt"] = wire.Keys{"audio_tokens=0", "cached_tokens"}
	keys["chat.usage.completion"] = wire.Keys{"accepted_prediction_tokens=0", "audio_tokens=0", "reasoning_tokens", "rejected_prediction_tokens=0"}
}

// rebuilt is a reply that llm-rosetta took apart and put together again.
// [fact 2.3]
func rebuilt(f Family) *wire.Style {
	s := &wire.Style{Role: wire.RoleMerged, Usage: wire.WhenAlways, CreatedZero: f == Claude}
	s.ID, s.CallID = idsOf(f)
	delta := wire.Keys{"content?", "reasoning_content?", "tool_calls?", "role?"}
	s.Keys = map[string]wire.Keys{
		"chat.completion":     {"id", "object", "created", "model", "choices", "usage", "system_fingerprint"},
		"chat.choice":         {"index", "message", "finish_reason", "logprobs"},
		"chat.message":        {"role", "content", "reasoning_content?", "tool_calls?"},
		"chat.call":           {"id", "type", "function"},
		"chat.function":       {"name", "arguments"},
		"chat.chunk":          {"choices", "id", "object", "model", "created"},
		"chat.chunk.usage":    {"id", "object", "model", "created", "choices", "usage"},
		"chat.chunk.choice":   {"index", "delta", "finish_reason?"},
		"chat.delta":          delta,
		"chat.delta.calls":    delta,
		"chat.delta.last":     {},
		"chat.call.delta":     {"index?", "id?", "type?", "function"},
		"chat.function.delta": {"name?", "arguments?"},
	}
	if f == Claude {
		s.Keys["chat.completion"] = wire.Keys{"id", "object", "created", "model", "choices", "usage"}
		// A tool without parameters ends with "" in all. [fact 2.3]
		s.Fragments.Args = wire.ArgsEmpty
	}
	usageKeys(f, s.Keys)
	return s
}

// style30 hands GPT and Gemini on as the gateway says it. [fact 2.3]
func style30(a Ask) *wire.Style {
	if a.Dialect == Messages {
		return messages30(a)
	}
	if a.Model.Family != Claude {
		return verbatimChat(a)
	}
	s := rebuilt(Claude)
	s.Keys["chat.choice"] = wire.Keys{"index", "message", "finish_reason"}
	return s
}

// style31 rebuilds everything. [fact 2.3]
func style31(a Ask) *wire.Style {
	if a.Dialect == Messages {
		return messages31(a)
	}
	s := rebuilt(a.Model.Family)
	if a.Model.Family == Claude {
		s.Keys["chat.choice"] = wire.Keys{"index", "message", "finish_reason"}
	}
	return s
}

// style32 has null where 3.1 has no key. [facts 2.3, 3.2]
func style32(a Ask) *wire.Style {
	if a.Dialect == Messages {
		return messages32(a)
	}
	s := rebuilt(a.Model.Family)
	s.Keys["chat.message"] = wire.Keys{"role", "content", "reasoning_content?", "tool_calls?", "refusal", "annotations=[]"}
	s.Keys["chat.chunk.choice"] = wire.Keys{"index", "delta", "finish_reason"}
	return s
}

// style33 is that of 3.2, whose head does not wait for the gateway. [fact 2.3]
func style33(a Ask) *wire.Style {
	s := style32(a)
	s.EarlyHead = true
	return s
}

// filtered is what Azure's filter says of a text that it lets through.
const filtered = `{"hate":{"filtered":false,"severity":"safe"}}`

// verbatimChat is the gateway's chat as 3.0 hands it on. [fact 2.3; W]
func verbatimChat(a Ask) *wire.Style {
	s := &wire.Style{
		Usage:     wire.WhenAlways,
		Preflight: []string{`{"id":"","choices":[],"created":0,"model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":` + filtered + `}]}`},
	}
	if !a.Text {
		s.Role = wire.RoleMerged
	}
	s.ID, s.CallID = idsOf(a.Model.Family)
	delta := wire.Keys{"content", "function_call=null", "refusal", "role", "tool_calls"}
	chunk := wire.Keys{"id", "choices", "created", "model", "object", "service_tier=null", "system_fingerprint", "usage=null", `obfuscation="x9"`}
	usage := wire.Keys{"id", "choices", "created", "model", "object", "service_tier=null", "system_fingerprint", "usage", `obfuscation="x9"`}
	s.Keys = map[string]wire.Keys{
		"chat.completion": {
			"id", "object", "created", "model", "system_fingerprint", "choices", "usage",
			`prompt_filter_results=[{"prompt_index":0,"content_filter_results":` + filtered + `}]`,
		},
		"chat.choice":       {"index", "finish_reason", "logprobs", "content_filter_results=" + filtered, "message"},
		"chat.message":      {"role", "content", "refusal", "annotations=[]", "tool_calls?"},
		"chat.call":         {"id", "type", "function"},
		"chat.function":     {"name", "arguments"},
		"chat.chunk":        chunk,
		"chat.chunk.usage":  usage,
		"chat.chunk.choice": {"delta", "finish_reason", "index", "logprobs", "content_filter_results={}"},
		"chat.delta":        delta, "chat.delta.role": delta, "chat.delta.calls": delta, "chat.delta.last": delta,
		"chat.call.delta":     {"index", "id", "function", "type"},
		"chat.function.delta": {"arguments", "name"},
	}
	usageKeys(GPT, s.Keys)
	return s
}

// style289 makes up ids and tokens, and its streams have no end. [facts 2.1,
// 2.2]
func style289(a Ask) *wire.Style {
	s := &wire.Style{
		ID: wire.IDs{Len: 32, Alphabet: "0123456789abcdef"}, EmptyContent: true, Role: wire.RoleMerged, Finish: wire.FinishNever,
		Usage: wire.WhenAlways, NoDone: true, EarlyHead: true,
	}
	_, s.CallID = idsOf(a.Model.Family)
	if a.Model.Family == Gemini { // [fact 3.2]
		s.CallID = wire.IDs{Prefix: "call_", Counted: true}
	}
	if a.Tools {
		s.CallsFirst, s.WholeCalls, s.Finish = true, true, wire.FinishEachCall
		s.PieceRunes, s.PiecePause = 30, pseudoPause
	}
	delta := wire.Keys{"content", "refusal", "role", "tool_calls"}
	s.Keys = map[string]wire.Keys{
		"chat.completion":   {"id", "created", "model", "service_tier=null", "system_fingerprint=null", "usage", "choices", "object"},
		"chat.choice":       {"finish_reason", "index", "message"},
		"chat.message":      {"content", "refusal", "role", "tool_calls"},
		"chat.call":         {"id", "function", "type"},
		"chat.function":     {"arguments", "name"},
		"chat.chunk":        {"id", "created", "model", "service_tier=null", "system_fingerprint=null", "usage=null", "choices", "object"},
		"chat.chunk.usage":  {"id", "object", "created", "model", "choices", "usage"},
		"chat.chunk.choice": {"finish_reason", "index", "delta"},
		"chat.delta":        delta, "chat.delta.role": delta, "chat.delta.calls": delta, "chat.delta.last": delta,
		"chat.call.delta":     {"index", "id", "function", "type=null"},
		"chat.function.delta": {"arguments", "name"},
		"chat.usage":          {"completion_tokens", "prompt_tokens", "total_tokens"},
	}
	return s
}

// style275 makes every stream up. [facts 2.1, 3.1]
func style275(a Ask) *wire.Style {
	a.Tools = true
	s := style289(a)
	s.CallID = wire.IDs{Len: 22} // base62
	s.ChunkIDs, s.Usage, s.Finish = true, wire.WhenNever, wire.FinishLast
	return s
}
