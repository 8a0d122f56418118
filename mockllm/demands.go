// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
)

// This file has what a model wants of a history beside its form: that it fits
// into the context, and that thoughts come back.

// windowPassed is the fault of a request that is too long for the script's
// ContextWindow. The script wants it, so that it is no mistake of the client.
const windowPassed = "context_window"

// answerOverflow refuses a request that is too long, and reports whether it
// was. It takes no position: the client may come back with less. The same
// request again is a mistake of the client.
func (m *Mock) answerOverflow(x *exchange) bool {
	r := x.api.Overflow(dialect.Length{
		Window: m.program.ContextWindow, Prompt: promptTokens(x.chat), Tools: x.chat.ToolTokens(countTools), Room: x.chat.Options().MaxTokens,
	})
	if r == nil {
		return false
	}
	m.mu.Lock()
	again := m.state.over != nil && m.state.over.SameMessages(x.chat)
	m.state.over = x.chat
	x.turn = m.state.turn
	m.mu.Unlock()
	if again {
		m.refuse(x, r)
		return true
	}
	x.kind, x.status, x.err, x.entry.fault = harness.KindReply, r.Status, r.Error(), windowPassed
	m.record(x.entry, nil)
	m.writeError(x, r)
	return true
}

// unechoed refuses a history in which a message of the model comes back
// without what was sent with it: its thoughts, or what signs them.
func (m *Mock) unechoed(x *exchange) *dialect.Refusal {
	all := slices.Contains(m.program.Echo, reasoningField)
	calls, turn := m.profile.Echoes()
	first := 0
	if !all && turn {
		for i := range x.chat.Len() {
			if x.chat.At(i).Role() == harness.RoleUser {
				first = i + 1
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range x.chat.Len() {
		msg := x.chat.At(i)
		if msg.Role() != harness.RoleAssistant {
			continue
		}
		s := m.givenAs(msg)
		if s == nil {
			continue
		}
		if i >= first && (all || calls && msg.HasCalls()) && msg.Message().Reasoning == "" && s.given.content.reasoning != "" {
			return m.profile.Unechoed(i)
		}
		if r := m.unsigned(i, msg, s); r != nil {
			return r
		}
	}
	return nil
}

// unsigned refuses a message that lacks reasoning_details, or a call without its
// extra_content, where the script wants them back.
func (m *Mock) unsigned(i int, msg *dialect.Message, s *served) *dialect.Refusal {
	refusal := func(field, format string, args ...any) *dialect.Refusal {
		return &dialect.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: fmt.Sprintf("messages.[%d].%s", i, field), Message: fmt.Sprintf(format, args...)}
	}
	if slices.Contains(m.program.Echo, detailsField) && s.given.content.reasoning != "" {
		var details []struct{ Text, Signature string }
		_ = json.Unmarshal(msg.Member(detailsField), &details) // anything that is not a list has none
		text, signature := "", ""
		for _, d := range details {
			text, signature = text+d.Text, signature+d.Signature
		}
		switch want := s.given.content.reasoning; {
		case len(details) == 0:
			return refusal(detailsField, "The message of the assistant at index %d is missing its reasoning_details, which must be passed back unmodified.", i)
		case text != want, signature != chat.DetailSignature(&dialect.Reply{Seed: hashOf(s.given.id)}):
			return refusal(detailsField, "The reasoning_details of the message at index %d were modified: they must be passed back as they were received.", i)
		}
	}
	if slices.Contains(m.program.Echo, extraField) && msg.HasCalls() {
		var calls []struct {
			Function struct{ Name string }
			Extra    struct {
				Google struct {
					Signature string `json:"thought_signature"`
				}
			} `json:"extra_content"`
		}
		_ = json.Unmarshal(msg.Member("tool_calls"), &calls) // it has been read
		for n, c := range calls {
			if n < len(s.given.calls) && c.Extra.Google.Signature != dialect.Signature(s.given.calls[n].Name) {
				return refusal("tool_calls", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call `%s`, position %d.", c.Function.Name, n+1)
			}
		}
	}
	return nil
}

// givenAs returns the position whose reply a message of the model is; nil is
// none. m.mu is held.
func (m *Mock) givenAs(msg *dialect.Message) *served {
	got := msg.Message()
	for _, turn := range m.state.served {
		for _, s := range turn {
			if s.given == nil {
				continue
			}
			if len(got.Calls) > 0 {
				if slices.ContainsFunc(s.given.calls, func(c givenCall) bool { return c.ID == got.Calls[0].ID }) {
					return s
				}
			} else if len(s.given.calls) == 0 && s.given.content.say == got.Text {
				return s
			}
		}
	}
	return nil
}
