// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// A style says which members an object has, and what stands in each.
func Example() {
	style := &wire.Style{
		Role: wire.RoleMerged, Finish: wire.FinishLast,
		Keys: map[string]wire.Keys{
			"chat.chunk":        {"choices", "id", `object="chat.completion.chunk"`},
			"chat.chunk.choice": {"index", "delta", "finish_reason?"},
		},
	}
	body := llmwire.Chat(&llmwire.Reply{ID: "x", Choices: []llmwire.Choice{{Text: "Hello you", Finish: "stop"}}}, style, true)
	for _, f := range body.Frames {
		fmt.Printf("%s", f.Data[:len(f.Data)-1])
	}
	// Output:
	// data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"}}],"id":"x","object":"chat.completion.chunk"}
	// data: {"choices":[{"index":0,"delta":{"content":" you"},"finish_reason":"stop"}],"id":"x","object":"chat.completion.chunk"}
	// data: [DONE]
}
