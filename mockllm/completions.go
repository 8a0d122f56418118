// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// completionsRoutes are the routes of OpenAI's legacy completions.
func completionsRoutes() []route {
	return []route{{method: http.MethodPost, path: "/v1/completions", speech: completionsSpeech()}}
}

func completionsSpeech() *speech {
	return &speech{
		name: "completions",
		decode: func(x *exchange, body []byte, _ *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
			c, refusal := dialect.DecodeCompletions(body)
			if c == nil {
				return nil, refusal
			}
			x.extra = c
			if refusal == nil && x.m.isOpenAI() && chatModel(c.Chat.Model()) {
				refusal = &dialect.Refusal{
					Status: http.StatusNotFound, Type: "invalid_request_error", Param: "model",
					Message: "This is a chat model and not supported in the v1/completions endpoint. Did you mean to use v1/chat/completions?",
				}
			}
			return c.Chat, refusal
		},
		render: renderCompletion,
		id:     wire.IDs{Prefix: "cmpl-", Len: 29},
		callID: wire.IDs{Prefix: "call_", Len: 24},
	}
}

// isOpenAI reports whether the mock is OpenAI's own endpoint, which knows its
// models.
func (m *Mock) isOpenAI() bool { return m.program.Profile == "" || m.program.Profile == "openai" }

// chatModel reports whether OpenAI serves a model of that name as a chat
// only.
func chatModel(name string) bool {
	if strings.Contains(name, "instruct") {
		return false
	}
	return slices.ContainsFunc([]string{"gpt-3.5-", "gpt-4", "gpt-5", "chatgpt-", "o1", "o3", "o4"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// renderCompletion gives every prompt its choices.
func renderCompletion(x *exchange, r *llmwire.Reply) *llmwire.Body {
	req := x.extra.(*dialect.Completions)
	reply := *r
	reply.Choices = nil
	for _, prompt := range req.Prompts {
		for _, c := range r.Choices {
			if req.Echo {
				c.Text = prompt + c.Text
			}
			reply.Choices = append(reply.Choices, c)
		}
	}
	n := len(req.Prompts)
	reply.Usage.CompletionTokens *= n
	reply.Usage.TotalTokens = reply.Usage.PromptTokens + reply.Usage.CompletionTokens
	return llmwire.Completions(&reply, x.style, x.stream())
}

// checkSpeech says what of a scripted reply the dialect has no words for.
func checkSpeech(x *exchange, sp *spoken) error {
	if _, ok := x.extra.(*dialect.Completions); ok && len(sp.calls) > 0 {
		return fmt.Errorf("the reply calls %s, and a completion has no calls", sp.calls[0].Name)
	}
	return nil
}
