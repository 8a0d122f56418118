// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"errors"

	"github.com/rehearse-dev/rehearse/harness"
)

// chunk is one event of a stream, or a whole completion, as far as it is
// read: the wire structs of go-openai refuse a whole chunk for one member of
// an odd type, and have no place for a vendor's.
type chunk struct {
	ID      text     `json:"id"`
	Model   text     `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"` // of whatever type: no reply is lost for it
}

type choice struct {
	Index        number   `json:"index"`
	Delta        *message `json:"delta"`
	Message      *message `json:"message"`
	FinishReason text     `json:"finish_reason"`
}

type message struct {
	Content          text      `json:"content"`
	Refusal          text      `json:"refusal"`
	ReasoningContent text      `json:"reasoning_content"` // DeepSeek's name
	Reasoning        text      `json:"reasoning"`         // OpenRouter's
	ToolCalls        toolCalls `json:"tool_calls"`
	FunctionCall     *function `json:"function_call"` // before there were tools
}

func (m *message) reasoning() string {
	if m.ReasoningContent != "" {
		return string(m.ReasoningContent)
	}
	return string(m.Reasoning)
}

type toolCall struct {
	Index    number          `json:"index"`
	ID       text            `json:"id"`
	Function function        `json:"function"`
	Extra    json.RawMessage `json:"extra_content"` // thought signatures and the like
}

type function struct {
	Name      text `json:"name"`
	Arguments text `json:"arguments"` // an object becomes its JSON text
}

// toolCalls is a list of calls, or a bare call where the list was forgotten.
type toolCalls []toolCall

// UnmarshalJSON takes a list, an object or null.
func (t *toolCalls) UnmarshalJSON(b []byte) error {
	if b[0] == '{' {
		*t = make(toolCalls, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]toolCall)(t))
}

type usage struct {
	PromptTokens     number `json:"prompt_tokens"`
	CompletionTokens number `json:"completion_tokens"`
	TotalTokens      number `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// UnmarshalJSON takes any JSON value; what does not count is left out.
func (u *usage) UnmarshalJSON(b []byte) error {
	type plain usage
	var odd *json.UnmarshalTypeError // after which decoding goes on
	if err := json.Unmarshal(b, (*plain)(u)); err != nil && !errors.As(err, &odd) {
		return err
	}
	return nil
}

func (u *usage) total() harness.Usage {
	sum := harness.Usage{
		PromptTokens:     u.PromptTokens.n,
		CompletionTokens: u.CompletionTokens.n,
		TotalTokens:      u.TotalTokens.n,
		ReasoningTokens:  u.CompletionDetails.ReasoningTokens.n,
		CachedTokens:     u.PromptDetails.CachedTokens.n,
	}
	if sum.TotalTokens == 0 {
		sum.TotalTokens = sum.PromptTokens + sum.CompletionTokens
	}
	return sum
}
