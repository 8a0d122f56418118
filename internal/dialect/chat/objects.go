// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// object is an object of chat completions. A style may have other members in it.
type object int

const (
	chatCompletion      object = iota // the whole answer
	chatMessageChoice                 // one of its choices
	chatMessage                       // the message of one
	chatMessageCall                   // a call of one
	chatMessageFunction               // what is called
	chatChunk                         // a chunk of a stream
	chatUsageChunk                    // the one with the usage; else as chat.chunk
	chatChoice                        // a choice of a chunk
	chatDelta                         // the delta of one
	chatRoleDelta                     // the first one, when it is of its own
	chatCallDelta                     // one with calls; else as chat.delta
	chatLastDelta                     // the last one, when it is of its own
	chatCall                          // a call of a delta
	chatFunction                      // what is called
	chatUsage                         // the usage
	chatPromptTokens                  // its details
	chatOutputTokens                  // its details
)

const (
	completionObject = `"chat.completion"` // values of object
	chunkObject      = `"chat.completion.chunk"`
)

// objects are the names that styles have for objects, and the members that OpenAI
// sends.
var objects = [...]struct {
	name string
	keys dialect.Keys
}{
	chatCompletion:      {"chat.completion", dialect.Keys{"id", "object", "created", "model", "choices", "usage", `service_tier="default"`, "system_fingerprint"}},
	chatMessageChoice:   {"chat.choice", dialect.Keys{"index", "message", "logprobs", "finish_reason"}},
	chatMessage:         {"chat.message", dialect.Keys{"role", "content", "reasoning_content?", "reasoning_details?", "tool_calls?", "function_call?", "refusal", "annotations=[]"}},
	chatMessageCall:     {"chat.call", dialect.Keys{"id", "type", "function"}},
	chatMessageFunction: {"chat.function", dialect.Keys{"name", "arguments"}},
	chatChunk:           {"chat.chunk", dialect.Keys{"id", "object", "created", "model", `service_tier="default"`, "system_fingerprint", "choices", "usage?"}},
	chatUsageChunk:      {"chat.chunk.usage", dialect.Keys{"id", "object", "created", "model", `service_tier="default"`, "system_fingerprint", "choices", "usage?"}},
	chatChoice:          {"chat.chunk.choice", dialect.Keys{"index", "delta", "logprobs", "finish_reason"}},
	chatDelta:           {"chat.delta", dialect.Keys{"role?", "reasoning_content?", "reasoning_details?", "content?", "refusal?", "tool_calls?"}},
	chatRoleDelta:       {"chat.delta.role", dialect.Keys{"role", "content", "function_call?", "refusal"}},
	chatCallDelta:       {"chat.delta.calls", dialect.Keys{"role?", "reasoning_content?", "reasoning_details?", "content?", "refusal?", "tool_calls?"}},
	chatLastDelta:       {"chat.delta.last", nil},
	chatCall:            {"chat.call.delta", dialect.Keys{"index?", "id?", "type?", "function"}},
	chatFunction:        {"chat.function.delta", dialect.Keys{"name?", "arguments?"}},
	chatUsage:           {"chat.usage", dialect.Keys{"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"}},
	chatPromptTokens:    {"chat.usage.prompt", dialect.Keys{"cached_tokens", "audio_tokens=0"}},
	chatOutputTokens:    {"chat.usage.completion", dialect.Keys{"reasoning_tokens", "audio_tokens=0", "accepted_prediction_tokens=0", "rejected_prediction_tokens=0"}},
}
