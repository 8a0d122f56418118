// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// event adds an event with the members that follow the usual first ones,
// written as ,"name":value.
func (w *responseWriter) event(f Frame, name string, members []byte) {
	b := Object(nil, KeysOf(w.style, "response.event", wire.Keys{"type", "sequence_number"}), func(key string) []byte {
		switch key {
		case "type":
			return Quote(name)
		case "sequence_number":
			return strconv.AppendInt(nil, int64(len(w.frames)), 10)
		}
		return nil
	})
	b = append(append(b[:len(b)-1], members...), '}')
	f.Data = Event(name, b)
	w.frames = append(w.frames, f)
}

// stream adds all events.
func (w *responseWriter) stream() {
	first := append([]byte(`,"response":`), w.response("in_progress", []byte("[]"), nil)...)
	w.event(Frame{Kind: Preamble}, "response.created", first)
	w.event(Frame{Kind: Preamble}, "response.in_progress", first)
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
	w.event(Frame{Kind: Finish}, "response."+status, append([]byte(`,"response":`), w.response(status, w.output(), w.usage())...))
	if w.style.Done {
		w.frames = append(w.frames, Frame{Kind: Done, Data: Data([]byte("[DONE]"))})
	}
}

// whole adds an event with all of item i.
func (w *responseWriter) whole(f Frame, i int, done bool) {
	name := "response.output_item.added"
	if done {
		name = "response.output_item.done"
	}
	w.event(f, name, fmt.Appendf(nil, `,"output_index":%d,"item":%s`, i, w.item(i, done)))
}

// at are the members that say where in the output an event belongs. index is
// the name of the place within the item; "" has none.
func (w *responseWriter) at(i int, index string, n int) []byte {
	b := fmt.Appendf(nil, `,"item_id":"%s","output_index":%d`, w.items[i].ID, i)
	if index != "" {
		b = fmt.Appendf(b, `,"%s":%d`, index, n)
	}
	return b
}

// delta adds one event for each piece of a text. after follows the delta.
func (w *responseWriter) delta(f Frame, name string, at []byte, s, after string) {
	f.Tokens = 1
	for _, piece := range w.pieces(s) {
		b := append(append([]byte{}, at...), `,"delta":`...)
		b = append(append(b, Quote(piece)...), after...)
		if w.obfuscate {
			b = append(append(append(b, `,"obfuscation":"`...), w.padding(len(piece))...), '"')
		}
		w.event(f, name, b)
	}
}

// paddedLen is what the length of a delta and its padding is a multiple of.
const paddedLen = 16

func (w *responseWriter) padding(n int) []byte {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, paddedLen-n%paddedLen)
	for i := range b {
		b[i] = letters[w.random.IntN(len(letters))]
	}
	return b
}

func (w *responseWriter) streamReasoning(i int) {
	w.whole(Frame{Kind: Reasoning}, i, false)
	if w.summary {
		at := w.at(i, "summary_index", 0)
		w.event(Frame{Kind: Reasoning}, "response.reasoning_summary_part.added", fmt.Appendf(nil, `%s,"part":%s`, at, summaryPart("")))
		w.delta(Frame{Kind: Reasoning}, "response.reasoning_summary_text.delta", at, w.c.Reasoning, "")
		w.event(Frame{Kind: Reasoning}, "response.reasoning_summary_text.done", fmt.Appendf(nil, `%s,"text":%s`, at, Quote(w.c.Reasoning)))
		w.event(Frame{Kind: Reasoning}, "response.reasoning_summary_part.done", fmt.Appendf(nil, `%s,"part":%s`, at, summaryPart(w.c.Reasoning)))
	}
	w.whole(Frame{Kind: Reasoning}, i, true)
}

func (w *responseWriter) streamMessage(i int) {
	w.whole(Frame{Kind: Role}, i, false)
	for n, kind := range w.parts() {
		at := w.at(i, "content_index", n)
		w.event(Frame{Kind: Role}, "response.content_part.added", fmt.Appendf(nil, `%s,"part":%s`, at, w.part(kind, false)))
		if kind == "refusal" {
			w.delta(Frame{Kind: Refusal}, "response.refusal.delta", at, w.c.Refusal, "")
			w.event(Frame{Kind: Refusal}, "response.refusal.done", fmt.Appendf(nil, `%s,"refusal":%s`, at, Quote(w.c.Refusal)))
		} else {
			w.delta(Frame{Kind: Text}, "response.output_text.delta", at, w.c.Text, `,"logprobs":[]`)
			w.event(Frame{Kind: Text}, "response.output_text.done", fmt.Appendf(nil, `%s,"text":%s,"logprobs":%s`, at, Quote(w.c.Text), w.logprobs))
		}
		w.event(Frame{Kind: Other}, "response.content_part.done", fmt.Appendf(nil, `%s,"part":%s`, at, w.part(kind, true)))
	}
	w.whole(Frame{Kind: Other}, i, true)
}

func (w *responseWriter) streamCall(i int) {
	item := w.items[i]
	call := &w.c.Calls[item.Call]
	at := w.at(i, "", 0)
	w.whole(Frame{Kind: CallStart, Call: item.Call}, i, false)
	args := Frame{Kind: CallArgs, Call: item.Call}
	name, member := "response.function_call_arguments", "arguments"
	if item.Type == "custom_tool_call" {
		name, member = "response.custom_tool_call_input", "input"
	}
	w.delta(args, name+".delta", at, call.Arguments, "")
	w.event(args, name+".done", fmt.Appendf(nil, `%s,"%s":%s`, at, member, Quote(call.Arguments)))
	w.whole(Frame{Kind: Other, Call: item.Call}, i, true)
}

// ResponsesFailure is the event that a stream of the responses dialect ends
// in when the provider fails after the given frames, the first of which has
// the response as it began. failure is the error, an object.
func ResponsesFailure(before []Frame, failure json.RawMessage) Frame {
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
	return Frame{Kind: Fault, Data: Event("response.failed", b)}
}
