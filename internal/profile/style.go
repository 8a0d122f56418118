// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// Shapes that several releases have in common. The names of objects are those
// of the renderers in internal/dialect.

// The ids that models have behind the gateway. [run]
func idsOf(f Family) (reply, call dialect.IDs) {
	switch f {
	case Claude:
		return dialect.IDs{Prefix: "msg_vrtx_01", Len: 22}, dialect.IDs{Prefix: "toolu_vrtx_01", Len: 22}
	case Gemini:
		return dialect.IDs{Len: 22}, dialect.IDs{Prefix: "call_", Len: 24}
	}
	return dialect.IDs{Prefix: "chatcmpl-", Len: 29}, dialect.IDs{Prefix: "call_", Len: 24}
}

// usageKeys are how tokens are told: what Claude does not count is not told.
// [W: chat-*.txt of 3.x]
func usageKeys(f Family, keys map[string]dialect.Keys) {
	if f == Claude {
		keys["chat.usage"] = dialect.Keys{"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details"}
		keys["chat.usage.prompt"] = dialect.Keys{"cached_tokens"}
		return
	}
	keys["chat.usage"] = dialect.Keys{"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"}
	keys["chat.usage.prompt"] = dialect.Keys{"audio_tokens=0", "cached_tokens"}
	keys["chat.usage.completion"] = dialect.Keys{"accepted_prediction_tokens=0", "audio_tokens=0", "reasoning_tokens", "rejected_prediction_tokens=0"}
}

// rebuilt is a reply that llm-rosetta took apart and put together again.
// [run]
func rebuilt(f Family) *dialect.Style {
	s := &dialect.Style{Role: dialect.RoleMerged, Usage: dialect.WhenAlways, CreatedZero: f == Claude}
	s.ID, s.CallID = idsOf(f)
	delta := dialect.Keys{"content?", "reasoning_content?", "tool_calls?", "role?"}
	s.Keys = map[string]dialect.Keys{
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
		s.Keys["chat.completion"] = dialect.Keys{"id", "object", "created", "model", "choices", "usage"}
		// A tool without parameters ends with "" in all. [run]
		s.BlockArgs = true
	}
	usageKeys(f, s.Keys)
	return s
}

// style30 hands GPT and Gemini on as the gateway says it. [run]
func style30(a Ask) *dialect.Style {
	switch a.Dialect {
	case Messages:
		return messages30(a)
	case Responses, Generate:
		return otherDialects(a, false)
	}
	if a.Model.Family != Claude {
		return verbatimChat(a)
	}
	s := rebuilt(Claude)
	s.Keys["chat.choice"] = dialect.Keys{"index", "message", "finish_reason"}
	return s
}

// style31 rebuilds everything. [run]
func style31(a Ask) *dialect.Style {
	switch a.Dialect {
	case Messages:
		return messages31(a)
	case Responses, Generate:
		return otherDialects(a, false)
	}
	s := rebuilt(a.Model.Family)
	if a.Model.Family == Claude {
		s.Keys["chat.choice"] = dialect.Keys{"index", "message", "finish_reason"}
	}
	return s
}

// style32 has null where 3.1 has no key. [run]
func style32(a Ask) *dialect.Style {
	switch a.Dialect {
	case Messages:
		return messages32(a)
	case Responses, Generate:
		return otherDialects(a, true)
	}
	s := rebuilt(a.Model.Family)
	s.Keys["chat.message"] = dialect.Keys{"role", "content", "reasoning_content?", "tool_calls?", "refusal", "annotations=[]"}
	s.Keys["chat.chunk.choice"] = dialect.Keys{"index", "delta", "finish_reason"}
	return s
}

// style33 is that of 3.2, whose head does not wait for the gateway. [run]
func style33(a Ask) *dialect.Style {
	s := style32(a)
	s.EarlyHead = true
	s.Done = a.Dialect == Responses
	return s
}

// otherDialects are responses and generateContent, which the gateway has not:
// they are made out of chats and messages. counted is since 3.2. [run]
func otherDialects(a Ask, counted bool) *dialect.Style {
	claude := a.Model.Family == Claude
	s := &dialect.Style{Rebuilt: &dialect.Rebuilt{Blocks: claude, Counted: counted, Extras: claude && !counted}}
	s.ID, s.CallID = idsOf(a.Model.Family)
	return s
}

// filtered is what Azure's filter says of a text that it lets through.
const filtered = `{"hate":{"filtered":false,"severity":"safe"}}`

// verbatimChat is the gateway's chat as 3.0 hands it on. [run]
func verbatimChat(a Ask) *dialect.Style {
	s := &dialect.Style{
		Usage:     dialect.WhenAlways,
		Preflight: []string{`{"id":"","choices":[],"created":0,"model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":` + filtered + `}]}`},
	}
	if !a.Text && a.Calls {
		s.Role = dialect.RoleMerged
	}
	s.ID, s.CallID = idsOf(a.Model.Family)
	delta := dialect.Keys{"content", "function_call=null", "refusal", "role", "tool_calls"}
	chunk := dialect.Keys{"id", "choices", "created", "model", "object", "service_tier=null", "system_fingerprint", "usage=null", `obfuscation="x9"`}
	usage := dialect.Keys{"id", "choices", "created", "model", "object", "service_tier=null", "system_fingerprint", "usage", `obfuscation="x9"`}
	s.Keys = map[string]dialect.Keys{
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

// style289 makes up ids and tokens, and its streams have no end. [changelog, run]
func style289(a Ask) *dialect.Style {
	s := &dialect.Style{
		ID: dialect.IDs{Len: 32, Alphabet: "0123456789abcdef"}, EmptyContent: true, Role: dialect.RoleMerged, Finish: dialect.FinishNever,
		Usage: dialect.WhenAlways, NoDone: true, EarlyHead: true,
	}
	_, s.CallID = idsOf(a.Model.Family)
	if a.Model.Family == Gemini { // [run]
		s.CallID = dialect.IDs{Prefix: "call_", Counted: true}
	}
	if a.Tools {
		s.CallsFirst, s.WholeCalls, s.Finish = true, true, dialect.FinishEachCall
		s.PieceRunes, s.PiecePause = 30, pseudoPause
	}
	switch a.Dialect {
	case Responses: // of texts alone; tools are dropped [run]
		return &dialect.Style{ID: s.ID, EarlyHead: true, Rebuilt: &dialect.Rebuilt{TextOnly: true}}
	case Completions:
		return completions289(s)
	}
	delta := dialect.Keys{"content", "refusal", "role", "tool_calls"}
	s.Keys = map[string]dialect.Keys{
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

// completions289 says why it ended in every chunk, and has no end. [changelog]
func completions289(s *dialect.Style) *dialect.Style {
	s.ID.Prefix, s.ChunkIDs, s.Finish, s.PieceRunes, s.PiecePause = "cmpl-", true, dialect.FinishEvery, 0, 0
	choice := dialect.Keys{"finish_reason", "index", "text"}
	chunk := dialect.Keys{"id", "choices", "created", "model", `object="text_completion"`, "system_fingerprint=null", "usage=null"}
	s.Keys = map[string]dialect.Keys{
		"completion": {"id", "choices", "created", "model", `object="text_completion"`, "system_fingerprint=null", "usage"}, "completion.choice": choice,
		"completion.chunk": chunk, "completion.chunk.choice": choice,
		"completion.chunk.usage": {"id", `object="completion"`, "created", "model", "choices", "usage"},
		"completion.usage":       {"completion_tokens", "prompt_tokens", "total_tokens"},
	}
	return s
}

// style275 makes every stream up. [changelog, input_handle.py]
func style275(a Ask) *dialect.Style {
	a.Tools = true
	s := style289(a)
	s.CallID = dialect.IDs{Len: 22} // base62
	s.ChunkIDs, s.Usage, s.Finish = true, dialect.WhenNever, dialect.FinishLast
	return s
}
