// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// heard is the reply that a client hears of which a fault has struck: what the
// journal keeps in place of what the script says.
func heard(x *exchange, r *llmwire.Reply, b *llmwire.Body) *llmwire.Reply {
	told := *r
	told.Choices = slices.Clone(r.Choices)
	if len(told.Choices) == 0 {
		told.Choices = []llmwire.Choice{{}}
		return &told
	}
	c := &told.Choices[0]
	c.Calls = slices.Clone(c.Calls)
	switch x.met.Kind {
	case fault.MalformedJSON:
		if b.Stream || x.met.Form != "trailing" { // what goes on after its end can be read
			*c = llmwire.Choice{}
		}
	case fault.DuplicateChunk, fault.ReorderedChunks, fault.InvalidUTF8, fault.MissingID, fault.MissingName:
		// The frames were changed after the reply was written.
		if x.speech.quick {
			reread(c, b)
		}
	}
	return &told
}

// reread takes text and calls from the frames of a chat completion.
func reread(c *llmwire.Choice, b *llmwire.Body) {
	var text strings.Builder
	var calls []llmwire.Call
	type message struct {
		Content   string `json:"content"`
		ToolCalls []struct {
			Index    *int   `json:"index"`
			ID       string `json:"id"`
			Function struct {
				Name, Arguments string
			} `json:"function"`
		} `json:"tool_calls"`
	}
	for _, f := range b.Frames {
		var chunk struct {
			Choices []struct {
				Index          int
				Delta, Message message
			} `json:"choices"`
		}
		data := bytes.TrimPrefix(bytes.TrimSpace(f.Data), []byte("data:"))
		if json.Unmarshal(data, &chunk) != nil {
			continue // the end mark
		}
		for _, choice := range chunk.Choices {
			if choice.Index != 0 {
				continue
			}
			said := choice.Delta
			if !b.Stream {
				said = choice.Message
			}
			text.WriteString(said.Content)
			for i, tc := range said.ToolCalls {
				if tc.Index != nil {
					i = *tc.Index
				}
				if i < 0 || i > len(c.Calls) {
					continue
				}
				for i >= len(calls) {
					calls = append(calls, llmwire.Call{})
				}
				call := &calls[i]
				again := call.ID != "" && tc.ID == call.ID // what begins a call came twice
				if call.ID == "" {
					call.ID = tc.ID
				}
				if !again {
					call.Name += tc.Function.Name
				}
				call.Arguments += tc.Function.Arguments
			}
		}
	}
	c.Text, c.Calls = text.String(), calls
}
