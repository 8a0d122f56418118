// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness

import "encoding/json"

// Role says who speaks in a [Message].
type Role string

// The roles of a conversation. A developer message counts as system.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one item of a conversation, whatever dialect it came in.
type Message struct {
	Role Role `json:"role"`
	// Text is the whole text; parts of a multi-part message are joined.
	Text string `json:"text,omitempty"`
	// Parts are the texts of the parts of a message that has several, in a
	// request that a mock model was sent; nil otherwise.
	Parts []string `json:"-"`
	// Reasoning is the text of reasoning_content or a thinking block.
	Reasoning string `json:"reasoning,omitempty"`
	// Refusal is the model's refusal text, where the endpoint sends one.
	Refusal string `json:"refusal,omitempty"`
	// Extra is a JSON object of further members of an assistant message that
	// the endpoint sent and may want back, such as reasoning_details. Empty as a
	// rule.
	Extra string `json:"extra,omitempty"`
	// Calls are the tool calls of an assistant message, in the model's order.
	Calls []ToolCall `json:"calls,omitempty"`
	// CallID names the call that a tool message answers.
	CallID string `json:"call_id,omitempty"`
	// Tool is the name that a tool message gives the tool whose result it has,
	// in a dialect that asks for it; empty in the others.
	Tool string `json:"tool,omitempty"`
}

// ToolCall is one call as the model wrote it.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"` // the offered name, as on the wire
	// Arguments is the text the model wrote: usually a JSON object, but a
	// model may write anything.
	Arguments string `json:"arguments"`
	// Extra is a JSON object of further members of the call that the
	// endpoint sent and wants back, such as extra_content with a thought
	// signature. Empty as a rule.
	Extra string `json:"extra,omitempty"`
}

// Tool is a tool as it is offered to a model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the arguments
}

// Usage counts tokens as the endpoint reports them.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	ReasoningTokens  int `json:"reasoning_tokens,omitempty"`
	// CachedTokens and CacheWriteTokens are those of the prompt that were read
	// from a cache and written to one.
	CachedTokens     int `json:"cached_tokens,omitempty"`
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
}

// Counted returns what a usage counts at the least, whatever an endpoint
// reports: a negative number counts nothing, and the total is not less than
// prompt and completion together.
func (u Usage) Counted() Usage {
	u = Usage{
		PromptTokens:     max(u.PromptTokens, 0),
		CompletionTokens: max(u.CompletionTokens, 0),
		TotalTokens:      u.TotalTokens,
		ReasoningTokens:  max(u.ReasoningTokens, 0),
		CachedTokens:     max(u.CachedTokens, 0),
		CacheWriteTokens: max(u.CacheWriteTokens, 0),
	}
	u.TotalTokens = max(u.TotalTokens, u.PromptTokens+u.CompletionTokens)
	return u
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		PromptTokens:     u.PromptTokens + v.PromptTokens,
		CompletionTokens: u.CompletionTokens + v.CompletionTokens,
		TotalTokens:      u.TotalTokens + v.TotalTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
		CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
	}
}
