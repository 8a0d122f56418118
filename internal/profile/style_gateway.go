// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"time"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// pseudoPause lies between the pieces of a stream that v2 makes up. [run]
const pseudoPause = 10 * time.Millisecond

// captureFilter is the filter's word on a text, and on a prompt, as captured.
const (
	captureFilter = `{"hate":{"filtered":false,"severity":"safe"},"protected_material_code":{"detected":false,"filtered":false},` +
		`"protected_material_text":{"detected":false,"filtered":false},"self_harm":{"filtered":false,"severity":"safe"},` +
		`"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}`
	captureDelta  = `{"protected_material_code":{"detected":false,"filtered":false}}`
	capturePrompt = `{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"detected":false,"filtered":false},` +
		`"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}`
)

// styleGateway is the gateway as captured on 2026-04-17. [data/argo-captures]
func styleGateway(a Ask) *dialect.Style {
	switch a.Dialect {
	case Messages:
		return messagesGateway(a)
	case Old, OldStream:
		s := &dialect.Style{EmptyContent: true}
		s.ID, s.CallID = idsOf(a.Model.Family)
		if a.Model.Family == Gemini { // it has no ids; proxies number the calls
			s.CallID = dialect.IDs{Prefix: "call_", Counted: true}
		}
		return s
	}
	s := verbatimChat(a)
	s.EmptyContent = !a.Stream
	filter, prompt := captureFilter, capturePrompt
	if !a.Text {
		filter, prompt = "{}", "{}"
	}
	results := `[{"prompt_index":0,"content_filter_results":` + prompt + `}]`
	s.Preflight = []string{`{"id":"","choices":[],"created":0,"model":"","object":"","service_tier":null,"system_fingerprint":null,"usage":null,"prompt_filter_results":` + results + `}`}
	s.Keys["chat.completion"] = dialect.Keys{
		"choices", "created", "id", "model", "object", "prompt_filter_results=" + results, `service_tier="default"`, "system_fingerprint=null", "usage",
	}
	s.Keys["chat.choice"] = dialect.Keys{"content_filter_results=" + filter, "finish_reason", "index", "logprobs", "message"}
	s.Keys["chat.message"] = dialect.Keys{"annotations=[]", "audio=null", "content", "function_call=null", "refusal", "role", "tool_calls"}
	s.Keys["chat.call"] = dialect.Keys{"function", "id", "type"}
	s.Keys["chat.function"] = dialect.Keys{"arguments", "name"}
	s.Keys["chat.chunk"] = dialect.Keys{"id", "choices", "created", "model", "object", `service_tier="default"`, "system_fingerprint=null", "usage=null", `obfuscation="x9"`}
	s.Keys["chat.chunk.usage"] = dialect.Keys{"id", "choices", "created", "model", "object", `service_tier="default"`, "system_fingerprint=null", "usage", `obfuscation="x9"`}
	return s
}
