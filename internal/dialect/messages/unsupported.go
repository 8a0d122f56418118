// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"maps"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

func Shapes() map[string]dialect.Shape {
	cache := dialect.Shape{Kinds: map[string]dialect.Shape{"ephemeral": dialect.Having("type ttl", nil)}}
	source := dialect.Shape{Kinds: map[string]dialect.Shape{
		"base64": dialect.Having("type media_type data", nil), "url": dialect.Having("type url", nil), "file": dialect.Having("type file_id", nil), "text": dialect.Having("type media_type data", nil),
	}}
	sub := func(more map[string]dialect.Shape) map[string]dialect.Shape {
		out := map[string]dialect.Shape{"cache_control": cache, "source": source}
		maps.Copy(out, more)
		return out
	}
	blocks := map[string]dialect.Shape{
		"text":              dialect.Having("type text citations cache_control parsed_output", sub(nil)),
		"image":             dialect.Having("type source cache_control transformations", sub(nil)),
		"document":          dialect.Having("type source title context citations cache_control", sub(nil)),
		"search_result":     dialect.Having("type source title content citations cache_control", map[string]dialect.Shape{"cache_control": cache}),
		"tool_use":          dialect.Having("type id name input cache_control caller toolset_name", sub(nil)),
		"thinking":          dialect.Having("type thinking signature", nil),
		"redacted_thinking": dialect.Having("type data", nil),
	}
	blocks["tool_result"] = dialect.Having("type tool_use_id content is_error cache_control toolset_name", sub(map[string]dialect.Shape{"content": {Kinds: maps.Clone(blocks)}}))
	return map[string]dialect.Shape{
		"messages":      {Open: true, Keys: map[string]dialect.Shape{"content": {Kinds: blocks}}},
		"system":        {Kinds: map[string]dialect.Shape{"text": blocks["text"]}},
		"cache_control": cache,
		"metadata":      dialect.Having("user_id", nil),
		"thinking": {Kinds: map[string]dialect.Shape{
			"enabled": dialect.Having("type budget_tokens display block_binding", nil), "disabled": dialect.Having("type", nil), "adaptive": dialect.Having("type display block_binding", nil),
		}},
		"tool_choice": {Kinds: map[string]dialect.Shape{
			"auto": dialect.Having("type disable_parallel_tool_use", nil), "any": dialect.Having("type disable_parallel_tool_use", nil),
			"tool": dialect.Having("type name disable_parallel_tool_use", nil), "none": dialect.Having("type", nil),
		}},
		"tools": {Kind: "custom", Kinds: map[string]dialect.Shape{
			"custom": dialect.Having("type name description input_schema cache_control allowed_callers defer_loading eager_input_streaming input_examples strict", sub(nil)),
		}},
	}
}

// nestedKeys notes the first key in a member of the request that the provider
// itself refuses.
func (a *reader) nestedKeys() {
	members := Shapes()
	for _, key := range slices.Sorted(maps.Keys(members)) {
		p := members[key].Unknown(key, a.o[key], func(path, key string, _ bool) string { return path + "." + key }, func(path, kind string) string { return path + "." + kind })
		if p != "" && a.extra == nil {
			a.extra = newRefusal(http.StatusBadRequest, "%s: Extra inputs are not permitted", p)
		}
	}
}
