// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"

	"github.com/rehearse-dev/rehearse/harness"
)

// NewChat returns the chat that a request in another dialect amounts to. The
// body is the request as it came.
func NewChat(req harness.Request, body []byte) *Chat {
	c := &Chat{whole: bytes.Clone(body), size: len(body)}
	c.env = &envelope{
		model: req.Model, tools: req.Tools, toolChoice: req.ToolChoice,
		temperature: req.Temperature, maxTokens: req.MaxTokens, stream: req.Stream,
	}
	for _, m := range req.Messages {
		c.messages = append(c.messages, newMessage(m))
	}
	c.size += pointerSize * len(c.messages)
	return c
}

// newMessage returns a message that was decoded from another dialect.
func newMessage(m harness.Message) *Message {
	out := &Message{role: m.Role, callID: m.CallID}
	for _, c := range m.Calls {
		out.calls = append(out.calls, call{id: c.ID})
	}
	out.decode.Do(func() { out.decoded = m })
	return out
}
