// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
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
	if m.program.ContextWindow <= 0 {
		return false
	}
	r := m.overflow(x)
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

// overflow is what the provider says of a request that does not fit.
func (m *Mock) overflow(x *exchange) *dialect.Refusal {
	window, prompt, room := m.program.ContextWindow, promptTokens(x.chat), x.chat.Options().MaxTokens
	r := &dialect.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "context_length_exceeded", Param: "messages"}
	over := prompt+room > window
	switch x.speech.name {
	case "messages":
		r.Code, r.Param = "", ""
		r.Message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", prompt, window)
		if prompt <= window {
			r.Message = fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", prompt, room, window)
		}
	case "gemini":
		over = prompt > window
		r.Type, r.Code, r.Param = "INVALID_ARGUMENT", "", ""
		r.Message = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", prompt, window)
	case "responses":
		over = prompt > window
		r.Param, r.Message = "input", "Your input exceeds the context window of this model. Please adjust your input and try again."
	case "completions":
		r.Code, r.Param = "", ""
		r.Message = fmt.Sprintf("This model's maximum context length is %d tokens, however you requested %d tokens (%d in your prompt; %d for the completion). Please reduce your prompt; or completion length.", window, prompt+room, prompt, room)
	default:
		r.Message = chatOverflow(window, prompt, x.chat.ToolTokens(countTools), room)
	}
	if !over {
		return nil
	}
	return r
}

// chatOverflow is what chat completions say of so many tokens.
func chatOverflow(window, prompt, tools, room int) string {
	parts, reduce := fmt.Sprintf("%d in the messages", prompt-tools), "messages"
	switch {
	case tools > 0 && room > 0:
		parts += fmt.Sprintf(", %d in the functions, and %d in the completion", tools, room)
		reduce = "messages, functions, or completion"
	case room > 0:
		parts += fmt.Sprintf(", %d in the completion", room)
		reduce = "messages or completion"
	case tools > 0:
		parts += fmt.Sprintf(", %d in the functions", tools)
		reduce = "messages or functions"
	}
	said := fmt.Sprintf("your messages resulted in %d tokens", prompt)
	if room > 0 {
		said = fmt.Sprintf("you requested %d tokens", prompt+room)
	}
	if tools > 0 || room > 0 {
		said += " (" + parts + ")"
	}
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, %s. Please reduce the length of the %s.", window, said, reduce)
}

// reasoningField is where chat completions have thoughts.
const reasoningField = "reasoning_content"

// unechoed refuses a history in which a message of the model comes back
// without the thoughts that were sent with it.
func (m *Mock) unechoed(x *exchange) *dialect.Refusal {
	all := slices.Contains(m.program.Echo, reasoningField)
	calls, turn := m.profile.Echoes()
	if !all && !calls || x.speech.name != "chat" {
		return nil
	}
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
	for i := first; i < x.chat.Len(); i++ {
		msg := x.chat.At(i)
		if msg.Role() != harness.RoleAssistant || !all && !msg.HasCalls() || msg.Message().Reasoning != "" || !m.thought(msg) {
			continue
		}
		r := m.profile.Unechoed(i)
		return &dialect.Refusal{Status: r.Status, Type: r.Type, Code: r.Code, Param: r.Param, Message: r.Message}
	}
	return nil
}

// thought reports whether a message of the model was sent with thoughts. m.mu
// is held.
func (m *Mock) thought(msg *dialect.Message) bool {
	got := msg.Message()
	for _, turn := range m.state.served {
		for _, s := range turn {
			if s.spoken == nil || s.spoken.content.reasoning.empty() {
				continue
			}
			if len(got.Calls) > 0 {
				if slices.ContainsFunc(s.spoken.calls, func(c spokenCall) bool { return c.ID == got.Calls[0].ID }) {
					return true
				}
			} else if len(s.spoken.calls) == 0 && s.spoken.content.say.plain == got.Text {
				return true
			}
		}
	}
	return false
}
