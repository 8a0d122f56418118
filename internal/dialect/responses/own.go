// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// AsChat is the request as all dialects see it.
func (r *Request) AsChat() *dialect.Chat { return r.Chat }

// Write writes a response, whose settings are those of the request, and keeps it
// where the request says so.
func (r *Request) Write(reply *dialect.Reply, w dialect.Writing) *dialect.Body {
	said := reply.Choices[0]
	own := said
	own.Calls = slices.Clone(said.Calls)
	for i := range own.Calls {
		own.Calls[i] = ownCall(r, own.Calls[i])
	}
	out := *reply
	out.Choices = []dialect.Choice{own}
	if w.Settings != nil {
		out.Request = w.Settings
		return Write(&out, w.Style, w.Stream)
	}
	out.Request = r.echoed()
	if r.Store && w.Held != nil {
		message := dialect.MessageOf(said)
		w.Held.Keep(&dialect.Response{
			ID: out.ID, Messages: append(slices.Clip(r.Input), message), Input: r.Items, Items: itemsOf(&out, message), Size: r.Chat.Size(),
			Render: func() []byte { return Write(&out, w.Style, false).Frames[0].Data },
		})
	}
	if r.Conversation != "" && w.Held != nil {
		w.Held.Extend(r.Conversation, r.Chat.Body(), r.Items, outputItems(&out))
	}
	return Write(&out, w.Style, w.Stream)
}

// itemsOf are the items of a response with what each says.
func itemsOf(r *dialect.Reply, said harness.Message) []dialect.Item {
	var items []dialect.Item
	for _, item := range Items(r) {
		part := harness.Message{Role: harness.RoleAssistant}
		switch {
		case item.Call >= 0:
			part.Calls = said.Calls[item.Call : item.Call+1]
		case item.Type == "reasoning":
			part.Reasoning = said.Reasoning
		default:
			part.Text, part.Refusal = said.Text, said.Refusal
		}
		items = append(items, dialect.Item{ID: item.ID, Message: part})
	}
	return items
}

// Passed keeps a response that was read, and adds it to its conversation.
func (r *Request) Passed(got dialect.Received, held *dialect.Store) {
	if got.Items == nil {
		return
	}
	if got.ID != "" {
		held.Keep(&dialect.Response{ID: got.ID, Messages: append(slices.Clip(r.Input), got.Message), Items: got.Items})
	}
	if r.Conversation != "" {
		held.Known(r.Conversation)
		held.Extend(r.Conversation, r.Chat.Body(), r.Items, ItemsRead(r, got.Items))
	}
}

// Repeated are the settings of a request that any endpoint repeats.
func Repeated() []string {
	return []string{
		"background", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id",
		"prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "temperature",
		"text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
	}
}

// echoed are the settings of a request as the response repeats them, and
// those that say what is sent.
func (r *Request) echoed() json.RawMessage {
	settings := make(map[string]json.RawMessage)
	for _, key := range append(Repeated(), "conversation", "include", "stream_options") {
		if v := r.settings[key]; !dialect.Absent(v) {
			settings[key] = v
		}
	}
	if r.Conversation != "" {
		settings["conversation"] = fmt.Appendf(nil, `{"id":%s}`, dialect.Quote(r.Conversation))
	}
	if v, ok := settings["text"]; ok {
		settings["text"] = dialect.WithDefault(dialect.WithDefault(v, "verbosity", `"medium"`), "format", `{"type":"text"}`)
	}
	if v, ok := settings["reasoning"]; ok {
		settings["reasoning"] = dialect.WithDefault(dialect.WithDefault(v, "summary", "null"), "effort", "null")
	}
	var tools []json.RawMessage
	if json.Unmarshal(settings["tools"], &tools) == nil && tools != nil {
		for i, t := range tools {
			if dialect.TextOf(dialect.ReadObject(t)["type"]) == "function" {
				tools[i] = dialect.WithDefault(t, "strict", "true")
			}
		}
		settings["tools"] = dialect.Encode(tools)
	}
	return dialect.Encode(settings)
}

// ownCall is a call by the names of the responses endpoint, which may put a
// tool into a namespace or have it take a text.
func ownCall(req *Request, call dialect.Call) dialect.Call {
	name := req.ToolName(call.Name)
	call.Name = name.Name
	switch {
	case name.Custom:
		call.Extra = json.RawMessage(CustomCall)
	case name.Namespace != "":
		call.Extra = fmt.Appendf(nil, `{"namespace":%s}`, dialect.Quote(name.Namespace))
	}
	return call
}

// outputItems are the items of a response as it is written.
func outputItems(r *dialect.Reply) []json.RawMessage {
	var said struct{ Output []json.RawMessage }
	// It was rendered here, so that it decodes.
	_ = json.Unmarshal(Write(r, &dialect.Style{}, false).Frames[0].Data, &said)
	return said.Output
}

// ItemsRead are the items of a response that was read, as they are written.
// What cannot be told in a conversation is left out.
func ItemsRead(req *Request, items []dialect.Item) []json.RawMessage {
	var out []json.RawMessage
	for _, item := range items {
		m := item.Message
		if m.Text == "" && m.Refusal == "" && m.Reasoning == "" && len(m.Calls) == 0 {
			continue
		}
		c := dialect.ChoiceOf(harness.Message{Text: m.Text, Refusal: m.Refusal, Reasoning: m.Reasoning, Calls: m.Calls})
		for i := range c.Calls {
			c.Calls[i] = ownCall(req, c.Calls[i])
		}
		settings := json.RawMessage(`{"reasoning":{"summary":"auto"}}`) // so that a thought is written
		written := outputItems(&dialect.Reply{Choices: []dialect.Choice{c}, Request: settings})
		var o map[string]json.RawMessage
		if len(written) == 0 || json.Unmarshal(written[0], &o) != nil {
			continue
		}
		delete(o, "id")
		if item.ID != "" {
			o["id"] = dialect.Quote(item.ID)
		}
		raw, _ := json.Marshal(o) // it was decoded
		out = append(out, raw)
	}
	return out
}
