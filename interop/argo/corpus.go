// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// exchangeCase is what a client asks, and what the gateway does.
type exchangeCase struct {
	name         string
	method, path string
	header       []string // further ones, whole lines
	body         string
	says         said
}

// object is a JSON object of a request.
type object = map[string]any

func encode(v any) string {
	b, _ := json.Marshal(v) // texts, numbers, lists and objects
	return string(b)
}

const answerText = "The molecular mass of glucose is 180.16 g/mol, and that is that."

func pieces(s string) []string {
	const first, second = 10, 25
	if len(s) <= second {
		return []string{s[:len(s)/2], s[len(s)/2:]}
	}
	return []string{s[:first], s[first:second], s[second:]}
}

// surface is a way to ask for a reply.
type surface struct {
	name string
	// path is where it is asked; empty for Gemini's, where the model stands in
	// it.
	path string
	// body is a request, but for what all requests have.
	body func() object
	// tool declares a tool; nil where there are none. A wrapped list of them
	// is one tool.
	tool    func(name string, parameters object) object
	wrap    string
	said    string // where the conversation stands
	history []any  // what more of it there may be
}

// request returns the path and the body of a request.
func (s surface) request(model string, stream, tools bool) (string, object) {
	path, b := s.path, s.body()
	switch {
	case path != "":
		b["model"] = model
		if stream {
			b["stream"] = true
		}
	case stream:
		path = "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
	default:
		path = "/v1beta/models/" + model + ":generateContent"
	}
	if tools && s.tool != nil {
		list := []any{s.tool("search", schema()), s.tool("list_models", noSchema())}
		if s.wrap != "" {
			list = []any{object{s.wrap: list}}
		}
		b["tools"] = list
	}
	return path, b
}

func schema() object {
	return object{"type": "object", "properties": object{"q": object{"type": "string"}}, "required": []string{"q"}}
}

const (
	question = "What is the mass of glucose?"
	about1   = "Search compounds"
)

func noSchema() object { return object{"type": "object", "properties": object{}} }

func chatSurface() surface {
	return surface{
		name: "chat", path: "/v1/chat/completions", said: "messages",
		body: func() object {
			return object{"messages": []any{object{"role": "system", "content": "Be brief."}, object{"role": "user", "content": question}}}
		},
		tool: func(name string, parameters object) object {
			return object{"type": "function", "function": object{"name": name, "description": about1, "parameters": parameters}}
		},
		history: []any{object{"role": "assistant", "content": nil, "tool_calls": []any{
			object{"id": "call_0", "type": "function", "function": object{"name": "search", "arguments": `{"q":"ATP"}`}},
		}}, object{"role": "tool", "tool_call_id": "call_0", "content": "C10H16N5O13P3"}},
	}
}

func messagesSurface() surface {
	return surface{
		name: "messages", path: "/v1/messages", said: "messages",
		body: func() object {
			return object{"max_tokens": 100, "messages": []any{object{"role": "user", "content": question}}}
		},
		tool: func(name string, parameters object) object {
			return object{"name": name, "description": about1, "input_schema": parameters}
		},
		history: []any{
			object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": "toolu_1", "name": "search", "input": object{"q": "ATP"}}}},
			object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "toolu_1", "content": "C10H16N5O13P3"}}},
		},
	}
}

func responsesSurface() surface {
	return surface{
		name: "responses", path: "/v1/responses", said: "input",
		body: func() object { return object{"input": []any{object{"role": "user", "content": question}}} },
		tool: func(name string, parameters object) object {
			return object{"type": "function", "name": name, "description": about1, "parameters": parameters}
		},
		history: []any{
			object{"type": "function_call", "call_id": "call_1", "name": "search", "arguments": `{"q":"ATP"}`},
			object{"type": "function_call_output", "call_id": "call_1", "output": "C10H16N5O13P3"},
		},
	}
}

func geminiSurface() surface {
	return surface{
		name: "generate", said: "contents", wrap: "functionDeclarations",
		body: func() object {
			return object{
				"systemInstruction": object{"parts": []any{object{"text": "Be brief."}}},
				"contents":          []any{object{"role": "user", "parts": []any{object{"text": question}}}},
			}
		},
		tool: func(name string, parameters object) object {
			if name == "list_models" { // without parameters
				return object{"name": name, "description": about1}
			}
			return object{"name": name, "description": about1, "parameters": parameters}
		},
		history: []any{
			object{"role": "model", "parts": []any{object{"functionCall": object{"name": "search", "args": object{"q": "ATP"}}}}},
			object{"role": "user", "parts": []any{object{"functionResponse": object{"name": "search", "response": object{"result": "C10H16N5O13P3"}}}}},
		},
	}
}

func completionsSurface() surface {
	return surface{name: "completions", path: "/v1/completions", said: "prompt", body: func() object { return object{"prompt": question} }}
}

// replies are what the gateway says, each asked for with or without tools.
func replies() []struct {
	name           string
	tools, history bool
	says           said
} {
	text := pieces(answerText)
	one, two := toolCall{"search", `{"q": "ATP"}`}, toolCall{"search", `{"q": "ADP"}`}
	none := toolCall{"list_models", "{}"}
	return []struct {
		name           string
		tools, history bool
		says           said
	}{
		{"text", false, false, said{text: text}},
		{"short", false, false, said{text: []string{"Done."}}},
		{"length", false, false, said{text: text, finish: "length"}},
		{"nothing", false, false, said{}},
		{"untold", true, false, said{text: text}},
		{"tool", true, false, said{calls: []toolCall{one}}},
		{"told", true, false, said{text: pieces("I'll look that up."), calls: []toolCall{one}}},
		{"parallel", true, false, said{calls: []toolCall{one, two}}},
		{"noargs", true, false, said{calls: []toolCall{none}}},
		{"history", true, true, said{text: text}},
		{"notice", false, false, said{text: []string{"AUTHENTICATION NOTICE FROM ARGO: the user jdoe is not registered."}}},
		{"notice-cut", false, false, said{text: pieces("AUTHENTICATION NOTICE FROM ARGO: the user jdoe is not registered.")}},
		{"filtered", false, false, said{text: text, finish: "content_filter"}},
		{"three", true, false, said{text: text, calls: []toolCall{one, none, two}}},
		{"leak", true, false, said{text: pieces("I'll look.{'id': 'toolu_vrtx_01A', 'input': {'q': 'ATP'}, 'name': 'search', 'type': 'tool_use', 'cache_control': None}")}},
	}
}

// troubles are what goes wrong at the gateway.
func troubles(claude bool) map[string]said {
	const kind = "application/json"
	bad := `{"error": {"message": "Error code: 400 - {'error': {'message': 'bad'}}", "type": "BadRequestError", "code": "internal_error"}}`
	if claude {
		bad = `{"type": "error", "error": {"type": "invalid_request_error", "message": "Error code: 400 - {'type': 'error', 'request_id': 'req_vrtx_1'}"}}`
	}
	list := map[string]said{
		"400": {status: 400, kind: kind, body: bad},
		"429": {status: 429, kind: kind, body: `{"error": {"message": "Rate limit reached", "type": "RateLimitError", "code": "rate_limit_exceeded"}}`},
		"500": {status: 500, kind: kind, body: `{"error": {"message": "'NoneType' object is not iterable", "type": "TypeError", "code": "internal_error"}}`},
		"502": {status: 502, kind: "text/html", body: page},
		"401": {status: 401, kind: kind, body: `{"error": {"message": "no", "type": "authentication_error"}}`}, "404": {status: 404, kind: kind, body: `{"detail": "Not Found"}`},
		"503": {status: 503, kind: "text/plain", body: "upstream connect error"}, "422-list": {status: 422, kind: kind, body: `[{"loc": ["body"]}]`},
		"list": {status: 200, kind: kind, body: "[]"}, "plain-text": {status: 200, kind: "text/plain", body: "hello"},
		"error-document": {status: 200, kind: kind, body: `{"error": {"message": "boom", "type": "server_error", "code": "500"}}`},
		"html-as-json":   {status: 502, kind: kind, body: page},
		// 200, and no reply.
		"page": {status: 200, kind: "text/html", body: "<html>hello</html>"}, "object": {status: 200, kind: kind, body: "{}"},
		"shape": {status: 200, kind: kind, body: nullShape}, "null": {status: 200, kind: kind, body: `{"response":null}`},
	}
	for _, t := range []string{"drop", "cut", "reset", "error", "error-event", "late-error", "late-error-event", "no-done"} {
		list[t] = said{trouble: t, text: pieces(answerText)}
	}
	return list
}

// families are the models that are asked for.
func families() map[string]string {
	return map[string]string{"gpt": "argo:gpt-4o", "claude": "argo:claude-opus-4.5", "gemini": "argo:gemini-2.5-flash"}
}

// surfacesOf are those that a release has; the others are among its routes.
func surfacesOf(version string) []surface {
	if strings.HasPrefix(version, "2.") {
		return []surface{chatSurface(), responsesSurface(), completionsSurface()}
	}
	return []surface{chatSurface(), messagesSurface(), responsesSurface(), geminiSurface()}
}

// corpus is all that is asked of a release.
func corpus(version string) []exchangeCase {
	var out []exchangeCase
	surfaces := surfacesOf(version)
	for _, s := range surfaces {
		models := families()
		for _, family := range sortedKeys(models) {
			for _, stream := range []bool{false, true} {
				out = append(out, s.cases(family, models[family], stream)...)
			}
		}
	}
	return append(append(out, oddRequests(surfaces)...), routes()...)
}

func (s surface) cases(family, model string, stream bool) []exchangeCase {
	var out []exchangeCase
	end := "-" + family
	if stream {
		end += "-stream"
	}
	add := func(name string, tools, history bool, says said) {
		path, body := s.request(model, stream, tools)
		if history {
			body[s.said] = append(body[s.said].([]any), s.history...)
		}
		out = append(out, exchangeCase{name: s.name + "-" + name + end, method: "POST", path: path, body: encode(body), says: says})
	}
	for _, r := range replies() {
		if s.tool != nil || !r.tools {
			add(r.name, r.tools, r.history, r.says)
		}
	}
	if s.name == "chat" && family == "gemini" {
		add("bare", true, false, said{calls: []toolCall{{"search", `{"q": "ATP"}`}}, trouble: "bare-call"})
	}
	list := troubles(family == "claude")
	for _, name := range sortedKeys(list) {
		if family != "gemini" || strings.Contains("500 drop cut error", name) { // it goes the way of GPT
			add(name, false, false, list[name])
			if s.name == "chat" && family == "gpt" {
				add("tools-"+name, true, false, list[name])
			}
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// oddRequests are those that are not as the dialect has them, and those with
// settings that are rare.
func oddRequests(surfaces []surface) []exchangeCase {
	says := said{text: pieces(answerText)}
	var out []exchangeCase
	add := func(name, path, body string) {
		out = append(out, exchangeCase{name: name, method: "POST", path: path, body: body, says: says})
	}
	for _, s := range surfaces {
		path, _ := s.request("argo:gpt-4o", false, false)
		add(s.name+"-array", path, `["a"]`)
		add(s.name+"-not-json", path, `{"model": "argo:gpt-4o", "messages": [`)
		add(s.name+"-empty-body", path, ``)
		add(s.name+"-text-body", path, `"text"`)
		changes := edits()
		for _, name := range sortedKeys(changes) {
			edit := changes[name]
			for _, stream := range []bool{false, true} {
				path, body := s.request("argo:gpt-4o", stream, strings.HasPrefix(name, "tool"))
				if s.name == "generate" && strings.HasPrefix(name, "model") {
					continue // it stands in the path
				}
				edit(s.name, body)
				end := ""
				if stream {
					end = "-stream"
				}
				add(s.name+"-"+name+end, path, encode(body))
				if name == "tool-required" {
					out[len(out)-1].says = said{calls: []toolCall{{"search", `{"q": "ATP"}`}}}
				}
			}
		}
		own := ownEdits()[s.name]
		for _, name := range sortedKeys(own) {
			for _, stream := range []bool{false, true} {
				path, body := s.request("argo:gpt-4o", stream, strings.HasPrefix(name, "tool"))
				own[name](body)
				end := "-own"
				if stream {
					end += "-stream"
				}
				add(s.name+"-"+name+end, path, encode(body))
				path, body = s.request("argo:claude-opus-4.5", stream, strings.HasPrefix(name, "tool"))
				own[name](body)
				add(s.name+"-"+name+"-claude"+end, path, encode(body))
			}
		}
		for i, name := range []string{"argo:no-such-model", "gpt-4o", "gpt4o", "argo/claude-4.5-opus", "argo:gpt-5.4-nano", "claude-opus-4-5", "claude-opus-4-5-20251101", "ARGO:GPT-4O", "gpt-4o-2024-11-20", "o3-mini", "argo:gpt-o1"} {
			path, body := s.request(name, i%2 == 1, false)
			add(fmt.Sprintf("%s-name-%d", s.name, i), path, encode(body))
			if i == 0 {
				path, body := s.request(name, true, false)
				add(s.name+"-name-0-stream", path, encode(body))
			}
		}
	}
	return append(out, embeddings()...)
}

// edits are changes to a request. Those of tools change one that has some.
func edits() map[string]func(surface string, body object) {
	set := func(key string, v any) func(string, object) { return func(_ string, b object) { b[key] = v } }
	history := map[string]string{}
	for _, s := range []surface{chatSurface(), messagesSurface(), responsesSurface(), geminiSurface(), completionsSurface()} {
		history[s.name] = s.said
	}
	said := func(v any) func(string, object) { return func(s string, b object) { b[history[s]] = v } }
	return map[string]func(string, object){
		"model-missing": func(_ string, b object) { delete(b, "model") }, "model-empty": set("model", ""), "model-number": set("model", 7), "model-null": set("model", nil),
		"said-missing": func(s string, b object) { delete(b, history[s]) }, "said-empty": said([]any{}), "said-text": said("hello"), "said-null": said(nil),
		"said-role": func(s string, b object) {
			if s == "chat" || s == "messages" || s == "responses" {
				b[history[s]] = []any{object{"role": "wizard", "content": "x"}}
			}
		},
		"tools-object": set("tools", object{"a": 1}), "tools-text": set("tools", "x"), "tools-null": set("tools", nil), "tools-empty": set("tools", []any{}),
		"tool-choice": set("tool_choice", "sometimes"), "tool-required": set("tool_choice", "required"),
		"extra": func(_ string, b object) {
			maps.Copy(b, object{"temperature": 0, "top_p": 1, "max_tokens": 50, "seed": 1, "foo": "bar", "metadata": object{"a": "b"}})
		},
		"stream-text": set("stream", "yes"), "stream-null": set("stream", nil),
		"settings": func(_ string, b object) {
			maps.Copy(b, object{
				"instructions": "Be brief.", "max_output_tokens": 50, "temperature": 0.5, "user": "somebody", "parallel_tool_calls": false, "store": false,
				"reasoning": object{"effort": "low"}, "text": object{"format": object{"type": "text"}}, "truncation": "auto", "service_tier": "flex", "top_logprobs": 2,
			})
		},
		"usage": set("stream_options", object{"include_usage": true}), "no-usage": set("stream_options", object{"include_usage": false}),
		"orphan": func(s string, b object) {
			if s == "chat" {
				b["messages"] = append(b["messages"].([]any), object{"role": "assistant", "content": nil, "tool_calls": []any{
					object{"id": "x", "type": "function", "function": object{"name": "search", "arguments": `{"q":`}},
				}})
			}
		},
	}
}

// embeddings are requests for vectors.
func embeddings() []exchangeCase {
	const path, model = "/v1/embeddings", "argo:text-embedding-3-small"
	var out []exchangeCase
	bodies := map[string]any{
		"one": object{"model": model, "input": "x"}, "list": object{"model": model, "input": []string{"x", "y"}}, "short": object{"model": "v3small", "input": "x"},
		"unknown": object{"model": "argo:nope", "input": "x"}, "no-model": object{"input": "x"}, "no-input": object{"model": model},
		"null-model": object{"model": nil, "input": "x"}, "large": object{"model": "argo:text-embedding-3-large", "input": "x"}, "bare": object{"model": "text-embedding-3-small", "input": "x"},
		"upper": object{"model": "ARGO:TEXT-EMBEDDING-3-SMALL", "input": "x"}, "chat": object{"model": "argo:gpt-4o", "input": "x"},
		"empty": object{"model": model, "input": []string{}}, "dimensions": object{"model": model, "input": "x", "dimensions": 3},
		"base64": object{"model": model, "input": "x", "encoding_format": "base64"}, "array": []string{"x"}, "text": "x",
	}
	for _, name := range sortedKeys(bodies) {
		out = append(out, exchangeCase{name: "embed-" + name, method: "POST", path: path, body: encode(bodies[name])})
	}
	list := troubles(false)
	for _, name := range sortedKeys(list) {
		s := list[name]
		if s.status != 0 || s.trouble == "drop" || s.trouble == "cut" || s.trouble == "reset" {
			out = append(out, exchangeCase{name: "embed-after-" + name, method: "POST", path: path, body: encode(object{"model": model, "input": "x"}), says: s})
		}
	}
	return append(out, exchangeCase{name: "embed-not-json", method: "POST", path: path, body: "{"})
}

// routes are requests for anything that is not a reply, and for what is not
// there. GET /version is not among them: it asks the package index.
func routes() []exchangeCase {
	var out []exchangeCase
	paths := []string{
		"/", "/v1", "/v1/models", "/v1/models/", "/v1/models/argo:gpt-4o", "/health", "/v1/docs", "/refresh", "/nosuch", "/v1/nosuch", "/v1/chat/completions", "/v1/chat/completions/",
		"/v1/responses", "/v1/responses/resp_1", "/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings", "/v1/completions", "/v1/chat", "/v1/embed", "/v1/conversations",
		"/v1beta/models", "/v1beta/models/argo:gpt-4o", "/v1beta/models/argo:gpt-4o:generateContent", "/v1beta/models/argo:gpt-4o:streamGenerateContent",
		"/v1beta/models/argo:gpt-4o:countTokens", "/v1beta/models/argo:gpt-4o:embedContent", "/v1/models/argo:gpt-4o:generateContent", "/chat/completions",
	}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "DELETE"} {
		for _, path := range paths {
			if method == "GET" && path == "/version" {
				continue
			}
			body := ""
			if method == "POST" {
				if path == "/v1/chat" || path == "/v1/embed" || strings.HasSuffix(path, "ontent") || strings.HasSuffix(path, "countTokens") {
					_, b := geminiSurface().request("", false, false)
					body = encode(b)
				} else {
					body = `{"model":"argo:gpt-4o","messages":[{"role":"user","content":"hello"}],"input":"hello","prompt":"hello"}`
				}
			}
			name := strings.NewReplacer("/", "_", ":", "-").Replace(method + path)
			out = append(out, exchangeCase{name: "route-" + name, method: method, path: path, body: body, says: said{text: pieces(answerText)}})
		}
	}
	return out
}
