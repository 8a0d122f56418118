// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// Chat is what the turns of one conversation with a model have in common.
type Chat struct {
	Model string // as it was asked for
	// System is the system prompt: that of its own field, and the messages of
	// role system or developer at the beginning. What the [Rules] leave out is
	// not in it.
	System string
	// Untold says that the request goes on with a conversation that the
	// endpoint holds, and brings no system prompt: which one holds is not told.
	Untold bool
}

// Chat describes a request to a model, in the words of OpenAI, Anthropic,
// Gemini or the Argo Gateway. It is false of any other request, be it for
// embeddings or for a list of models.
func (k *Key) Chat() (Chat, bool) {
	body := k.value()
	if body.Kind() != value.Object {
		return Chat{}, false
	}
	c := Chat{Model: text(body, "model")}
	var said []value.Value
	if messages, ok := body.Get("messages"); ok && messages.Kind() == value.Array {
		said = messages.Items()
	} else if contents, ok := body.Get("contents"); ok && contents.Kind() == value.Array {
		if _, model, ok := strings.Cut(k.path, "/models/"); ok {
			c.Model, _, _ = strings.Cut(model, ":")
		}
	} else if input, ok := body.Get("input"); ok && strings.HasSuffix(k.path, "/responses") {
		said = input.Items()
	} else if prompt, ok := body.Get("prompt"); !ok || prompt.Kind() != value.Array || !has(body, "system") {
		return Chat{}, false
	}
	var parts []string
	for _, field := range []string{"system", "instructions", "systemInstruction", "system_instruction"} {
		if v, ok := body.Get(field); ok {
			parts = append(parts, textOf(v))
		}
	}
	for _, m := range said {
		role, _ := m.Get("role")
		if role.Str() != "system" && role.Str() != "developer" {
			break
		}
		content, _ := m.Get("content")
		parts = append(parts, textOf(content))
	}
	c.System = strings.Join(parts, "\n")
	c.Untold = len(parts) == 0 && goesOn(body)
	return c, true
}

// goesOn reports whether a request goes on with a conversation that the
// endpoint holds.
func goesOn(body value.Value) bool {
	for _, field := range []string{"previous_response_id", "conversation"} {
		if v, ok := body.Get(field); ok && v.Kind() != value.Null {
			return true
		}
	}
	thread, _ := body.Get("thread")
	return thread.Kind() == value.Object && text(thread, "type") == "continue"
}

func has(body value.Value, name string) bool {
	_, ok := body.Get(name)
	return ok
}

func text(body value.Value, name string) string {
	v, _ := body.Get(name)
	return v.Str()
}

// textOf is the text of a prompt: a string, or parts with texts in them. What
// is neither counts as it is spelled.
func textOf(v value.Value) string {
	switch v.Kind() {
	case value.String:
		return v.Str()
	case value.Array:
		var parts []string
		for _, item := range v.Items() {
			parts = append(parts, textOf(item))
		}
		return strings.Join(parts, "\n")
	case value.Object:
		for _, name := range []string{"text", "parts"} {
			if inner, ok := v.Get(name); ok {
				return textOf(inner)
			}
		}
	case value.Null:
		return ""
	}
	return v.String()
}

// Excerpts shows two texts, quoted, around the first place where they differ.
func Excerpts(a, b string) (string, string) {
	return window(value.StringOf(a).String(), value.StringOf(b).String())
}
