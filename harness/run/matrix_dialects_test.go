// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tree is a JSON object that a habit can change.
type tree = map[string]any

// document is an event of a stream, or a whole reply.
type document struct {
	name string
	data tree
}

// tongue is a dialect as the endpoint of the matrix speaks it.
type tongue struct {
	name string
	// calls and says are the two replies of the conversation, streamed and
	// whole. Each is written by hand, from the providers' documentation.
	calls, says struct {
		stream string
		whole  string
	}
	// mark is the event that ends a stream and is no JSON; empty is none.
	mark string
	// Members of the objects, as this dialect names them.
	id, arguments, index, model, finish, usage string
	// call returns the object that holds the name of a call, and the one that
	// holds its id.
	call func(d tree) []callParts
}

// callParts are the objects that a call, or a piece of one, is written in.
type callParts struct{ id, name, arguments tree }

// parse reads a stream of lines, `name data` or `data`, into documents.
func (g *tongue) parse(stream string) []document {
	var out []document
	for _, line := range strings.Split(strings.TrimSpace(stream), "\n") {
		name, data, _ := strings.Cut(strings.TrimSpace(line), "{")
		out = append(out, document{strings.TrimSpace(name), parseTree("{" + data)})
	}
	return out
}

func parseTree(s string) tree {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v tree
	if err := dec.Decode(&v); err != nil {
		panic(fmt.Sprintf("%s: %v", s, err))
	}
	return v
}

// walk calls f for every object in v, outer ones first.
func walk(v any, f func(tree)) {
	switch v := v.(type) {
	case tree:
		f(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(v[key], f)
		}
	case []any:
		for _, item := range v {
			walk(item, f)
		}
	}
}

// eachMember replaces every member of a name by what f makes of it.
func eachMember(docs []document, name string, f func(any) any) {
	for _, d := range docs {
		walk(d.data, func(o tree) {
			if v, ok := o[name]; ok {
				o[name] = f(v)
			}
		})
	}
}

// dropMember takes a member away wherever it is.
func dropMember(docs []document, name string) {
	for _, d := range docs {
		walk(d.data, func(o tree) { delete(o, name) })
	}
}

// eachCall calls f for each piece of a call.
func (g *tongue) eachCall(docs []document, f func(callParts)) {
	for _, d := range docs {
		for _, c := range g.call(d.data) {
			f(c)
		}
	}
}

func encoded(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// streamed writes documents as events.
func (g *tongue) streamed(docs []document) []byte {
	var b bytes.Buffer
	for _, d := range docs {
		if d.name != "" {
			b.WriteString("event: " + d.name + "\n")
		}
		b.WriteString("data: ")
		b.Write(encoded(d.data))
		b.WriteString("\n\n")
	}
	if g.mark != "" {
		b.WriteString("data: " + g.mark + "\n\n")
	}
	return b.Bytes()
}

// members returns the objects of a list in an object.
func members(o tree, path ...string) []tree {
	here := []any{o}
	for _, name := range path {
		var next []any
		for _, v := range here {
			if o, ok := v.(tree); ok {
				if list, ok := o[name].([]any); ok {
					next = append(next, list...)
				} else if o[name] != nil {
					next = append(next, o[name])
				}
			}
		}
		here = next
	}
	var out []tree
	for _, v := range here {
		if o, ok := v.(tree); ok {
			out = append(out, o)
		}
	}
	return out
}

func tongues() []*tongue {
	return []*tongue{chatTongue(), responsesTongue(), messagesTongue(), geminiTongue()}
}

func chatTongue() *tongue {
	g := &tongue{
		name: "chat", mark: "[DONE]", id: "id", arguments: "arguments", index: "index", model: "model", finish: "finish_reason", usage: "usage",
		call: func(d tree) []callParts {
			var out []callParts
			for _, m := range append(members(d, "choices", "delta", "tool_calls"), members(d, "choices", "message", "tool_calls")...) {
				f, _ := m["function"].(tree)
				out = append(out, callParts{m, f, f})
			}
			return out
		},
	}
	chunk := func(delta, finish string) string {
		return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n"
	}
	piece := func(index int, call string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s}]}`, index, call), "null")
	}
	const usage = `{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`
	g.calls.stream = chunk(`{"role":"assistant","content":null,"refusal":null}`, "null") +
		piece(0, `"id":"call_a","type":"function","function":{"name":"note","arguments":""}`) +
		piece(0, `"function":{"arguments":"{\"text\":"}`) + piece(0, `"function":{"arguments":"\"x y\"}"}`) +
		piece(1, `"id":"call_b","type":"function","function":{"name":"note","arguments":""}`) +
		piece(1, `"function":{"arguments":"{\"text\":"}`) + piece(1, `"function":{"arguments":"\"z\"}"}`) +
		chunk(`{}`, `"tool_calls"`) + `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":` + usage + "}\n"
	g.says.stream = chunk(`{"role":"assistant","content":""}`, "null") + chunk(`{"content":"do"}`, "null") + chunk(`{"content":"ne"}`, "null") +
		chunk(`{}`, `"stop"`) + `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":` + usage + "}\n"
	whole := func(message, finish string) string {
		return `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish + `"}],"usage":` + usage + `}`
	}
	g.calls.whole = whole(`{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"note","arguments":"{\"text\":\"x y\"}"}},`+
		`{"id":"call_b","type":"function","function":{"name":"note","arguments":"{\"text\":\"z\"}"}}]}`, "tool_calls")
	g.says.whole = whole(`{"role":"assistant","content":"done","refusal":null}`, "stop")
	return g
}

func responsesTongue() *tongue {
	g := &tongue{
		name: "responses", id: "call_id", arguments: "arguments", index: "output_index", model: "model", finish: "status", usage: "usage",
		call: func(d tree) []callParts {
			var out []callParts
			for _, m := range slices.Concat(members(d, "item"), members(d, "output"), members(d, "response", "output")) {
				if m["type"] == "function_call" {
					out = append(out, callParts{m, m, m})
				}
			}
			return out
		},
	}
	const usage = `{"input_tokens":5,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":8}`
	response := func(status, output, usage string) string {
		return `{"id":"resp_1","object":"response","created_at":1,"status":"` + status + `","error":null,"incomplete_details":null,"model":"m","output":` + output + `,"usage":` + usage + `}`
	}
	event := func(name, rest string) string { return name + ` {"type":"` + name + `",` + rest + "}\n" }
	item := func(id, call, args, status string) string {
		return `{"id":"` + id + `","type":"function_call","status":"` + status + `","call_id":"` + call + `","name":"note","arguments":"` + args + `"}`
	}
	begin := event("response.created", `"response":`+response("in_progress", "[]", "null")) + event("response.in_progress", `"response":`+response("in_progress", "[]", "null"))
	one := func(n int, id, call string, pieces ...string) string {
		args := strings.Join(pieces, "")
		out := event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, n, item(id, call, "", "in_progress")))
		for _, p := range pieces {
			out += event("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"%s","output_index":%d,"delta":"%s"`, id, n, p))
		}
		out += event("response.function_call_arguments.done", fmt.Sprintf(`"item_id":"%s","output_index":%d,"arguments":"%s"`, id, n, args))
		return out + event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, n, item(id, call, args, "completed")))
	}
	output := "[" + item("fc_a", "call_a", `{\"text\":\"x y\"}`, "completed") + "," + item("fc_b", "call_b", `{\"text\":\"z\"}`, "completed") + "]"
	g.calls.stream = begin + one(0, "fc_a", "call_a", `{\"text\":`, `\"x y\"}`) + one(1, "fc_b", "call_b", `{\"text\":`, `\"z\"}`) +
		event("response.completed", `"response":`+response("completed", output, usage))
	g.calls.whole = response("completed", output, usage)
	message := func(text, status string) string {
		return `{"id":"msg_1","type":"message","status":"` + status + `","role":"assistant","content":[` + text + `]}`
	}
	const part = `{"type":"output_text","text":"done","annotations":[]}`
	at := `"item_id":"msg_1","output_index":0,"content_index":0,`
	g.says.stream = begin + event("response.output_item.added", `"output_index":0,"item":`+message("", "in_progress")) +
		event("response.content_part.added", at+`"part":{"type":"output_text","text":"","annotations":[]}`) +
		event("response.output_text.delta", at+`"delta":"do"`) + event("response.output_text.delta", at+`"delta":"ne"`) +
		event("response.output_text.done", at+`"text":"done"`) + event("response.content_part.done", at+`"part":`+part) +
		event("response.output_item.done", `"output_index":0,"item":`+message(part, "completed")) +
		event("response.completed", `"response":`+response("completed", "["+message(part, "completed")+"]", usage))
	g.says.whole = response("completed", "["+message(part, "completed")+"]", usage)
	return g
}

func messagesTongue() *tongue {
	g := &tongue{
		name: "messages", id: "id", arguments: "input", index: "index", model: "model", finish: "stop_reason", usage: "usage",
		call: func(d tree) []callParts {
			var out []callParts
			for _, m := range append(members(d, "content_block"), members(d, "content")...) {
				if m["type"] == "tool_use" {
					out = append(out, callParts{m, m, m})
				}
			}
			return out
		},
	}
	event := func(name, rest string) string {
		if rest != "" {
			rest = "," + rest
		}
		return name + ` {"type":"` + name + `"` + rest + "}\n"
	}
	message := func(content, reason, usage string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":` + content + `,"stop_reason":` + reason + `,"stop_sequence":null,"usage":` + usage + `}`
	}
	begin := event("message_start", `"message":`+message("[]", "null", `{"input_tokens":5,"output_tokens":1,"cache_read_input_tokens":0}`))
	block := func(n int, start string, deltas ...string) string {
		out := event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, n, start))
		for _, d := range deltas {
			out += event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, n, d))
		}
		return out + event("content_block_stop", fmt.Sprintf(`"index":%d`, n))
	}
	input := func(s string) string { return `{"type":"input_json_delta","partial_json":"` + s + `"}` }
	end := func(reason string) string {
		return event("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":3}`) + event("message_stop", "")
	}
	g.calls.stream = begin +
		block(0, `{"type":"tool_use","id":"toolu_a","name":"note","input":{}}`, input(""), input(`{\"text\":`), input(`\"x y\"}`)) +
		block(1, `{"type":"tool_use","id":"toolu_b","name":"note","input":{}}`, input(""), input(`{\"text\":`), input(`\"z\"}`)) + end("tool_use")
	g.says.stream = begin + block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"do"}`, `{"type":"text_delta","text":"ne"}`) + end("end_turn")
	const usage = `{"input_tokens":5,"output_tokens":3,"cache_read_input_tokens":0}`
	g.calls.whole = message(`[{"type":"tool_use","id":"toolu_a","name":"note","input":{"text":"x y"}},{"type":"tool_use","id":"toolu_b","name":"note","input":{"text":"z"}}]`, `"tool_use"`, usage)
	g.says.whole = message(`[{"type":"text","text":"done"}]`, `"end_turn"`, usage)
	return g
}

func geminiTongue() *tongue {
	g := &tongue{
		name: "gemini", id: "id", arguments: "args", index: "index", model: "modelVersion", finish: "finishReason", usage: "usageMetadata",
		call: func(d tree) []callParts {
			var out []callParts
			for _, m := range members(d, "candidates", "content", "parts", "functionCall") {
				out = append(out, callParts{m, m, m})
			}
			return out
		},
	}
	response := func(parts, more string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]},"index":0` + more +
			`}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3,"totalTokenCount":8,"promptTokensDetails":[{"modality":"TEXT","tokenCount":5}]},"modelVersion":"m","responseId":"r1"}` + "\n"
	}
	call := func(id, text string) string {
		return `{"functionCall":{"id":"` + id + `","name":"note","args":{"text":"` + text + `"}}}`
	}
	const stop = `,"finishReason":"STOP"`
	g.calls.stream = response(call("fa", "x y"), "") + response(call("fb", "z"), stop)
	g.calls.whole = response(call("fa", "x y")+","+call("fb", "z"), stop)
	g.says.stream = response(`{"text":"do"}`, "") + response(`{"text":"ne"}`, stop)
	g.says.whole = response(`{"text":"done"}`, stop)
	return g
}
