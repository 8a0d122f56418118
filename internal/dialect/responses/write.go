// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// Item is an output item of a response.
type Item struct {
	ID string
	// Type is reasoning, message, function_call or custom_tool_call.
	Type string
	// Call counts from 0 among the calls; -1 for other items.
	Call int
}

const (
	itemIDLen = 50
	hexDigits = "0123456789abcdef"
)

func itemID(r *rand.Rand, prefix string) string {
	b := []byte(prefix)
	for range itemIDLen {
		b = append(b, hexDigits[r.IntN(len(hexDigits))])
	}
	return string(b)
}

// Items returns the output items of a reply in the responses dialect.
func Items(r *dialect.Reply) []Item {
	var items []Item
	random := dialect.Random(r.Seed, "items")
	c := &r.Choices[0]
	if c.Reasoning != "" {
		items = append(items, Item{itemID(random, "rs_"), "reasoning", -1})
	}
	if c.Text != "" || c.Refusal != "" || len(c.Calls) == 0 {
		items = append(items, Item{itemID(random, "msg_"), "message", -1})
	}
	for i, call := range c.Calls {
		item := Item{Type: "function_call", Call: i}
		prefix := "fc_"
		if isCustom(&call) {
			item.Type, prefix = "custom_tool_call", "ctc_"
		}
		item.ID = itemID(random, prefix)
		items = append(items, item)
	}
	return items
}

// CustomCall is the Extra of a call of a tool that takes a text.
const CustomCall = `{"type":"custom_tool_call"}`

func isCustom(c *dialect.Call) bool { return string(c.Extra) == CustomCall }

// Write is OpenAI's responses. Its objects are "response" with
// "response.usage", the items "response.message", "response.part",
// "response.refusal", "response.reasoning", "response.function_call" and
// "response.custom_tool_call", and "response.event", which is what every
// event begins with.
//
// The settings in Reply.Request are echoed in the response; include,
// reasoning and stream_options among them say what is sent.
func Write(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	switch how := style.Rebuilt; {
	case how == nil:
	case how.TextOnly:
		return textResponses(r, style, stream)
	default:
		return rebuiltResponses(r, style, stream)
	}
	w := newWriter(r, style)
	if !stream {
		b := w.response(w.status(), w.output(), w.usage())
		return &dialect.Body{
			Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Frames: []dialect.Frame{{Data: append(b, '\n'), Kind: dialect.KindText, Tokens: w.tokens()}},
		}
	}
	w.stream()
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, Frames: w.frames, EarlyHead: style.EarlyHead, Writes: style.Fragments.Writes,
		Header: dialect.StreamHeader,
	}
}

// writer writes one response.
type writer struct {
	r        *dialect.Reply
	c        *dialect.Choice
	style    *dialect.Style
	items    []Item
	settings map[string]json.RawMessage
	random   *rand.Rand
	logprobs json.RawMessage

	summary, encrypted, obfuscate bool

	frames []dialect.Frame
}

func newWriter(r *dialect.Reply, style *dialect.Style) *writer {
	w := &writer{r: r, c: &r.Choices[0], style: style, items: Items(r), random: dialect.Random(r.Seed, "obfuscation"), logprobs: json.RawMessage("[]")}
	_ = json.Unmarshal(r.Request, &w.settings) // none are fine
	var asked struct {
		Include   []string
		Reasoning struct {
			Summary         *string
			GenerateSummary *string `json:"generate_summary"`
		}
		StreamOptions struct {
			IncludeObfuscation *bool `json:"include_obfuscation"`
		} `json:"stream_options"`
	}
	_ = json.Unmarshal(r.Request, &asked)
	w.summary = asked.Reasoning.Summary != nil || asked.Reasoning.GenerateSummary != nil
	w.obfuscate = asked.StreamOptions.IncludeObfuscation == nil || *asked.StreamOptions.IncludeObfuscation
	for _, s := range asked.Include {
		w.encrypted = w.encrypted || s == "reasoning.encrypted_content"
	}
	var l struct{ Content json.RawMessage }
	if json.Unmarshal(w.c.Logprobs, &l) == nil && len(l.Content) > 0 {
		w.logprobs = l.Content
	}
	return w
}

func (w *writer) status() string {
	switch w.c.Finish {
	case "length", "content_filter":
		return "incomplete"
	case "error":
		return "failed"
	}
	return "completed"
}

// tokens is the number of pieces that the reply would be streamed in.
func (w *writer) tokens() int {
	n := len(w.pieces(w.c.Text)) + len(w.pieces(w.c.Refusal)) + len(w.pieces(w.c.Reasoning))
	for _, call := range w.c.Calls {
		n += len(w.pieces(call.Arguments))
	}
	return n
}

func (w *writer) pieces(s string) []string { return dialect.Pieces(s, w.style, w.r.Seed) }

func (w *writer) object(name string, usual dialect.Keys, value func(name string) []byte) []byte {
	return dialect.AppendObject(nil, dialect.KeysOf(w.style, name, usual), value)
}

func responseKeys() dialect.Keys {
	return dialect.Keys{
		"id", `object="response"`, "created_at", "status", "background", "completed_at", "conversation?", "error", "frequency_penalty", "incomplete_details",
		"instructions", "max_output_tokens", "max_tool_calls", "model", "output", "parallel_tool_calls", "presence_penalty", "previous_response_id",
		"prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "temperature", "text",
		"tool_choice", "tools", "top_logprobs", "top_p", "truncation", "usage", "user", "metadata",
	}
}

// defaults are the settings of a request that does not have them.
func defaults() map[string]string {
	return map[string]string{
		"background": "false", "frequency_penalty": "0.0", "parallel_tool_calls": "true", "presence_penalty": "0.0",
		"reasoning": `{"effort":null,"summary":null}`, "service_tier": `"auto"`, "store": "true", "temperature": "1.0",
		"text": `{"format":{"type":"text"},"verbosity":"medium"}`, "tool_choice": `"auto"`, "tools": "[]", "top_logprobs": "0", "top_p": "1.0",
		"truncation": `"disabled"`, "metadata": "{}",
	}
}

// response returns the response object.
func (w *writer) response(status string, output, usage []byte) []byte {
	over := status != "in_progress"
	usual := defaults()
	return w.object("response", responseKeys(), func(name string) []byte {
		switch name {
		case "id":
			return dialect.Quote(w.r.ID)
		case "created_at":
			return strconv.AppendInt(nil, w.r.Created, 10)
		case "status":
			return dialect.Quote(status)
		case "completed_at":
			if status == "completed" {
				return strconv.AppendInt(nil, w.r.Created, 10)
			}
			return nil
		case "incomplete_details":
			if status != "incomplete" {
				return nil
			}
			if w.c.Finish == "length" {
				return []byte(`{"reason":"max_output_tokens"}`)
			}
			return []byte(`{"reason":"content_filter"}`)
		case "error":
			if status != "failed" {
				return nil
			}
			return []byte(`{"code":"server_error","message":"The server had an error while processing your request."}`)
		case "model":
			return dialect.Quote(w.r.Model)
		case "output":
			return output
		case "usage":
			return usage
		case "service_tier":
			if s := string(w.settings[name]); over && (s == "" || s == `"auto"`) {
				return []byte(`"default"`)
			}
		}
		if v := w.settings[name]; len(v) > 0 {
			return v
		}
		if v := usual[name]; v != "" {
			return []byte(v)
		}
		return nil
	})
}

func (w *writer) usage() []byte {
	u := w.r.Usage
	return w.object("response.usage", dialect.Keys{"input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details", "total_tokens"}, func(name string) []byte {
		return usageMember(u, name)
	})
}

func usageMember(u harness.Usage, name string) []byte {
	switch name {
	case "input_tokens":
		return strconv.AppendInt(nil, int64(u.PromptTokens), 10)
	case "input_tokens_details":
		return fmt.Appendf(nil, `{"cached_tokens":%d}`, u.CachedTokens)
	case "output_tokens":
		return strconv.AppendInt(nil, int64(u.CompletionTokens), 10)
	case "output_tokens_details":
		return fmt.Appendf(nil, `{"reasoning_tokens":%d}`, u.ReasoningTokens)
	case "total_tokens":
		return strconv.AppendInt(nil, int64(u.TotalTokens), 10)
	}
	return nil
}

// output returns the array of all items.
func (w *writer) output() []byte {
	b := []byte{'['}
	for i := range w.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, w.item(i, true)...)
	}
	return append(b, ']')
}

// item returns item i, as it begins or as it ends.
func (w *writer) item(i int, done bool) []byte {
	item := w.items[i]
	status := "in_progress"
	if done {
		status = "completed"
		if i == len(w.items)-1 {
			if status = w.status(); status == "failed" {
				status = "incomplete"
			}
		}
	}
	value := func(name string) []byte {
		switch name {
		case "id":
			return dialect.Quote(item.ID)
		case "status":
			return dialect.Quote(status)
		}
		return nil
	}
	switch item.Type {
	case "message":
		return w.object("response.message", dialect.Keys{"id", `type="message"`, "status", "content", `role="assistant"`}, func(name string) []byte {
			if name == "content" {
				return w.content(done)
			}
			return value(name)
		})
	case "reasoning":
		return w.object("response.reasoning", dialect.Keys{"id", `type="reasoning"`, "encrypted_content?", "summary"}, func(name string) []byte {
			switch name {
			case "encrypted_content":
				return w.secret(item)
			case "summary":
				if !done || !w.summary {
					return []byte("[]")
				}
				return fmt.Appendf(nil, `[%s]`, summaryPart(w.c.Reasoning))
			}
			return value(name)
		})
	}
	return w.call(item, done, value)
}

// call returns a call of a tool.
func (w *writer) call(item Item, done bool, value func(name string) []byte) []byte {
	call := &w.c.Calls[item.Call]
	usual := dialect.Keys{"id", `type="function_call"`, "status", "arguments", "call_id", "name", "namespace?"}
	if item.Type == "custom_tool_call" {
		usual = dialect.Keys{"id", `type="custom_tool_call"`, "status", "call_id", "input", "name"}
	}
	var extra map[string]json.RawMessage
	_ = json.Unmarshal(call.Extra, &extra)
	return w.object("response."+item.Type, usual, func(name string) []byte {
		switch name {
		case "call_id":
			return dialect.Quote(call.ID)
		case "name":
			return dialect.Quote(call.Name)
		case "arguments", "input":
			if !done {
				return []byte(`""`)
			}
			return dialect.Quote(call.Arguments)
		}
		if v := value(name); v != nil {
			return v
		}
		return extra[name]
	})
}

// secret is the encrypted content of a reasoning item, when it is asked for.
func (w *writer) secret(item Item) []byte {
	if !w.encrypted {
		return nil
	}
	b := make([]byte, 0, len(w.c.Reasoning)+len(item.ID))
	for _, c := range []byte(item.ID + w.c.Reasoning) {
		b = append(b, c^byte(w.r.Seed>>(len(b)%8*8)))
	}
	return dialect.Quote("gAAAAA" + base64.URLEncoding.EncodeToString(b))
}

// content returns the parts of the message.
func (w *writer) content(done bool) []byte {
	b := []byte{'['}
	if done {
		for i, kind := range w.parts() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, w.part(kind, true)...)
		}
	}
	return append(b, ']')
}

// parts are the types of the message's parts.
func (w *writer) parts() []string {
	var parts []string
	if w.c.Text != "" || w.c.Refusal == "" {
		parts = append(parts, "output_text")
	}
	if w.c.Refusal != "" {
		parts = append(parts, "refusal")
	}
	return parts
}

// part returns a part of the message, as it begins or as it ends.
func (w *writer) part(kind string, done bool) []byte {
	name, usual := "response.part", dialect.Keys{`type="output_text"`, "annotations=[]", "logprobs", "text"}
	if kind == "refusal" {
		name, usual = "response.refusal", dialect.Keys{`type="refusal"`, "refusal"}
	}
	return w.object(name, usual, func(name string) []byte {
		switch {
		case name == "logprobs" && done:
			return w.logprobs
		case name == "logprobs":
			return []byte("[]")
		case !done:
			return []byte(`""`)
		case name == "refusal":
			return dialect.Quote(w.c.Refusal)
		case name == "text":
			return dialect.Quote(w.c.Text)
		}
		return nil
	})
}

func summaryPart(text string) []byte {
	return append(append([]byte(`{"type":"summary_text","text":`), dialect.Quote(text)...), '}')
}
