// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package gemini has Google's generateContent and embedContent.
package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// Dialect is Google's generateContent.
var Dialect = &dialect.Dialect{
	Name: "gemini", Provider: "gemini", Place: place, ClientPath: "/v1beta/models/any:generateContent",
	Read: func(body []byte, q *dialect.Query) (dialect.Request, *dialect.Refusal) {
		g, refusal := Read(body, q)
		if g == nil {
			return nil, refusal
		}
		return g, refusal
	},
	Overflow: func(l dialect.Length) *dialect.Refusal {
		if l.Prompt <= l.Window {
			return nil
		}
		return newRefusal("", "The input token count (%d) exceeds the maximum number of tokens allowed (%d).", l.Prompt, l.Window)
	},
	Error: func(r *dialect.Refusal, o dialect.ErrorOf) []byte {
		if o.Query == nil || o.Query.Version == "" {
			return Error(r, false)
		}
		r = dialect.InWords(r, o, "models/%s is not found for API version "+o.Query.Version+", or is not supported for generateContent. "+
			"Call ListModels to see the list of available models and their supported methods.",
			"The input token count (%d) exceeds the maximum number of tokens allowed (%d).")
		return Error(r, o.Query.List)
	},
	Lists: func(r *http.Request) bool {
		return r.Header.Get("X-Goog-Api-Key") != "" || r.Header.Get("X-Goog-Api-Client") != "" || r.URL.Query().Has("key")
	},
	Models: func(ids []string, _ int64) []byte {
		list := []model{}
		for _, id := range ids {
			list = append(list, newModel(id))
		}
		data, _ := json.Marshal(map[string]any{"models": list}) // of strings and numbers
		return Indented(data)
	},
	Model: func(id string, _ int64) []byte {
		data, _ := json.Marshal(newModel(id))
		return Indented(data)
	},
	NoModel:   "Model is not found: models/%s",
	ReplyID:   dialect.IDs{Len: 23, Alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"},
	CallID:    dialect.IDs{Len: 8, Alphabet: "abcdefghijklmnopqrstuvwxyz0123456789"},
	ErrorType: "application/json; charset=UTF-8", KeyHeader: "X-Goog-Api-Key", KeyParam: "key", Versioned: true, Calls: true, Objects: true,
	Part: "candidates with content", Own: true, List: true, Several: true, Parse: func() dialect.Parser { return &parser{} },
}

type model struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Display    string   `json:"displayName"`
	Input      int      `json:"inputTokenLimit"`
	Output     int      `json:"outputTokenLimit"`
	Methods    []string `json:"supportedGenerationMethods"`
	Thinking   bool     `json:"thinking"`
	Topmost    int      `json:"topK"`
	Nucleus    float64  `json:"topP"`
	Warmth     float64  `json:"temperature"`
	MaxWarmth  float64  `json:"maxTemperature"`
	Descriptor string   `json:"description"`
}

func newModel(id string) model {
	const input, output, topK, topP, most = 1048576, 65536, 64, 0.95, 2
	return model{
		Name: "models/" + id, Version: "001", Display: id, Descriptor: "A scripted model.", Input: input, Output: output,
		Methods: []string{"generateContent", "countTokens"}, Thinking: true, Topmost: topK, Nucleus: topP, Warmth: 1, MaxWarmth: most,
	}
}

// place finds a model and its method in a path.
func place(version, rest string) (q dialect.Query, ok bool) {
	for _, models := range []string{"/models/", "/tunedModels/"} {
		call, found := strings.CutPrefix(rest, models)
		colon := strings.LastIndexByte(call, ':') // some models have one in their names
		if !found || colon < 0 {
			continue
		}
		method := call[colon+1:]
		q = dialect.Query{Version: strings.TrimPrefix(version, "/"), Model: call[:colon], Stream: method == "streamGenerateContent"}
		if q.Stream || method == "generateContent" {
			return q, true
		}
	}
	return q, false
}

// Request is a request to Gemini's generateContent, streamGenerateContent or
// countTokens.
type Request struct {
	// Chat is the request as all dialects see it: the system instruction is a
	// message, each function response is one of its own, and contents of the
	// model in a row are one.
	Chat *dialect.Chat
	// NoThoughts says that the request turns thoughts off.
	NoThoughts bool
	// Continues says that the last content brings function responses.
	Continues bool

	query *dialect.Query
}

// AsChat is the request as all dialects see it.
func (g *Request) AsChat() *dialect.Chat { return g.Chat }

// Passed keeps nothing: requests refer to nothing.
func (*Request) Passed(dialect.Received, *dialect.Store) {}

// Write writes a reply with the thoughts that the request wants. Older models
// give their calls no ids, and say why a stream ended beside the last part of it.
func (g *Request) Write(r *dialect.Reply, w dialect.Writing) *dialect.Body {
	style := w.Style
	if style.Rebuilt != nil {
		return Write(r, style, w.Stream)
	}
	older := older(g.query.Model)
	if older && style.Finish == "" {
		own := *style
		own.Finish = dialect.FinishLast
		style = &own
	}
	reply := r.Clone()
	for i := range reply.Choices {
		c := &reply.Choices[i]
		if g.NoThoughts {
			c.Reasoning = ""
		}
		for n := range c.Calls {
			if older {
				c.Calls[n].ID = ""
			}
			if n == 0 && !(older && g.NoThoughts) {
				c.Calls[n].Signature = dialect.Signature(c.Calls[n].Name)
			}
		}
	}
	if w.Stream && g.query.List {
		return WriteList(reply, style)
	}
	return Write(reply, style, w.Stream)
}

// Read reads the body of a request to Gemini. Names of fields may
// be in camel case or in snake case, and a list of one may be its item, as the
// provider has it.
//
// The refusal says what the provider would refuse; nil means that it would
// answer. Generate is nil when the body is no JSON object; otherwise it is
// there beside a refusal, as far as it could be read.
func Read(body []byte, q *dialect.Query) (*Request, *dialect.Refusal) {
	if err := dialect.CheckJSON(body); err != nil {
		return nil, malformed("", "Invalid JSON payload received. %s", err)
	}
	g := &reader{query: q, o: dialect.ReadObject(body)}
	g.req.Model, g.req.Stream = q.Model, q.Stream
	if inner, ok := g.o["generateContentRequest"]; ok && q.Counting {
		g.o = g.dict("generate_content_request", inner)
	}
	g.known("", g.o, "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig",
		"cachedContent", "model", "labels", "serviceTier", "store", "continuationToken")
	g.config()
	g.tools()
	g.toolConfig()
	g.safety()
	g.system()
	g.contents()
	g.out.query = q
	g.out.Chat = dialect.NewChat(g.req, body)
	env := g.out.Chat.Env
	env.Choices, env.Options.Stop, env.Options.Format = g.choices, g.stops, g.format
	env.Seed = g.seed
	env.Options.Schema = g.schema
	g.out.Chat.Refused = g.refusal
	return &g.out, g.refusal
}

// reader reads one request.
type reader struct {
	query   *dialect.Query
	o       dialect.Object
	out     Request
	req     harness.Request
	choices int
	seed    string
	stops   []string
	format  string
	schema  json.RawMessage
	refusal *dialect.Refusal // the first
}

func newRefusal(field, format string, args ...any) *dialect.Refusal {
	return &dialect.Refusal{Status: http.StatusBadRequest, Type: "INVALID_ARGUMENT", Param: field, Message: fmt.Sprintf(format, args...)}
}

// fail keeps the first refusal.
func (g *reader) fail(format string, args ...any) {
	if g.refusal == nil {
		g.refusal = newRefusal("", format, args...)
	}
}

// wrong is a value of the wrong type at a field.
func (g *reader) wrong(field, format string, args ...any) {
	if g.refusal == nil {
		g.refusal = malformed(field, format, args...)
	}
}

// malformed refuses a document that does not parse as a message of the API. Such
// an error names the field in its details.
func malformed(field, format string, args ...any) *dialect.Refusal {
	type violation struct {
		Field       string `json:"field,omitempty"`
		Description string `json:"description"`
	}
	type detail struct {
		Type       string      `json:"@type"`
		Violations []violation `json:"fieldViolations"`
	}
	r := newRefusal(field, format, args...)
	// Strings always marshal.
	r.Details, _ = json.Marshal([]detail{{"type.googleapis.com/google.rpc.BadRequest", []violation{{field, r.Message}}}})
	return r
}

// request spells the path of a field as errors about meaning do.
func request(path string) string { return "GenerateContentRequest." + path }

// known refuses the fields that a message does not have.
func (g *reader) known(path string, o dialect.Object, fields ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if slices.ContainsFunc(fields, func(f string) bool { return key == f || key == dialect.Snake(f) }) {
			continue
		}
		at := ""
		if path != "" {
			at = fmt.Sprintf(" at '%s'", path)
		}
		g.wrong(path, "Invalid JSON payload received. Unknown name %q%s: Cannot find field.", key, at)
	}
}

// safety looks at the keys of the safety settings.
func (g *reader) safety() {
	var list []json.RawMessage
	if raw := g.o.Field("safetySettings"); dialect.Absent(raw) || json.Unmarshal(raw, &list) != nil {
		return
	}
	for i, raw := range list {
		path := fmt.Sprintf("safety_settings[%d]", i)
		g.known(path, g.dict(path, raw), "category", "threshold", "method")
	}
}

// dict reads an object; an absent one is empty.
func (g *reader) dict(path string, raw json.RawMessage) dialect.Object {
	if dialect.Absent(raw) {
		return dialect.Object{}
	}
	if raw[0] != '{' {
		g.wrong(path, "Invalid value at '%s', expected an object.", path)
		return dialect.Object{}
	}
	return dialect.ReadObject(raw)
}

// list reads a list; what is none is its only item.
func (g *reader) list(raw json.RawMessage) []json.RawMessage {
	if dialect.Absent(raw) {
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

func (g *reader) text(path string, raw json.RawMessage) string {
	if dialect.Absent(raw) {
		return ""
	}
	if raw[0] != '"' {
		g.wrong(path, "Invalid value at '%s' (TYPE_STRING), %s", path, raw)
		return ""
	}
	return dialect.TextOf(raw)
}

func (g *reader) boolean(path string, raw json.RawMessage) bool {
	var b bool
	if !dialect.Absent(raw) && json.Unmarshal(raw, &b) != nil {
		g.wrong(path, "Invalid value at '%s' (TYPE_BOOL), %s", path, raw)
	}
	return b
}

func (g *reader) number(path string, raw json.RawMessage) *float64 {
	if dialect.Absent(raw) {
		return nil
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil {
		g.wrong(path, "Invalid value at '%s' (TYPE_FLOAT), %s", path, raw)
		return nil
	}
	return &f
}

func (g *reader) between(path string, raw json.RawMessage, least, most float64) *float64 {
	f := g.number(path, raw)
	if f != nil && (*f < least || *f > most) {
		g.fail("* %s: %s must be in the range [%v, %v].\n", request(path), path[strings.LastIndexByte(path, '.')+1:], least, most)
	}
	return f
}

func (g *reader) integer(path string, raw json.RawMessage) (int, bool) {
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

// generationFields are the fields of generationConfig.
func generationFields() []string {
	return []string{
		"audioTimestamp", "audioTranscriptionConfig", "candidateCount", "enableAffectiveDialog", "enableEnhancedCivicAnswers",
		"frequencyPenalty", "imageConfig", "logprobs", "maxOutputTokens", "mediaResolution", "modelSelectionConfig", "presencePenalty",
		"responseFormat", "responseJsonSchema", "_responseJsonSchema", "responseLogprobs", "responseMimeType", "responseModalities",
		"responseSchema", "routingConfig", "seed", "speechConfig", "stopSequences", "temperature", "thinkingConfig", "topK", "topP",
		"translationConfig",
	}
}

// config reads generationConfig.
func (g *reader) config() {
	const path = "generation_config"
	c := g.dict(path, g.o.Field("generationConfig"))
	g.known(path, c, generationFields()...)
	g.req.Temperature = g.between(path+".temperature", c.Field("temperature"), 0, 2)
	g.between(path+".top_p", c.Field("topP"), 0, 1)
	if n, ok := g.integer(path+".max_output_tokens", c.Field("maxOutputTokens")); ok {
		if n < 1 {
			g.fail("* %s.max_output_tokens: max_output_tokens must be positive.\n", request(path))
		}
		g.req.MaxTokens = n
	}
	if seed := c.Field("seed"); !dialect.Absent(seed) {
		g.seed = string(seed)
	}
	const maxCandidates = 8
	if n, ok := g.integer(path+".candidate_count", c.Field("candidateCount")); ok {
		if n < 1 || n > maxCandidates {
			g.fail("* %s.candidate_count: candidate_count must be in the range [1, %d].\n", request(path), maxCandidates)
		}
		g.choices = n
	}
	stops := g.list(c.Field("stopSequences"))
	const maxStopSequences = 5
	if len(stops) > maxStopSequences {
		g.fail("* %s.stop_sequences: at most %d stop sequences are supported.\n", request(path), maxStopSequences)
	}
	for i, raw := range stops {
		g.stops = append(g.stops, g.text(fmt.Sprintf("%s.stop_sequences[%d]", path, i), raw))
	}
	g.responseFormat(path, c)
	t := g.dict(path+".thinking_config", c.Field("thinkingConfig"))
	g.known(path+".thinking_config", t, "includeThoughts", "thinkingBudget", "thinkingLevel")
	if raw := t.Field("includeThoughts"); !dialect.Absent(raw) {
		g.out.NoThoughts = !g.boolean(path+".thinking_config.include_thoughts", raw)
	}
	if n, ok := g.integer(path+".thinking_config.thinking_budget", t.Field("thinkingBudget")); ok && n == 0 {
		g.out.NoThoughts = true
	}
}

func (g *reader) responseFormat(path string, c dialect.Object) {
	own, schema := c.Field("responseSchema"), c.Field("responseJsonSchema")
	if !dialect.Absent(own) {
		schema = jsonSchema(own)
		g.openSchema(path+".response_schema", own)
	}
	switch kind := g.text(path+".response_mime_type", c.Field("responseMimeType")); kind {
	case "", "text/plain":
		if !dialect.Absent(schema) {
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
	if g.format != "" && !dialect.Absent(schema) {
		g.schema = schema
	}
	if !dialect.Absent(g.o["tools"]) && older(g.query.Model) {
		g.fail("Function calling with a response mime type: 'application/json' is unsupported")
	}
}

// older reports whether a model is of the generations before Gemini 3.
func older(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2")
}

// Error is a refusal as Gemini writes it. A stream that is no stream
// of events has it in a list.
func Error(r *dialect.Refusal, list bool) []byte {
	type body struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Status  string          `json:"status"`
		Details json.RawMessage `json:"details,omitempty"`
	}
	e := body{Code: r.Status, Message: r.Message, Status: r.Type, Details: r.Details}
	if e.Status == "" || e.Status != strings.ToUpper(e.Status) {
		e.Status = statusName(r)
	}
	var v any = map[string]body{"error": e}
	if list {
		v = []any{v}
	}
	// Strings always marshal.
	b, _ := json.MarshalIndent(v, "", "  ")
	return append(b, '\n')
}

// statusName is the name of the provider for an error that is not its own.
func statusName(r *dialect.Refusal) string {
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
