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
	// Reasoning is the text of reasoning_content or a thinking block.
	Reasoning string `json:"reasoning,omitempty"`
	// Refusal is the model's refusal text, where the endpoint sends one.
	Refusal string `json:"refusal,omitempty"`
	// Calls are the tool calls of an assistant message, in the model's order.
	Calls []ToolCall `json:"calls,omitempty"`
	// CallID names the call that a tool message answers.
	CallID string `json:"call_id,omitempty"`
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
	CachedTokens     int `json:"cached_tokens,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		PromptTokens:     u.PromptTokens + v.PromptTokens,
		CompletionTokens: u.CompletionTokens + v.CompletionTokens,
		TotalTokens:      u.TotalTokens + v.TotalTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
	}
}
