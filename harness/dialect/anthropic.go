// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
)

// Messages is a request to Anthropic's /v1/messages, or to count_tokens.
type Messages struct {
	// Chat is the request as all dialects see it: system texts are messages,
	// and each tool result is a message of its own.
	Chat *Chat
	// Thinking is enabled, adaptive or disabled; empty when the request does
	// not say.
	Thinking string
	// Continues says that the last message brings tool results, so that the
	// reply goes on with a turn that has begun.
	Continues bool
}

// DecodeMessages reads the body of a request to Anthropic's Messages. With
// counting it is one to count_tokens, which needs no max_tokens.
//
// The refusal says what the provider would refuse; nil means that it would
// answer. Two messages in a row of the same role are refused, as the endpoints
// of Bedrock and Vertex do; Anthropic's own joins them since late in 2024.
// Messages is nil when the body is no JSON object; otherwise it is there
// beside a refusal, as far as it could be read.
func DecodeMessages(body []byte, counting bool) (*Messages, *Refusal) {
	if err := checkJSON(body); err != nil {
		return nil, anthropicRefusal(http.StatusBadRequest, "The request body is not valid JSON: %s", err)
	}
	a := &anthropic{o: readObject(body), ids: make(map[string]bool)}
	a.settings(counting)
	a.tools()
	a.thinking()
	a.system()
	a.messages()
	if a.marks > maxCacheMarks {
		a.fail("A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheMarks, a.marks)
	}
	a.out.Chat = NewChat(a.req, body)
	a.out.Chat.env.options.Stop = a.stops
	a.out.Chat.env.options.Serial = a.serial
	if a.schema != nil {
		a.out.Chat.env.options.Format, a.out.Chat.env.options.Schema = "json_schema", a.schema
	}
	a.out.Chat.refusal = a.refusal
	return &a.out, a.refusal
}

// maxCacheMarks is how many blocks of a request may have cache_control.
const maxCacheMarks = 4

// anthropic reads one request.
type anthropic struct {
	o       object
	out     Messages
	req     harness.Request
	stops   []string
	serial  bool
	schema  json.RawMessage // that the text is to match
	marks   int             // blocks with cache_control
	ids     map[string]bool // of all tool_use blocks
	offered []string
	refusal *Refusal // the first
}

func anthropicRefusal(status int, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Type: anthropicType(status), Message: fmt.Sprintf(format, args...)}
}

// anthropicType is the type of errors with a status.
func anthropicType(status int) string {
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
func (a *anthropic) fail(format string, args ...any) {
	if a.refusal == nil {
		a.refusal = anthropicRefusal(http.StatusBadRequest, format, args...)
	}
}

// foreign are settings of other providers, which this one refuses as it does
// any that it does not know. Others may be newer than this list.
func foreign() []string {
	return []string{
		"frequency_penalty", "presence_penalty", "n", "stop", "seed", "logit_bias", "logprobs", "top_logprobs",
		"response_format", "max_completion_tokens", "functions", "function_call", "parallel_tool_calls", "user",
		"stream_options", "reasoning_effort", "modalities", "contents", "systemInstruction", "generationConfig", "toolConfig",
	}
}

func (a *anthropic) settings(counting bool) {
	for _, key := range foreign() {
		if _, ok := a.o[key]; ok {
			a.fail("%s: Extra inputs are not permitted", key)
		}
	}
	a.req.Model = a.required("model", a.o["model"])
	a.req.MaxTokens = a.integer("max_tokens", a.o["max_tokens"], 1)
	if absent(a.o["max_tokens"]) && !counting {
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
func (a *anthropic) format() {
	path, raw := "output_config.format", a.dict("output_config", a.o["output_config"])["format"]
	if absent(raw) {
		path, raw = "output_format", a.o["output_format"] // its older place
	}
	if absent(raw) {
		return
	}
	f := a.dict(path, raw)
	if kind := text(f["type"]); kind != "json_schema" {
		a.fail("%s.type: Input should be 'json_schema'", path)
		return
	}
	if absent(f["schema"]) {
		a.fail("%s.schema: Field required", path)
		return
	}
	a.schema = f["schema"]
	a.dict(path+".schema", a.schema)
}

// thinking reads the setting and what it forbids beside it.
func (a *anthropic) thinking() {
	if absent(a.o["thinking"]) {
		return
	}
	t := a.dict("thinking", a.o["thinking"])
	if t == nil {
		return
	}
	switch kind := text(t["type"]); kind {
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
	if absent(t["budget_tokens"]) {
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
	if !absent(a.o["top_k"]) {
		a.fail("`top_k` must be unset when thinking is enabled.")
	}
	if c := a.req.ToolChoice; c != "" && c != "auto" && c != "none" {
		a.fail("Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// system reads the system prompt: a text, or text blocks.
func (a *anthropic) system() {
	raw := a.o["system"]
	if absent(raw) {
		return
	}
	if raw[0] == '"' {
		a.req.Messages = append(a.req.Messages, harness.Message{Role: harness.RoleSystem, Text: text(raw)})
		return
	}
	var texts []string
	for i, raw := range a.list("system", raw) {
		path := fmt.Sprintf("system.%d", i)
		b := a.dict(path, raw)
		if b == nil {
			return
		}
		if kind := text(b["type"]); kind != "text" {
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

func (a *anthropic) cacheMark(path string, o object) {
	raw := o["cache_control"]
	if absent(raw) {
		return
	}
	a.marks++
	if c := a.dict(path+".cache_control", raw); c != nil && text(c["type"]) != "ephemeral" {
		a.fail("%s.cache_control.type: Input should be 'ephemeral'", path)
	}
}

// The readers of values say in the provider's way what is wrong with one.

// required reads a text that must be there and say something.
func (a *anthropic) required(path string, raw json.RawMessage) string {
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

func (a *anthropic) text(path string, raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		a.fail("%s: Input should be a valid string", path)
		return ""
	}
	return text(raw)
}

// dict reads an object; nil when raw is none. An absent one is empty.
func (a *anthropic) dict(path string, raw json.RawMessage) object {
	if absent(raw) {
		return object{}
	}
	if raw[0] != '{' {
		a.fail("%s: Input should be a valid dictionary", path)
		return nil
	}
	return readObject(raw)
}

func (a *anthropic) list(path string, raw json.RawMessage) []json.RawMessage {
	if absent(raw) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		a.fail("%s: Input should be a valid list", path)
	}
	return items
}

func (a *anthropic) integer(path string, raw json.RawMessage, least int) int {
	if absent(raw) {
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

func (a *anthropic) number(path string, raw json.RawMessage, most float64) *float64 {
	if absent(raw) {
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

func (a *anthropic) boolean(path string, raw json.RawMessage) bool {
	var b bool
	if !absent(raw) && json.Unmarshal(raw, &b) != nil {
		a.fail("%s: Input should be a valid boolean", path)
	}
	return b
}

// checkJSON says what is wrong with a body that must be a JSON object.
func checkJSON(body []byte) error {
	i := skipSpace(body, 0)
	end, err := skipValue(body, i, 0)
	switch {
	case err != nil:
		return err
	case skipSpace(body, end) != len(body):
		return errSyntax
	case body[i] != '{':
		return errors.New("not an object")
	case !utf8.Valid(body):
		return errors.New("not valid UTF-8")
	}
	return nil
}

// MessagesError is a refusal as Anthropic writes it. An empty id leaves out
// request_id.
func MessagesError(r *Refusal, id string) []byte {
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	kind := r.Type
	if !strings.HasPrefix(kind, "rehearse_") && kind != "billing_error" && kind != "timeout_error" {
		kind = anthropicType(r.Status)
	}
	// Strings always marshal.
	b, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
		ID    string `json:"request_id,omitempty"`
	}{"error", detail{kind, r.Message}, id})
	return b
}
