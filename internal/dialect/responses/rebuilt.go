// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// rebuiltResponses is the responses dialect as a proxy makes it out of a reply
// in another one, see [dialect.Rebuilt]. The settings in Reply.Request are
// repeated as they came.
func rebuiltResponses(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	w := &rebuiltWriter{r: r, c: &r.Choices[0], style: style, how: *style.Rebuilt, message: -1}
	_ = json.Unmarshal(r.Request, &w.settings) // none are fine
	if !stream {
		return &dialect.Body{
			Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Frames: []dialect.Frame{{Data: w.whole(), Kind: dialect.KindText, Tokens: len(dialect.Pieces(w.c.Text, style, r.Seed))}},
		}
	}
	w.stream()
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, Frames: w.frames, EarlyHead: style.EarlyHead, Writes: style.Fragments.Writes,
		Header: http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}},
	}
}

// rebuiltWriter writes one response.
type rebuiltWriter struct {
	r        *dialect.Reply
	c        *dialect.Choice
	style    *dialect.Style
	how      dialect.Rebuilt
	settings map[string]json.RawMessage

	frames  []dialect.Frame
	next    int // index of the next output item, when they are counted in one row
	message int // index of the message; -1 before there is one
	begun   bool
	partEnd bool // the end of the text was told
	indexes []int
}

func (w *rebuiltWriter) id() string {
	if w.how.Counted {
		return "resp_" + w.r.ID
	}
	return w.r.ID
}

func (w *rebuiltWriter) messageID() string { return "msg_" + w.r.ID }

func (w *rebuiltWriter) incomplete() string {
	switch w.c.Finish {
	case "length":
		return "max_output_tokens"
	case "content_filter":
		return "content_filter"
	}
	return ""
}

func (w *rebuiltWriter) status() string {
	if w.incomplete() != "" {
		return "incomplete"
	}
	return "completed"
}

// rebuiltDefaults are the settings that are told when the request has none.
func rebuiltDefaults() []string {
	return []string{
		"background=false", "completed_at=null", "error=null", "incomplete_details=null", "instructions=null", "max_output_tokens=null",
		"max_tool_calls=null", "metadata={}", "parallel_tool_calls=true", "previous_response_id=null", "prompt_cache_key=null", "reasoning=null",
		"safety_identifier=null", `service_tier="default"`, "store=true", "temperature=1", `text={"format":{"type":"text"}}`, `tool_choice="auto"`,
		"tools=[]", "top_p=1", `truncation="disabled"`, "top_logprobs=0", "frequency_penalty=0", "presence_penalty=0",
	}
}

// members adds the settings to those members of a response that are told.
func (w *rebuiltWriter) members(told []string, strict bool) []byte {
	names := map[string]int{}
	for i, m := range told {
		name, _, _ := strings.Cut(m, "=")
		names[name] = i
	}
	set := func(name, value string) {
		if i, ok := names[name]; ok {
			told[i] = name + "=" + value
			return
		}
		names[name] = len(told)
		told = append(told, name+"="+value)
	}
	for _, d := range rebuiltDefaults() {
		name, value, _ := strings.Cut(d, "=")
		if _, ok := names[name]; !ok {
			set(name, value)
		}
	}
	keys := make([]string, 0, len(w.settings))
	for key := range w.settings {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		value := w.settings[key]
		if key == "tools" && strict {
			value = withStrict(value)
		}
		set(key, string(value))
	}
	return dialect.AppendObject(nil, told, func(string) []byte { return nil })
}

// withStrict gives the functions among tools the member strict.
func withStrict(tools json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(tools, &list) != nil {
		return tools
	}
	for i, t := range list {
		var o map[string]json.RawMessage
		if json.Unmarshal(t, &o) != nil || string(o["type"]) != `"function"` || o["strict"] != nil {
			continue
		}
		b := append([]byte(nil), t...)
		list[i] = append(b[:len(b)-1], `,"strict":null}`...)
	}
	b, _ := json.Marshal(list) // were decoded
	return b
}

func (w *rebuiltWriter) usage() string {
	u := w.r.Usage
	return fmt.Sprintf(`usage={"input_tokens":%d,"output_tokens":%d,"total_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens_details":{"reasoning_tokens":%d}}`,
		u.PromptTokens, u.CompletionTokens, u.TotalTokens, u.CachedTokens, u.ReasoningTokens)
}

// head are the first members of a response, and last those that tell its end.
func (w *rebuiltWriter) head(status, output string) []string {
	return []string{
		"id=" + string(dialect.Quote(w.id())), `object="response"`, fmt.Sprintf("created_at=%d", w.r.Created), "model=" + string(dialect.Quote(w.r.Model)),
		`status="` + status + `"`, "output=" + output,
	}
}

func (w *rebuiltWriter) last() []string {
	var out []string
	if why := w.incomplete(); why != "" {
		out = append(out, `incomplete_details={"reason":"`+why+`"}`)
	} else if w.how.Counted {
		out = append(out, fmt.Sprintf("completed_at=%d", w.r.Created))
	}
	if w.r.ID == "" { // there is no reply
		return out
	}
	return append(out, w.usage())
}

// whole is the response that is not streamed.
func (w *rebuiltWriter) whole() []byte {
	var items []string
	for _, c := range w.c.Calls {
		id := "fc_" + strings.TrimPrefix(c.ID, "call_")
		items = append(items, fmt.Sprintf(`{"type":"function_call","id":%s,"call_id":%s,"name":%s,"arguments":%s,"status":"completed"}`,
			dialect.Quote(id), dialect.Quote(c.ID), dialect.Quote(c.Name), dialect.Quote(c.Arguments)))
	}
	if w.c.Text != "" || w.c.Refusal != "" {
		at := 0
		if w.how.Counted {
			at = len(items)
		}
		items = slices.Insert(items, at, w.item("completed", true))
	}
	told := append(w.head(w.status(), "["+strings.Join(items, ",")+"]"), w.last()...)
	if w.how.Extras {
		told = append(told, `_usage_extras={"cache_creation_input_tokens":0}`)
	}
	return w.members(told, true)
}

func (w *rebuiltWriter) text() string { return w.c.Text + w.c.Refusal }

func (w *rebuiltWriter) part(done bool) string {
	text := ""
	if done {
		text = w.text()
	}
	return fmt.Sprintf(`{"type":"output_text","text":%s,"annotations":[],"logprobs":[]}`, dialect.Quote(text))
}

func (w *rebuiltWriter) item(status string, done bool) string {
	content := ""
	if done {
		content = w.part(true)
	}
	return fmt.Sprintf(`{"id":%s,"type":"message","role":"assistant","status":%q,"content":[%s]}`, dialect.Quote(w.messageID()), status, content)
}

func (w *rebuiltWriter) call(i int, status, arguments string) string {
	c := &w.c.Calls[i]
	return fmt.Sprintf(`{"id":%s,"type":"function_call","call_id":%s,"name":%s,"arguments":%s,"status":%q}`,
		dialect.Quote(c.ID), dialect.Quote(c.ID), dialect.Quote(c.Name), dialect.Quote(arguments), status)
}

// event adds an event with the members that follow its type.
func (w *rebuiltWriter) event(f dialect.Frame, name, format string, args ...any) {
	f.Data = sse.Data(name, fmt.Appendf(nil, `{"type":%q,%s,"sequence_number":%d}`, name, fmt.Sprintf(format, args...), len(w.frames)+1))
	w.frames = append(w.frames, f)
}

// stream adds all events.
func (w *rebuiltWriter) stream() {
	first := w.members(append(w.head("in_progress", "[]"), "usage=null"), false)
	w.event(dialect.Frame{Kind: dialect.KindPreamble}, "response.created", `"response":%s`, first)
	if w.how.Counted {
		w.event(dialect.Frame{Kind: dialect.KindPreamble}, "response.in_progress", `"response":%s`, first)
	}
	if w.text() != "" {
		w.streamText()
	}
	for i := range w.c.Calls {
		w.streamCall(i)
	}
	w.end()
	var items []string
	if w.text() != "" {
		items = append(items, w.item("completed", true))
	}
	for i := range w.c.Calls {
		items = append(items, w.call(i, "completed", w.arguments(i)))
	}
	done := w.members(append(w.head(w.status(), "["+strings.Join(items, ",")+"]"), w.last()...), false)
	w.event(dialect.Frame{Kind: dialect.KindFinish}, "response.completed", `"response":%s`, done)
	if w.style.Done {
		w.frames = append(w.frames, dialect.Frame{Kind: dialect.KindDone, Data: sse.Data("", []byte("[DONE]"))})
	}
}

func (w *rebuiltWriter) streamText() {
	w.message = w.next
	w.next++
	w.begun = true
	at := fmt.Sprintf(`"output_index":%d,"content_index":0`, w.message)
	w.event(dialect.Frame{Kind: dialect.KindRole}, "response.output_item.added", `"output_index":%d,"item":%s`, w.message, w.item("in_progress", false))
	w.event(dialect.Frame{Kind: dialect.KindRole}, "response.content_part.added", `"item_id":%s,%s,"part":%s`, dialect.Quote(w.messageID()), at, w.part(false))
	for i, piece := range dialect.Pieces(w.text(), w.style, w.r.Seed) {
		id := w.messageID()
		if i == 0 && !w.how.Counted && !w.how.Blocks {
			id = "" // the item was made for this piece, which does not know it yet
		}
		w.event(dialect.Frame{Kind: dialect.KindText, Tokens: 1}, "response.output_text.delta", `"item_id":%s,%s,"delta":%s,"logprobs":[]`, dialect.Quote(id), at, dialect.Quote(piece))
	}
	w.blockEnd(w.text())
}

// blockEnd tells the end of the text after each block: after one of a call as
// well, with the text so far.
func (w *rebuiltWriter) blockEnd(text string) {
	if !w.how.Blocks {
		return
	}
	w.textDone(text)
	w.partEnd = true
}

func (w *rebuiltWriter) textDone(text string) {
	id, index := "", w.message
	if w.begun {
		id = w.messageID()
	}
	if !w.how.Counted {
		index = 0
	}
	at := fmt.Sprintf(`"item_id":%s,"output_index":%d,"content_index":0`, dialect.Quote(id), index)
	w.event(dialect.Frame{Kind: dialect.KindOther}, "response.output_text.done", `%s,"text":%s,"logprobs":[]`, at, dialect.Quote(text))
	w.event(dialect.Frame{Kind: dialect.KindOther}, "response.content_part.done", `%s,"part":{"type":"output_text","text":%s,"annotations":[],"logprobs":[]}`, at, dialect.Quote(text))
}

// arguments are those of a call as the pieces of the stream add up.
func (w *rebuiltWriter) arguments(i int) string {
	if w.how.Blocks && w.c.Calls[i].Arguments == "{}" {
		return ""
	}
	return w.c.Calls[i].Arguments
}

func (w *rebuiltWriter) streamCall(i int) {
	index := i
	if w.how.Counted {
		index = w.next
		w.next++
	}
	w.indexes = append(w.indexes, index)
	w.event(dialect.Frame{Kind: dialect.KindCallStart, Call: i}, "response.output_item.added", `"output_index":%d,"item":%s`, index, w.call(i, "in_progress", ""))
	var parts []string
	if w.how.Blocks {
		parts = append(parts, "")
	}
	if args := w.arguments(i); args != "" {
		parts = append(parts, dialect.Pieces(args, w.style, w.r.Seed+uint64(i))...)
	}
	for _, p := range parts {
		w.event(dialect.Frame{Kind: dialect.KindCallArgs, Call: i, Tokens: 1}, "response.function_call_arguments.delta", `"item_id":%s,"output_index":%d,"delta":%s`,
			dialect.Quote(w.c.Calls[i].ID), index, dialect.Quote(p))
	}
	w.blockEnd(w.text())
}

// end tells the end of every item.
func (w *rebuiltWriter) end() {
	if w.begun {
		if !w.partEnd {
			w.textDone(w.text())
		}
		w.event(dialect.Frame{Kind: dialect.KindOther}, "response.output_item.done", `"output_index":%d,"item":%s`, max(w.message, 0), w.item("completed", true))
	}
	for i := range w.c.Calls {
		index := w.indexes[i]
		if !w.how.Counted && w.begun {
			index++
		}
		w.event(dialect.Frame{Kind: dialect.KindCallArgs, Call: i}, "response.function_call_arguments.done", `"item_id":%s,"output_index":%d,"arguments":%s`,
			dialect.Quote(w.c.Calls[i].ID), index, dialect.Quote(w.arguments(i)))
		w.event(dialect.Frame{Kind: dialect.KindOther, Call: i}, "response.output_item.done", `"output_index":%d,"item":%s`, index, w.call(i, "completed", w.arguments(i)))
	}
}

// textResponses is the responses dialect of a proxy that knows of texts alone:
// no calls, no settings, and events that have no name.
func textResponses(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	w := &textWriter{r: r}
	c := &r.Choices[0]
	text := c.Text + c.Refusal
	part := func(s string) string { return fmt.Sprintf(`{"text":%s,"type":"output_text"}`, dialect.Quote(s)) }
	item := func(content, status string) string {
		return fmt.Sprintf(`{"id":"msg_%s","content":[%s],"role":"assistant","status":%q,"type":"message"}`, r.ID, content, status)
	}
	usage := fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}`, r.Usage.PromptTokens, r.Usage.CompletionTokens, r.Usage.TotalTokens)
	done := w.response(item(part(text), "completed"), "completed", usage)
	pieces := dialect.Pieces(text, style, r.Seed)
	if !stream {
		return &dialect.Body{
			Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Frames: []dialect.Frame{{Data: []byte(done), Kind: dialect.KindText, Tokens: len(pieces)}},
		}
	}
	first := w.response("", "in_progress", "null")
	w.event(dialect.Frame{Kind: dialect.KindPreamble}, "response.created", `"response":%s`, first)
	w.event(dialect.Frame{Kind: dialect.KindPreamble}, "response.in_progress", `"response":%s`, first)
	w.event(dialect.Frame{Kind: dialect.KindRole}, "response.output_item.added", `"item":%s,"output_index":0`, item("", "in_progress"))
	at := fmt.Sprintf(`"content_index":0,"item_id":"msg_%s","output_index":0`, r.ID)
	w.event(dialect.Frame{Kind: dialect.KindRole}, "response.content_part.added", `%s,"part":%s`, at, part(""))
	for _, p := range pieces {
		if p != "" {
			w.event(dialect.Frame{Kind: dialect.KindText, Tokens: 1}, "response.output_text.delta", `%s,"delta":%s`, at, dialect.Quote(p))
		}
	}
	w.event(dialect.Frame{Kind: dialect.KindOther}, "response.output_text.done", `%s,"text":%s`, at, dialect.Quote(text))
	w.event(dialect.Frame{Kind: dialect.KindOther}, "response.content_part.done", `%s,"part":%s`, at, part(text))
	w.event(dialect.Frame{Kind: dialect.KindOther}, "response.output_item.done", `"item":%s,"output_index":0`, item(part(text), "completed"))
	w.event(dialect.Frame{Kind: dialect.KindFinish}, "response.completed", `"response":%s`, done)
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, Frames: w.frames, EarlyHead: style.EarlyHead, Writes: style.Fragments.Writes,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
	}
}

type textWriter struct {
	r      *dialect.Reply
	frames []dialect.Frame
}

func (w *textWriter) response(output, status, usage string) string {
	return fmt.Sprintf(`{"id":"resp_%s","created_at":%d.0,"instructions":null,"model":%s,"object":"response","output":[%s],"temperature":null,`+
		`"tool_choice":"auto","tools":[],"top_p":null,"background":false,"max_output_tokens":null,"reasoning":null,"status":%q,"usage":%s}`,
		w.r.ID, w.r.Created, dialect.Quote(w.r.Model), output, status, usage)
}

func (w *textWriter) event(f dialect.Frame, name, format string, args ...any) {
	f.Data = sse.Data("", fmt.Appendf(nil, `{%s,"sequence_number":%d,"type":%q}`, fmt.Sprintf(format, args...), len(w.frames), name))
	w.frames = append(w.frames, f)
}
