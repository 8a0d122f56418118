// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// chatSpeech is OpenAI's chat completions.
func chatSpeech() *speech {
	return &speech{
		name: "chat",
		decode: func(x *exchange, body []byte, prev *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
			c, refusal := dialect.DecodeChat(body, prev)
			if refusal == nil && x.m.profile.OpenAI() {
				refusal = c.Unsupported()
			}
			return c, refusal
		},
		render: func(x *exchange, r *llmwire.Reply) *llmwire.Body {
			return llmwire.Chat(r, x.style, x.stream())
		},
		id:     wire.IDs{Prefix: "chatcmpl-", Len: 29},
		callID: wire.IDs{Prefix: "call_", Len: 24},
		quick:  true,
	}
}
