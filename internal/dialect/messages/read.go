// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package messages has Anthropic's messages.
package messages

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// base58 are the letters of ids, which leave out those that look alike.
const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// Dialect is Anthropic's messages.
var Dialect = &dialect.Dialect{
	Name: "messages", Provider: "anthropic", Path: "/messages", ClientPath: "/v1/messages",
	Read: func(body []byte, q *dialect.Query) (dialect.Request, *dialect.Refusal) {
		m, refusal := Read(body, q.Counting, q.Held)
		if m == nil {
			return nil, refusal
		}
		return m, refusal
	},
	Overflow: func(l dialect.Length) *dialect.Refusal {
		switch {
		case l.Prompt > l.Window:
			return dialect.Invalid("", "", "prompt is too long: %d tokens > %d maximum", l.Prompt, l.Window)
		case l.Prompt+l.Room > l.Window:
			return dialect.Invalid("", "", "input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", l.Prompt, l.Room, l.Window)
		}
		return nil
	},
	Error: func(r *dialect.Refusal, o dialect.ErrorOf) []byte {
		return Error(dialect.InWords(r, o, "model: %s", "prompt is too long: %d tokens > %d maximum"), o.ID)
	},
	Lists:  func(r *http.Request) bool { return r.Header.Get("Anthropic-Version") != "" },
	Models: models, Model: func(id string, created int64) []byte { return dialect.Encode(model(id, created)) }, NoModel: "model: %s",
	ReplyID: dialect.IDs{Prefix: "msg_01", Len: 22, Alphabet: base58}, CallID: dialect.IDs{Prefix: "toolu_01", Len: 22, Alphabet: base58},
	IDHeader: "Request-Id", KeyHeader: "X-Api-Key", Versioned: true, Calls: true, Objects: true, BackID: BackID,
	Part: "content", Own: true, EndsInCalls: true, Parse: func() dialect.Parser { return &parser{} },
}

// Request is a request to Anthropic's /v1/messages, or to count_tokens.
type Request struct {
	// Chat is the request as all dialects see it: system texts are messages,
	// and each tool result is a message of its own.
	Chat *dialect.Chat
	// Thinking is enabled, adaptive or disabled; empty when the request does
	// not say.
	Thinking string
	// Continues says that the last message brings tool results, so that the
	// reply goes on with a turn that has begun.
	Continues bool
	// Thread is what the request asks of a thread; nil when it has none.
	Thread *ThreadRequest
}

// model is a model as it is listed.
func model(id string, created int64) map[string]string {
	return map[string]string{"type": "model", "id": id, "display_name": id, "created_at": time.Unix(created, 0).UTC().Format(time.RFC3339)}
}

func models(ids []string, created int64) []byte {
	list := []map[string]string{}
	for _, id := range ids {
		list = append(list, model(id, created))
	}
	var first, last *string
	if n := len(ids); n > 0 {
		first, last = &ids[0], &ids[n-1]
	}
	return dialect.Encode(map[string]any{"data": list, "has_more": false, "first_id": first, "last_id": last})
}

// AsChat is the request as all dialects see it.
func (m *Request) AsChat() *dialect.Chat { return m.Chat }

// Write writes a reply with the thoughts that the request wants. With thinking
// enabled, a turn begins with a thought even when none is scripted, since the
// provider refuses a history without.
func (m *Request) Write(r *dialect.Reply, w dialect.Writing) *dialect.Body {
	reply := r.Clone()
	c := &reply.Choices[0]
	if m.Thinking == "disabled" {
		c.Reasoning = ""
	}
	if c.Reasoning != "" || m.Thinking == "enabled" && !m.Continues && !w.Hidden {
		c.Signature = dialect.Signature(c.Reasoning)
	}
	if !m.Chat.Silent {
		m.keep(r.ID, *c, w.Held) // all of a reply that breaks off on its way: the endpoint has it
	}
	return Write(reply, w.Style, w.Stream)
}

// Passed keeps the thread that a reply goes on with.
func (m *Request) Passed(r dialect.Received, held *dialect.Store) {
	if r.ID != "" {
		m.keep(r.ID, dialect.ChoiceOf(r.Message), held)
	}
}

// keep holds the thread under the id of a reply.
func (m *Request) keep(id string, said dialect.Choice, held *dialect.Store) {
	if m.Thread == nil || held == nil {
		return
	}
	var content struct {
		Content json.RawMessage `json:"content"`
	}
	whole := Write(&dialect.Reply{ID: id, Choices: []dialect.Choice{said}}, &dialect.Style{}, false)
	_ = json.Unmarshal(whole.Frames[0].Data, &content) // it was written here, so that it decodes
	held.KeepThread(id, m.Thread.Previous, m.Thread.Body, m.Thread.Held, slices.Concat([]byte(`{"role":"assistant","content":`), content.Content, []byte{'}'}))
}

// Read reads the body of a request to Anthropic's Messages. With
// counting it is one to count_tokens, which needs no max_tokens.
//
// The refusal says what the provider would refuse; nil means that it would
// answer. Two messages in a row of the same role are refused, as the endpoints
// of Bedrock and Vertex do; Anthropic's own joins them since late in 2024.
// Messages is nil when the body is no JSON object; otherwise it is there
// beside a refusal, as far as it could be read.
//
// A request that goes on with a thread is read as if it had all of the
// conversation, which held has; nil holds none.
func Read(body []byte, counting bool, held *dialect.Store) (*Request, *dialect.Refusal) {
	if err := dialect.CheckJSON(body); err != nil {
		return nil, newRefusal(http.StatusBadRequest, "The request body is not valid JSON: %s", err)
	}
	a := &reader{o: dialect.ReadObject(body), ids: make(map[string]bool)}
	a.thread(held, body)
	a.settings(counting)
	a.tools()
	a.thinking()
	a.system()
	a.messages()
	if a.marks > maxCacheMarks {
		a.fail("A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheMarks, a.marks)
	}
	a.nestedKeys()
	a.out.Chat = dialect.NewChat(a.req, body)
	a.out.Chat.Env.Options.Stop = a.stops
	a.out.Chat.Env.Options.Serial = a.serial
	if a.schema != nil {
		a.out.Chat.Env.Options.Format, a.out.Chat.Env.Options.Schema = "json_schema", a.schema
	}
	a.out.Chat.Env.NotSupported = a.extra
	a.out.Chat.Refused = a.refusal
	// The prompt is to be put into the cache, and nothing is to be said.
	a.out.Chat.Silent = a.req.MaxTokens == 0 && !dialect.Absent(a.o["max_tokens"])
	return &a.out, a.refusal
}

// maxCacheMarks is how many blocks of a request may have cache_control.
const maxCacheMarks = 4

// reader reads one request.
type reader struct {
	o       dialect.Object
	out     Request
	req     harness.Request
	stops   []string
	serial  bool
	schema  json.RawMessage // that the text is to match
	marks   int             // blocks with cache_control
	ids     map[string]bool // of all tool_use blocks
	offered []string
	defined []harness.Tool   // all tools that have been told of
	refusal *dialect.Refusal // the first
	extra   *dialect.Refusal // the first of what only the provider itself refuses
	// earlier is the number of messages that stand in the thread already.
	earlier int
}

func newRefusal(status int, format string, args ...any) *dialect.Refusal {
	return &dialect.Refusal{Status: status, Type: errorType(status), Message: fmt.Sprintf(format, args...)}
}

// errorType is the type of errors with a status.
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case statusOverloaded:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// statusOverloaded is Anthropic's own status.
const statusOverloaded = 529

// fail keeps the first refusal.
func (a *reader) fail(format string, args ...any) {
	if a.refusal == nil {
		a.refusal = newRefusal(http.StatusBadRequest, format, args...)
	}
}

// settingNames are the settings of a request, those of betas included. The
// provider itself refuses others.
func settingNames() []string {
	return []string{
		"model", "messages", "max_tokens", "system", "stream", "temperature", "top_k", "top_p", "stop_sequences", "metadata",
		"tools", "tool_choice", "thinking", "service_tier", "container", "cache_control", "diagnostics", "inference_geo",
		"output_config", "output_format", "speed", "context_management", "mcp_servers", "thread", "compaction", "billing_policy",
		"fallbacks", "fallback_credit_token", "betas", "user_profile_id", "workspace_id", "anthropic_version", "anthropic_beta",
	}
}

// uncounted are the settings of a reply, which a request that is to be counted
// does not have.
func uncounted() []string {
	return []string{"max_tokens", "stream", "temperature", "top_k", "top_p", "stop_sequences", "metadata", "service_tier", "container", "inference_geo"}
}

// foreign are settings of other providers, which endpoints of this dialect
// refuse whoever runs them.
func foreign() []string {
	return []string{
		"frequency_penalty", "presence_penalty", "n", "stop", "seed", "logit_bias", "logprobs", "top_logprobs",
		"response_format", "max_completion_tokens", "functions", "function_call", "parallel_tool_calls", "user",
		"stream_options", "reasoning_effort", "modalities", "contents", "systemInstruction", "generationConfig", "toolConfig",
	}
}

func (a *reader) settings(counting bool) {
	for _, key := range foreign() {
		if _, ok := a.o[key]; ok {
			a.fail("%s: Extra inputs are not permitted", key)
		}
	}
	known := settingNames()
	if counting {
		known = slices.DeleteFunc(known, func(key string) bool { return slices.Contains(uncounted(), key) })
	}
	a.onlyKeys("", a.o, known...)
	a.req.Model = a.required("model", a.o["model"])
	a.req.MaxTokens = a.integer("max_tokens", a.o["max_tokens"], 0)
	if dialect.Absent(a.o["max_tokens"]) && !counting {
		a.fail("max_tokens: Field required")
	}
	a.req.Temperature = a.number("temperature", a.o["temperature"], 1)
	a.number("top_p", a.o["top_p"], 1)
	a.integer("top_k", a.o["top_k"], 0)
	a.req.Stream = a.boolean("stream", a.o["stream"])
	for i, raw := range a.list("stop_sequences", a.o["stop_sequences"]) {
		s := a.text(fmt.Sprintf("stop_sequences.%d", i), raw)
		if strings.TrimSpace(s) == "" {
			a.fail("stop_sequences: each stop sequence must contain non-whitespace")
		}
		a.stops = append(a.stops, s)
	}
	a.dict("metadata", a.o["metadata"])
	a.format()
}

// format reads what the text is to look like.
func (a *reader) format() {
	path, raw := "output_config.format", a.dict("output_config", a.o["output_config"])["format"]
	if dialect.Absent(raw) {
		path, raw = "output_format", a.o["output_format"] // its older place
	}
	if dialect.Absent(raw) {
		return
	}
	f := a.dict(path, raw)
	if kind := dialect.TextOf(f["type"]); kind != "json_schema" {
		a.fail("%s.type: Input should be 'json_schema'", path)
		return
	}
	if dialect.Absent(f["schema"]) {
		a.fail("%s.schema: Field required", path)
		return
	}
	a.schema = f["schema"]
	a.dict(path+".schema", a.schema)
}

// thinking reads the setting and what it forbids beside it.
func (a *reader) thinking() {
	if dialect.Absent(a.o["thinking"]) {
		return
	}
	t := a.dict("thinking", a.o["thinking"])
	if t == nil {
		return
	}
	switch kind := dialect.TextOf(t["type"]); kind {
	case "disabled", "adaptive":
		a.out.Thinking = kind
		return
	case "enabled":
		a.out.Thinking = kind
	case "":
		a.fail("thinking: Unable to extract tag using discriminator 'type'")
		return
	default:
		a.fail("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", kind)
		return
	}
	const least = 1024
	if dialect.Absent(t["budget_tokens"]) {
		a.fail("thinking.enabled.budget_tokens: Field required")
	}
	budget := a.integer("thinking.enabled.budget_tokens", t["budget_tokens"], least)
	if a.req.MaxTokens > 0 && budget >= a.req.MaxTokens {
		a.fail("`max_tokens` must be greater than `thinking.budget_tokens`.")
	}
	if f := a.req.Temperature; f != nil && *f != 1 {
		a.fail("`temperature` may only be set to 1 when thinking is enabled.")
	}
	const leastTopP = 0.95
	if p := a.number("top_p", a.o["top_p"], 1); p != nil && *p < leastTopP {
		a.fail("`top_p` must be greater than or equal to %v or unset when thinking is enabled.", leastTopP)
	}
	if !dialect.Absent(a.o["top_k"]) {
		a.fail("`top_k` must be unset when thinking is enabled.")
	}
	if c := a.req.ToolChoice; c != "" && c != "auto" && c != "none" {
		a.fail("Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// system reads the system prompt: a text, or text blocks.
func (a *reader) system() {
	raw := a.o["system"]
	if dialect.Absent(raw) {
		return
	}
	if raw[0] == '"' {
		a.req.Messages = append(a.req.Messages, harness.Message{Role: harness.RoleSystem, Text: dialect.TextOf(raw)})
		return
	}
	var texts []string
	for i, raw := range a.list("system", raw) {
		path := fmt.Sprintf("system.%d", i)
		b := a.dict(path, raw)
		if b == nil {
			return
		}
		if kind := dialect.TextOf(b["type"]); kind != "text" {
			a.fail("%s.type: Input should be 'text'", path)
		}
		t := a.required(path+".text", b["text"])
		if t == "" {
			a.fail("system: text content blocks must be non-empty")
		}
		a.cacheMark(path, b)
		texts = append(texts, t)
	}
	if texts != nil {
		a.req.Messages = append(a.req.Messages, harness.Message{Role: harness.RoleSystem, Text: strings.Join(texts, "\n")})
	}
}

func (a *reader) cacheMark(path string, o dialect.Object) {
	raw := o["cache_control"]
	if dialect.Absent(raw) {
		return
	}
	a.marks++
	if c := a.dict(path+".cache_control", raw); c != nil && dialect.TextOf(c["type"]) != "ephemeral" {
		a.fail("%s.cache_control.type: Input should be 'ephemeral'", path)
	}
}

// The readers of values say in the provider's way what is wrong with one.

// required reads a text that must be there and say something.
func (a *reader) required(path string, raw json.RawMessage) string {
	if raw == nil {
		a.fail("%s: Field required", path)
		return ""
	}
	s := a.text(path, raw)
	if s == "" && !strings.HasSuffix(path, ".text") {
		a.fail("%s: String should have at least 1 character", path)
	}
	return s
}

func (a *reader) text(path string, raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		a.fail("%s: Input should be a valid string", path)
		return ""
	}
	return dialect.TextOf(raw)
}

// dict reads an object; nil when raw is none. An absent one is empty.
func (a *reader) dict(path string, raw json.RawMessage) dialect.Object {
	if dialect.Absent(raw) {
		return dialect.Object{}
	}
	if raw[0] != '{' {
		a.fail("%s: Input should be a valid dictionary", path)
		return nil
	}
	return dialect.ReadObject(raw)
}

func (a *reader) list(path string, raw json.RawMessage) []json.RawMessage {
	if dialect.Absent(raw) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		a.fail("%s: Input should be a valid list", path)
	}
	return items
}

func (a *reader) integer(path string, raw json.RawMessage, least int) int {
	if dialect.Absent(raw) {
		return 0
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		a.fail("%s: Input should be a valid integer", path)
		return 0
	}
	if int(f) < least {
		a.fail("%s: Input should be greater than or equal to %d", path, least)
	}
	return int(f)
}

func (a *reader) number(path string, raw json.RawMessage, most float64) *float64 {
	if dialect.Absent(raw) {
		return nil
	}
	var f float64
	switch {
	case json.Unmarshal(raw, &f) != nil:
		a.fail("%s: Input should be a valid number", path)
		return nil
	case f > most:
		a.fail("%s: Input should be less than or equal to %v", path, most)
	case f < 0:
		a.fail("%s: Input should be greater than or equal to 0", path)
	}
	return &f
}

func (a *reader) boolean(path string, raw json.RawMessage) bool {
	var b bool
	if !dialect.Absent(raw) && json.Unmarshal(raw, &b) != nil {
		a.fail("%s: Input should be a valid boolean", path)
	}
	return b
}

// Error is a refusal as Anthropic writes it. An empty id leaves out
// request_id.
func Error(r *dialect.Refusal, id string) []byte {
	type detail struct {
		Type    string          `json:"type"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details,omitempty"`
	}
	kind := r.Type
	if !strings.HasPrefix(kind, "rehearse_") && kind != "billing_error" && kind != "timeout_error" {
		kind = errorType(r.Status)
	}
	// Strings always marshal.
	b, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
		ID    string `json:"request_id,omitempty"`
	}{"error", detail{kind, r.Message, r.Details}, id})
	return b
}
