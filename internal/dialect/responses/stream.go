// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// event adds an event with the members that follow the usual first ones,
// written as ,"name":value.
func (w *writer) event(f dialect.Frame, name string, members []byte) {
	b := dialect.AppendObject(nil, dialect.KeysOf(w.style, "response.event", dialect.Keys{"type", "sequence_number"}), func(key string) []byte {
		switch key {
		case "type":
			return dialect.Quote(name)
		case "sequence_number":
			return strconv.AppendInt(nil, int64(len(w.frames)), 10)
		}
		return nil
	})
	b = append(append(b[:len(b)-1], members...), '}')
	f.Data = sse.Data(name, b)
	w.frames = append(w.frames, f)
}

// stream adds all events.
func (w *writer) stream() {
	first := append([]byte(`,"response":`), w.response("in_progress", []byte("[]"), nil)...)
	w.event(dialect.Frame{Kind: dialect.KindPreamble}, "response.created", first)
	w.event(dialect.Frame{Kind: dialect.KindPreamble}, "response.in_progress", first)
	for i, item := range w.items {
		switch item.Type {
		case "reasoning":
			w.streamReasoning(i)
		case "message":
			w.streamMessage(i)
		default:
			w.streamCall(i)
		}
	}
	status := w.status()
	w.event(dialect.Frame{Kind: dialect.KindFinish}, "response."+status, append([]byte(`,"response":`), w.response(status, w.output(), w.usage())...))
	if w.style.Done {
		w.frames = append(w.frames, dialect.Frame{Kind: dialect.KindDone, Data: sse.Data("", []byte("[DONE]"))})
	}
}

// whole adds an event with all of item i.
func (w *writer) whole(f dialect.Frame, i int, done bool) {
	name := "response.output_item.added"
	if done {
		name = "response.output_item.done"
	}
	w.event(f, name, fmt.Appendf(nil, `,"output_index":%d,"item":%s`, i, w.item(i, done)))
}

// at are the members that say where in the output an event belongs. index is
// the name of the place within the item; "" has none.
func (w *writer) at(i int, index string, n int) []byte {
	b := fmt.Appendf(nil, `,"item_id":"%s","output_index":%d`, w.items[i].ID, i)
	if index != "" {
		b = fmt.Appendf(b, `,"%s":%d`, index, n)
	}
	return b
}

// delta adds one event for each piece of a text. after follows the delta.
func (w *writer) delta(f dialect.Frame, name string, at []byte, s, after string) {
	f.Tokens = 1
	for _, piece := range w.pieces(s) {
		b := append(append([]byte{}, at...), `,"delta":`...)
		b = append(append(b, dialect.Quote(piece)...), after...)
		if w.obfuscate {
			b = append(append(append(b, `,"obfuscation":"`...), w.padding(len(piece))...), '"')
		}
		w.event(f, name, b)
	}
}

// paddedLen is what the length of a delta and its padding is a multiple of.
const paddedLen = 16

func (w *writer) padding(n int) []byte {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, paddedLen-n%paddedLen)
	for i := range b {
		b[i] = letters[w.random.IntN(len(letters))]
	}
	return b
}

func (w *writer) streamReasoning(i int) {
	w.whole(dialect.Frame{Kind: dialect.KindReasoning}, i, false)
	if w.summary {
		at := w.at(i, "summary_index", 0)
		w.event(dialect.Frame{Kind: dialect.KindReasoning}, "response.reasoning_summary_part.added", fmt.Appendf(nil, `%s,"part":%s`, at, summaryPart("")))
		w.delta(dialect.Frame{Kind: dialect.KindReasoning}, "response.reasoning_summary_text.delta", at, w.c.Reasoning, "")
		w.event(dialect.Frame{Kind: dialect.KindReasoning}, "response.reasoning_summary_text.done", fmt.Appendf(nil, `%s,"text":%s`, at, dialect.Quote(w.c.Reasoning)))
		w.event(dialect.Frame{Kind: dialect.KindReasoning}, "response.reasoning_summary_part.done", fmt.Appendf(nil, `%s,"part":%s`, at, summaryPart(w.c.Reasoning)))
	}
	w.whole(dialect.Frame{Kind: dialect.KindReasoning}, i, true)
}

func (w *writer) streamMessage(i int) {
	w.whole(dialect.Frame{Kind: dialect.KindRole}, i, false)
	for n, kind := range w.parts() {
		at := w.at(i, "content_index", n)
		w.event(dialect.Frame{Kind: dialect.KindRole}, "response.content_part.added", fmt.Appendf(nil, `%s,"part":%s`, at, w.part(kind, false)))
		if kind == "refusal" {
			w.delta(dialect.Frame{Kind: dialect.KindRefusal}, "response.refusal.delta", at, w.c.Refusal, "")
			w.event(dialect.Frame{Kind: dialect.KindRefusal}, "response.refusal.done", fmt.Appendf(nil, `%s,"refusal":%s`, at, dialect.Quote(w.c.Refusal)))
		} else {
			w.delta(dialect.Frame{Kind: dialect.KindText}, "response.output_text.delta", at, w.c.Text, `,"logprobs":[]`)
			w.event(dialect.Frame{Kind: dialect.KindText}, "response.output_text.done", fmt.Appendf(nil, `%s,"text":%s,"logprobs":%s`, at, dialect.Quote(w.c.Text), w.logprobs))
		}
		w.event(dialect.Frame{Kind: dialect.KindOther}, "response.content_part.done", fmt.Appendf(nil, `%s,"part":%s`, at, w.part(kind, true)))
	}
	w.whole(dialect.Frame{Kind: dialect.KindOther}, i, true)
}

func (w *writer) streamCall(i int) {
	item := w.items[i]
	call := &w.c.Calls[item.Call]
	at := w.at(i, "", 0)
	w.whole(dialect.Frame{Kind: dialect.KindCallStart, Call: item.Call}, i, false)
	args := dialect.Frame{Kind: dialect.KindCallArgs, Call: item.Call}
	name, member := "response.function_call_arguments", "arguments"
	if item.Type == "custom_tool_call" {
		name, member = "response.custom_tool_call_input", "input"
	}
	w.delta(args, name+".delta", at, call.Arguments, "")
	w.event(args, name+".done", fmt.Appendf(nil, `%s,"%s":%s`, at, member, dialect.Quote(call.Arguments)))
	w.whole(dialect.Frame{Kind: dialect.KindOther, Call: item.Call}, i, true)
}

// Failure is the event that a stream of the responses dialect ends
// in when the provider fails after the given frames, the first of which has
// the response as it began. failure is the error, an object.
func Failure(before []dialect.Frame, failure json.RawMessage) dialect.Frame {
	_, data, _ := bytes.Cut(before[0].Data, []byte("data: "))
	var first struct{ Response json.RawMessage }
	var e struct{ Code, Message *string }
	_ = json.Unmarshal(data, &first) // was written here
	_ = json.Unmarshal(failure, &e)  // an error may be spelled in any way
	if e.Code == nil {
		code := "server_error"
		e.Code = &code
	}
	type reason struct {
		Code    *string `json:"code"`
		Message *string `json:"message"`
	}
	why, _ := json.Marshal(reason(e))
	response := bytes.Replace(first.Response, []byte(`"status":"in_progress"`), []byte(`"status":"failed"`), 1)
	response = bytes.Replace(response, []byte(`"error":null`), append([]byte(`"error":`), why...), 1)
	b := fmt.Appendf(nil, `{"type":"response.failed","sequence_number":%d,"response":%s}`, len(before), response)
	return dialect.Frame{Kind: dialect.KindFault, Data: sse.Data("response.failed", b)}
}
