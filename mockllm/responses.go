// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// responsesRoutes are the routes of OpenAI's responses.
func responsesRoutes() []route {
	const one = "/v1/responses/"
	return []route{
		{method: http.MethodPost, path: "/v1/responses", speech: responsesSpeech()},
		{method: http.MethodGet, path: "/v1/responses", serve: (*Mock).serveUpgrade},
		{method: http.MethodGet, path: one, serve: (*Mock).serveResponse},
		{method: http.MethodDelete, path: one, serve: (*Mock).deleteResponse},
	}
}

func responsesSpeech() *speech {
	return &speech{
		name: "responses",
		decode: func(x *exchange, body []byte, _ *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
			r, refusal := dialect.DecodeResponses(body, x.m.responses)
			if r == nil {
				return nil, refusal
			}
			x.extra = r
			return r.Chat, refusal
		},
		render: renderResponse,
		id:     wire.IDs{Prefix: "resp_", Len: 50, Alphabet: "0123456789abcdef"},
		callID: wire.IDs{Prefix: "call_", Len: 24},
	}
}

func renderResponse(x *exchange, r *llmwire.Reply) *llmwire.Body {
	req := x.extra.(*dialect.Responses)
	said := r.Choices[0]
	own := said
	own.Calls = slices.Clone(said.Calls)
	for i := range own.Calls {
		call := &own.Calls[i]
		name := req.ToolName(call.Name)
		call.Name = name.Name
		switch {
		case name.Custom:
			call.Extra = json.RawMessage(llmwire.CustomCall)
		case name.Namespace != "":
			call.Extra = fmt.Appendf(nil, `{"namespace":%s}`, llmwire.Quote(name.Namespace))
		}
	}
	reply := *r
	reply.Choices = []llmwire.Choice{own}
	reply.Request = echoed(req)
	if req.Store {
		x.m.responses.keep(req, &reply, said, x.style)
	}
	return llmwire.Responses(&reply, x.style, x.stream())
}

// echoed are the settings of a request as the response repeats them, and
// those that say what is sent.
func echoed(req *dialect.Responses) json.RawMessage {
	settings := make(map[string]json.RawMessage)
	for _, key := range []string{
		"background", "include", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id",
		"prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "stream_options", "temperature",
		"text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
	} {
		if v := req.Setting(key); v != nil {
			settings[key] = v
		}
	}
	if v, ok := settings["text"]; ok {
		settings["text"] = withDefault(withDefault(v, "verbosity", `"medium"`), "format", `{"type":"text"}`)
	}
	if v, ok := settings["reasoning"]; ok {
		settings["reasoning"] = withDefault(withDefault(v, "summary", "null"), "effort", "null")
	}
	var tools []json.RawMessage
	if json.Unmarshal(settings["tools"], &tools) == nil && tools != nil {
		for i, t := range tools {
			var kind struct{ Type string }
			if json.Unmarshal(t, &kind) == nil && kind.Type == "function" {
				tools[i] = withDefault(t, "strict", "true")
			}
		}
		settings["tools"] = encode(tools)
	}
	return encode(settings)
}

// encode encodes what always can be, without escaping HTML.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// withDefault puts a member at the end of a JSON object that lacks it.
func withDefault(object json.RawMessage, key, value string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	if _, ok := members[key]; ok {
		return object
	}
	b := bytes.Clone(bytes.TrimSpace(object))
	b = bytes.TrimRight(b[:len(b)-1], " \t\r\n")
	if len(members) > 0 {
		b = append(b, ',')
	}
	return fmt.Appendf(b, `"%s":%s}`, key, value)
}

// memory is what the endpoint remembers of the responses it stored. The
// oldest are forgotten first. It is a [dialect.Memory].
type memory struct {
	mu        sync.Mutex
	responses map[string]*remembered
	items     map[string]harness.Message
	order     []string
	size      int
}

// remembered is a response that was stored.
type remembered struct {
	conversation []harness.Message // up to and with the response
	items        []string
	size         int
	render       func() []byte
}

// memoryBytes is how much conversation is remembered, about.
const memoryBytes = 16 << 20

// keep remembers a response. said is what it says in the words of the chat.
func (k *memory) keep(req *dialect.Responses, r *llmwire.Reply, said llmwire.Choice, style *wire.Style) {
	m := harness.Message{Role: harness.RoleAssistant, Text: said.Text, Reasoning: said.Reasoning, Refusal: said.Refusal}
	for _, c := range said.Calls {
		m.Calls = append(m.Calls, harness.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	e := &remembered{
		conversation: append(slices.Clip(req.Input), m), size: req.Chat.Size(),
		render: func() []byte { return llmwire.Responses(r, style, false).Frames[0].Data },
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(r.ID)
	if k.responses == nil {
		k.responses, k.items = make(map[string]*remembered), make(map[string]harness.Message)
	}
	for _, item := range llmwire.ResponsesItems(r) {
		part := harness.Message{Role: harness.RoleAssistant}
		switch {
		case item.Call >= 0:
			part.Calls = m.Calls[item.Call : item.Call+1]
		case item.Type == "reasoning":
			part.Reasoning = m.Reasoning
		default:
			part.Text, part.Refusal = m.Text, m.Refusal
		}
		k.items[item.ID] = part
		e.items = append(e.items, item.ID)
	}
	k.responses[r.ID] = e
	k.order = append(k.order, r.ID)
	k.size += e.size
	for k.size > memoryBytes && len(k.order) > 1 {
		k.forget(k.order[0])
	}
}

// forget reports whether there was such a response; k.mu is held.
func (k *memory) forget(id string) bool {
	e := k.responses[id]
	if e == nil {
		return false
	}
	for _, item := range e.items {
		delete(k.items, item)
	}
	delete(k.responses, id)
	k.order = slices.DeleteFunc(k.order, func(s string) bool { return s == id })
	k.size -= e.size
	return true
}

func (k *memory) reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.responses, k.items, k.order, k.size = nil, nil, nil, 0
}

// Response returns the conversation up to and with a response.
func (k *memory) Response(id string) ([]harness.Message, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.responses[id]; e != nil {
		return e.conversation, true
	}
	return nil, false
}

// Item returns what an item of a response said.
func (k *memory) Item(id string) (harness.Message, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok := k.items[id]
	return m, ok
}

// serveResponse gives a stored response once more.
func (m *Mock) serveResponse(x *exchange) {
	m.responses.mu.Lock()
	e := m.responses.responses[x.rest]
	m.responses.mu.Unlock()
	if e == nil {
		m.writeError(x, noResponse(x.rest))
		return
	}
	m.common(x)
	x.w.Header()["Content-Type"] = m.headers.json
	_, _ = x.w.Write(e.render()) // the client is gone
}

func (m *Mock) deleteResponse(x *exchange) {
	m.responses.mu.Lock()
	ok := m.responses.forget(x.rest)
	m.responses.mu.Unlock()
	if !ok {
		m.writeError(x, noResponse(x.rest))
		return
	}
	type deleted struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}
	m.common(x)
	m.writeJSON(x.w, deleted{x.rest, "response", true})
}

func noResponse(id string) *dialect.Refusal {
	return &dialect.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Response with id '%s' not found.", id)}
}

// serveUpgrade answers a client that wants a WebSocket: there is none, and
// the client is to POST. The connection is closed, as one that was to be
// upgraded must not be used on.
func (m *Mock) serveUpgrade(x *exchange) {
	if x.r.Header.Get("Upgrade") == "" {
		m.refuse(x, &dialect.Refusal{
			Status: http.StatusMethodNotAllowed, Type: "invalid_request_error",
			Message: fmt.Sprintf("Not allowed to %s on %s.", x.r.Method, x.path),
		})
		return
	}
	x.kind, x.status = harness.KindProbe, m.opts.UpgradeStatus
	if x.status == 0 {
		x.status = http.StatusUpgradeRequired
	}
	x.err = fmt.Sprintf("%s %s: upgrade to %s", x.r.Method, x.path, x.r.Header.Get("Upgrade"))
	m.record(x.entry, nil)
	h := x.w.Header()
	h.Set("Connection", "close")
	if x.status == http.StatusUpgradeRequired {
		h.Set("Upgrade", "HTTP/1.1")
	}
	m.writeError(x, &dialect.Refusal{Status: x.status, Type: "invalid_request_error", Message: "WebSocket connections are not supported here. Send a POST request."})
}
