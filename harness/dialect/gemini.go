// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// Generate is a request to Gemini's generateContent, streamGenerateContent or
// countTokens.
type Generate struct {
	// Chat is the request as all dialects see it: the system instruction is a
	// message, each function response is one of its own, and contents of the
	// model in a row are one.
	Chat *Chat
	// NoThoughts says that the request turns thoughts off.
	NoThoughts bool
	// Continues says that the last content brings function responses.
	Continues bool
}

// GenerateOptions are what is known of a request beside its body.
type GenerateOptions struct {
	// Model is the name in the path, without models/.
	Model string
	// Stream says that the path asks for a stream.
	Stream bool
	// Counting says that the request is one to countTokens.
	Counting bool
	// IDs returns the ids that the calls of a message of the model were given
	// when it was made; they are asked for in the order of the conversation.
	// Many clients send none, or their own. Nil, or a result of another
	// length, keeps those of the request.
	IDs func(calls []harness.ToolCall) []string
}

// DecodeGenerate reads the body of a request to Gemini. Names of fields may
// be in camel case or in snake case, and a list of one may be its item, as the
// provider has it.
//
// The refusal says what the provider would refuse; nil means that it would
// answer. Generate is nil when the body is no JSON object; otherwise it is
// there beside a refusal, as far as it could be read.
func DecodeGenerate(body []byte, opts GenerateOptions) (*Generate, *Refusal) {
	if err := checkJSON(body); err != nil {
		return nil, geminiRefusal("", "Invalid JSON payload received. %s", err)
	}
	g := &gemini{opts: opts, o: readObject(body)}
	g.req.Model, g.req.Stream = opts.Model, opts.Stream
	if inner, ok := g.o["generateContentRequest"]; ok && opts.Counting {
		g.o = g.dict("generate_content_request", inner)
	}
	g.known("", g.o, "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig",
		"cachedContent", "model", "labels", "serviceTier", "store")
	g.config()
	g.tools()
	g.toolConfig()
	g.system()
	g.contents()
	g.out.Chat = NewChat(g.req, body)
	env := g.out.Chat.env
	env.choices, env.options.Stop, env.options.Format = g.choices, g.stops, g.format
	env.options.Schema = g.schema
	g.out.Chat.refusal = g.refusal
	return &g.out, g.refusal
}

// gemini reads one request.
type gemini struct {
	opts    GenerateOptions
	o       object
	out     Generate
	req     harness.Request
	choices int
	stops   []string
	format  string
	schema  json.RawMessage
	refusal *Refusal // the first
}

func geminiRefusal(field, format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Type: "INVALID_ARGUMENT", Param: field, Message: fmt.Sprintf(format, args...)}
}

// fail keeps the first refusal.
func (g *gemini) fail(format string, args ...any) {
	if g.refusal == nil {
		g.refusal = geminiRefusal("", format, args...)
	}
}

// wrong is a value of the wrong type at a field.
func (g *gemini) wrong(field, format string, args ...any) {
	if g.refusal == nil {
		g.refusal = geminiRefusal(field, format, args...)
	}
}

// request spells the path of a field as errors about meaning do.
func request(path string) string { return "GenerateContentRequest." + path }

// snake spells a field of the request as errors do.
func snake(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			b.WriteByte(c | 0x20)
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// field returns the value of a field, in either spelling.
func (o object) field(camel string) json.RawMessage {
	if raw, ok := o[camel]; ok {
		return raw
	}
	return o[snake(camel)]
}

// known refuses the fields that a message does not have.
func (g *gemini) known(path string, o object, fields ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if slices.ContainsFunc(fields, func(f string) bool { return key == f || key == snake(f) }) {
			continue
		}
		at := ""
		if path != "" {
			at = fmt.Sprintf(" at '%s'", path)
		}
		g.wrong(path, "Invalid JSON payload received. Unknown name %q%s: Cannot find field.", key, at)
	}
}

// dict reads an object; an absent one is empty.
func (g *gemini) dict(path string, raw json.RawMessage) object {
	if absent(raw) {
		return object{}
	}
	if raw[0] != '{' {
		g.wrong(path, "Invalid value at '%s', expected an object.", path)
		return object{}
	}
	return readObject(raw)
}

// list reads a list; what is none is its only item.
func (g *gemini) list(raw json.RawMessage) []json.RawMessage {
	if absent(raw) {
		return nil
	}
	if raw[0] != '[' {
		return []json.RawMessage{raw}
	}
	var items []json.RawMessage
	// The body has been checked.
	_ = json.Unmarshal(raw, &items)
	return items
}

func (g *gemini) text(path string, raw json.RawMessage) string {
	if absent(raw) {
		return ""
	}
	if raw[0] != '"' {
		g.wrong(path, "Invalid value at '%s' (TYPE_STRING), %s", path, raw)
		return ""
	}
	return text(raw)
}

func (g *gemini) boolean(path string, raw json.RawMessage) bool {
	var b bool
	if !absent(raw) && json.Unmarshal(raw, &b) != nil {
		g.wrong(path, "Invalid value at '%s' (TYPE_BOOL), %s", path, raw)
	}
	return b
}

func (g *gemini) number(path string, raw json.RawMessage) *float64 {
	if absent(raw) {
		return nil
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil {
		g.wrong(path, "Invalid value at '%s' (TYPE_FLOAT), %s", path, raw)
		return nil
	}
	return &f
}

func (g *gemini) between(path string, raw json.RawMessage, least, most float64) *float64 {
	f := g.number(path, raw)
	if f != nil && (*f < least || *f > most) {
		g.fail("* %s: %s must be in the range [%v, %v].\n", request(path), path[strings.LastIndexByte(path, '.')+1:], least, most)
	}
	return f
}

func (g *gemini) integer(path string, raw json.RawMessage) (int, bool) {
	f := g.number(path, raw)
	if f == nil {
		return 0, false
	}
	if *f != math.Trunc(*f) || math.Abs(*f) > math.MaxInt32 {
		g.wrong(path, "Invalid value at '%s' (TYPE_INT32), %s", path, raw)
		return 0, false
	}
	return int(*f), true
}

// config reads generationConfig.
func (g *gemini) config() {
	const path = "generation_config"
	c := g.dict(path, g.o.field("generationConfig"))
	g.req.Temperature = g.between(path+".temperature", c.field("temperature"), 0, 2)
	g.between(path+".top_p", c.field("topP"), 0, 1)
	if n, ok := g.integer(path+".max_output_tokens", c.field("maxOutputTokens")); ok {
		if n < 1 {
			g.fail("* %s.max_output_tokens: max_output_tokens must be positive.\n", request(path))
		}
		g.req.MaxTokens = n
	}
	const maxCandidates = 8
	if n, ok := g.integer(path+".candidate_count", c.field("candidateCount")); ok {
		if n < 1 || n > maxCandidates {
			g.fail("* %s.candidate_count: candidate_count must be in the range [1, %d].\n", request(path), maxCandidates)
		}
		g.choices = n
	}
	stops := g.list(c.field("stopSequences"))
	const maxStopSequences = 5
	if len(stops) > maxStopSequences {
		g.fail("* %s.stop_sequences: at most %d stop sequences are supported.\n", request(path), maxStopSequences)
	}
	for i, raw := range stops {
		g.stops = append(g.stops, g.text(fmt.Sprintf("%s.stop_sequences[%d]", path, i), raw))
	}
	g.responseFormat(path, c)
	t := g.dict(path+".thinking_config", c.field("thinkingConfig"))
	if raw := t.field("includeThoughts"); !absent(raw) {
		g.out.NoThoughts = !g.boolean(path+".thinking_config.include_thoughts", raw)
	}
	if n, ok := g.integer(path+".thinking_config.thinking_budget", t.field("thinkingBudget")); ok && n == 0 {
		g.out.NoThoughts = true
	}
}

func (g *gemini) responseFormat(path string, c object) {
	own, schema := c.field("responseSchema"), c.field("responseJsonSchema")
	if !absent(own) {
		schema = jsonSchema(own)
		g.openSchema(path+".response_schema", own)
	}
	switch kind := g.text(path+".response_mime_type", c.field("responseMimeType")); kind {
	case "", "text/plain":
		if !absent(schema) {
			g.fail("* %s.response_schema: only allowed when response_mime_type is application/json.\n", request(path))
		}
		return
	case "application/json":
		g.format, g.schema = "json_schema", json.RawMessage(`{}`) // any value
	case "text/x.enum":
		return
	default:
		g.fail("* %s.response_mime_type: allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.\n", request(path))
	}
	if g.format != "" && !absent(schema) {
		g.schema = schema
	}
	if !absent(g.o["tools"]) && older(g.opts.Model) {
		g.fail("Function calling with a response mime type: 'application/json' is unsupported")
	}
}

// older reports whether a model is of the generations before Gemini 3.
func older(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2")
}

// GenerateError is a refusal as Gemini writes it. A stream that is no stream
// of events has it in a list.
func GenerateError(r *Refusal, list bool) []byte {
	type violation struct {
		Field       string `json:"field,omitempty"`
		Description string `json:"description"`
	}
	type detail struct {
		Type       string      `json:"@type"`
		Violations []violation `json:"fieldViolations"`
	}
	type body struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Status  string   `json:"status"`
		Details []detail `json:"details,omitempty"`
	}
	e := body{Code: r.Status, Message: r.Message, Status: r.Type}
	if e.Status == "" || e.Status != strings.ToUpper(e.Status) {
		e.Status = geminiStatus(r)
	}
	if strings.HasPrefix(r.Message, "Invalid ") && r.Type == "INVALID_ARGUMENT" {
		e.Details = []detail{{"type.googleapis.com/google.rpc.BadRequest", []violation{{r.Param, r.Message}}}}
	}
	var v any = map[string]body{"error": e}
	if list {
		v = []any{v}
	}
	// Strings always marshal.
	b, _ := json.MarshalIndent(v, "", "  ")
	return append(b, '\n')
}

// geminiStatus is the name of the provider for an error that is not its own.
func geminiStatus(r *Refusal) string {
	if strings.HasPrefix(r.Type, "rehearse_") {
		return strings.ToUpper(r.Type)
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	return "INVALID_ARGUMENT"
}
