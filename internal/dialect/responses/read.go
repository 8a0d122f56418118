// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package responses has OpenAI's responses.
package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// Dialect is OpenAI's responses.
var Dialect = &dialect.Dialect{
	Name: "responses", Provider: "responses", Path: "/responses", ClientPath: "/v1/responses",
	Read: func(body []byte, q *dialect.Query) (dialect.Request, *dialect.Refusal) {
		r, refusal := Read(body, q.Held)
		if r == nil {
			return nil, refusal
		}
		return r, refusal
	},
	Overflow: func(l dialect.Length) *dialect.Refusal {
		if l.Prompt <= l.Window {
			return nil
		}
		return dialect.Invalid("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	},
	ReplyID: dialect.IDs{Prefix: "resp_", Len: 50, Alphabet: hexDigits}, CallID: dialect.IDs{Prefix: "call_", Len: 24},
	OpenAI: true, Calls: true, Failure: Failure,
	Part: "output", Own: true, Parse: func() dialect.Parser { return &parser{} },
}

// Request is a request to the responses endpoint.
type Request struct {
	// Chat is the conversation that the request amounts to: the instructions,
	// what the previous response stands for, and the input. It is never nil.
	Chat *dialect.Chat
	// Input is the conversation without the instructions, which the next
	// response does not inherit.
	Input []harness.Message
	// Store says that the response is to be remembered.
	Store bool
	// Conversation is the id of the conversation that the response is added to,
	// also where it is not known; empty without one.
	Conversation string
	// Items are the items of the input, a text as the item that it stands for.
	Items []json.RawMessage

	settings dialect.Object
	names    map[string]ToolName
}

// ToolName is how the responses endpoint names a tool that a [Chat] knows by
// one name.
type ToolName struct {
	Namespace, Name string
	Custom          bool // takes a text and not JSON
}

// ToolName returns the endpoint's own name of an offered tool.
func (r *Request) ToolName(offered string) ToolName {
	if n, ok := r.names[offered]; ok {
		return n
	}
	return ToolName{Name: offered}
}

// Read reads the body of a request to the responses endpoint. held
// resolves references to earlier responses; nil holds nothing.
//
// The responses are nil when the body is no JSON object; otherwise they are
// there beside a refusal, as far as they could be read.
func Read(body []byte, held *dialect.Store) (*Request, *dialect.Refusal) {
	o, refusal := dialect.ReadBody(body)
	if refusal != nil {
		return nil, refusal
	}
	r := &Request{settings: o, Store: true, names: make(map[string]ToolName)}
	d := reader{r: r, o: o, memory: held, env: &dialect.Envelope{}, body: body}
	refusal = d.read()
	req := harness.Request{
		Model: d.env.Model, Messages: d.messages(), Tools: d.env.Tools, ToolChoice: d.env.ToolChoice,
		Temperature: d.env.Temperature, MaxTokens: d.env.MaxTokens, Stream: d.env.Stream,
	}
	r.Chat = dialect.NewChat(req, body)
	r.Chat.Env.Options, r.Chat.Env.NotSupported = d.env.Options, d.unsupported()
	if refusal == nil {
		refusal = d.checkFormat()
	}
	r.Chat.Refused = refusal
	return r, refusal
}

// reader reads one request.
type reader struct {
	r            *Request
	o            dialect.Object
	memory       *dialect.Store
	env          *dialect.Envelope
	body         []byte
	instructions string
	items        itemReader
}

// read reads all of the request, also where the provider would stop, since a
// journal has what was sent. The refusal is the first.
func (d *reader) read() *dialect.Refusal {
	var first *dialect.Refusal
	for _, step := range []func() *dialect.Refusal{d.foreign, d.readModel, d.settings, d.reasoning, d.text, d.readTools, d.previous, d.input} {
		first = cmp.Or(first, step())
	}
	return first
}

// moved are the parameters of chat completions that have another name here.
func moved() [][2]string {
	return [][2]string{
		{"messages", "input"},
		{"response_format", "text.format"},
		{"max_tokens", "max_output_tokens"},
		{"max_completion_tokens", "max_output_tokens"},
		{"reasoning_effort", "reasoning.effort"},
		{"verbosity", "text.verbosity"},
	}
}

// unknown are the parameters of chat completions that do not exist here.
func unknown() []string {
	return []string{"n", "stop", "seed", "logprobs", "logit_bias", "functions", "function_call", "modalities", "audio", "prediction", "web_search_options"}
}

// foreign refuses parameters of chat completions.
func (d *reader) foreign() *dialect.Refusal {
	for _, m := range moved() {
		if _, ok := d.o[m[0]]; ok {
			return dialect.Invalid("", "unsupported_parameter",
				"Unsupported parameter: '%s'. In the Responses API, this parameter has moved to '%s'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.", m[0], m[1])
		}
	}
	for _, name := range unknown() {
		if _, ok := d.o[name]; ok {
			return dialect.Invalid(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
		}
	}
	return nil
}

func (d *reader) readModel() *dialect.Refusal {
	raw := d.o["model"]
	switch {
	case dialect.Absent(raw):
		return dialect.Missing("model")
	case raw[0] != '"':
		return dialect.WrongType("model", "a string", raw)
	}
	if d.env.Model = dialect.TextOf(raw); d.env.Model == "" {
		return dialect.Missing("model")
	}
	return nil
}

// minOutputTokens is the least bound on a response that the provider takes.
const minOutputTokens = 16

func (d *reader) settings() *dialect.Refusal {
	o, e, r := d.o, d.env, d.r
	var parallel, background bool
	var top, calls int
	return dialect.FirstOf(
		func() *dialect.Refusal { return dialect.CheckBoolean("stream", o["stream"], &e.Stream) },
		func() *dialect.Refusal { return dialect.CheckBoolean("store", o["store"], &r.Store) },
		func() *dialect.Refusal { return dialect.CheckBoolean("background", o["background"], &background) },
		func() *dialect.Refusal {
			return dialect.CheckBoolean("parallel_tool_calls", o["parallel_tool_calls"], &parallel)
		},
		func() *dialect.Refusal {
			e.Options.Serial = !dialect.Absent(o["parallel_tool_calls"]) && !parallel
			return dialect.CheckString("instructions", o["instructions"], &d.instructions)
		},
		func() *dialect.Refusal {
			return dialect.CheckDecimal("temperature", o["temperature"], 0, 2, &e.Temperature)
		},
		func() *dialect.Refusal { return dialect.CheckDecimal("top_p", o["top_p"], 0, 1, nil) },
		func() *dialect.Refusal {
			return dialect.CheckInteger("max_output_tokens", o["max_output_tokens"], &e.MaxTokens)
		},
		func() *dialect.Refusal {
			if dialect.Absent(o["max_output_tokens"]) {
				return nil
			}
			return dialect.CheckAtLeast("max_output_tokens", e.MaxTokens, minOutputTokens)
		},
		func() *dialect.Refusal { return dialect.CheckPositive("max_tool_calls", o["max_tool_calls"], &calls) },
		func() *dialect.Refusal { return dialect.CheckInteger("top_logprobs", o["top_logprobs"], &top) },
		func() *dialect.Refusal { return dialect.CheckAtMost("top_logprobs", top, dialect.MaxTopLogprobs) },
		func() *dialect.Refusal { return dialect.OneOf("truncation", o["truncation"], "auto", "disabled") },
		func() *dialect.Refusal {
			return dialect.OneOf("service_tier", o["service_tier"], "auto", "default", "flex", "scale", "priority")
		},
		func() *dialect.Refusal { return dialect.CheckString("user", o["user"], nil) },
		func() *dialect.Refusal { return metadata(o["metadata"]) },
		d.include,
		d.streamOptions,
	)
}

func includable() []string {
	return []string{
		"code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results",
		"message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content",
		"web_search_call.action.sources", "web_search_call.results",
	}
}

func (d *reader) include() *dialect.Refusal {
	list, r := array("include", d.o["include"], "an array of strings")
	if r != nil {
		return r
	}
	for i, raw := range list {
		if r := dialect.OneOf(fmt.Sprintf("include[%d]", i), raw, includable()...); r != nil {
			return r
		}
		if dialect.TextOf(raw) == "message.output_text.logprobs" {
			d.env.Options.Logprobs = true
		}
	}
	return nil
}

func (d *reader) streamOptions() *dialect.Refusal {
	raw := d.o["stream_options"]
	if dialect.Absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return dialect.WrongType("stream_options", "an object", raw)
	}
	if !d.env.Stream {
		return dialect.Invalid("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	for key := range dialect.ReadObject(raw) {
		if key != "include_obfuscation" {
			return dialect.Invalid("stream_options."+key, "unknown_parameter", "Unknown parameter: 'stream_options.%s'.", key)
		}
	}
	return nil
}

func (d *reader) reasoning() *dialect.Refusal {
	raw := d.o["reasoning"]
	if dialect.Absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return dialect.WrongType("reasoning", "an object", raw)
	}
	o := dialect.ReadObject(raw)
	return dialect.FirstOf(
		func() *dialect.Refusal {
			return dialect.OneOf("reasoning.effort", o["effort"], "none", "minimal", "low", "medium", "high", "xhigh", "max")
		},
		func() *dialect.Refusal {
			return dialect.OneOf("reasoning.summary", o["summary"], "concise", "detailed", "auto")
		},
	)
}

func (d *reader) text() *dialect.Refusal {
	raw := d.o["text"]
	if dialect.Absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return dialect.WrongType("text", "an object", raw)
	}
	o := dialect.ReadObject(raw)
	if r := dialect.OneOf("text.verbosity", o["verbosity"], "low", "medium", "high"); r != nil {
		return r
	}
	if dialect.Absent(o["format"]) {
		return nil
	}
	if o["format"][0] != '{' {
		return dialect.WrongType("text.format", "an object", o["format"])
	}
	return d.env.Options.ReadFormat("text.format", dialect.ReadObject(o["format"]))
}

func (d *reader) checkFormat() *dialect.Refusal {
	c := d.r.Chat
	if c.Env.Options.Format != "json_object" || dialect.SaysJSON(c.Messages) {
		return nil
	}
	return dialect.Invalid("input", "", "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
}

// previous puts the conversation so far before the input.
func (d *reader) previous() *dialect.Refusal {
	const param = "previous_response_id"
	if c := d.o["conversation"]; !dialect.Absent(c) {
		id := dialect.TextOf(c)
		if c[0] == '{' {
			id = dialect.TextOf(dialect.ReadObject(c)["id"])
		}
		if !dialect.Absent(d.o[param]) {
			return dialect.Invalid("", "mutually_exclusive_parameters", "Mutually exclusive parameters. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.")
		}
		return d.resume(id)
	}
	var id string
	if r := dialect.CheckString(param, d.o[param], &id); r != nil || dialect.Absent(d.o[param]) {
		return r
	}
	if r := checkID(param, id, "resp"); r != nil {
		return r
	}
	if messages, ok := d.memory.Response(id); ok {
		d.items.messages = slices.Clone(messages)
		return nil
	}
	return dialect.Invalid(param, "previous_response_not_found", "Previous response with id '%s' not found.", id)
}

// resume puts the items of a conversation before the input.
func (d *reader) resume(id string) *dialect.Refusal {
	d.r.Conversation = id
	if items, ok := d.memory.Conversation(id, d.body); ok {
		d.items.memory, d.items.held = d.memory, true
		defer func() { d.items.held = false }()
		var first *dialect.Refusal
		for i, item := range items {
			first = cmp.Or(first, d.items.read(fmt.Sprintf("conversation.items[%d]", i), item))
		}
		return first
	}
	return &dialect.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Conversation with id '%s' not found.", id)}
}

// userItem is the item that a text stands for.
func userItem(text []byte) json.RawMessage {
	return slices.Concat([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`), text, []byte("}]}"))
}

func (d *reader) input() *dialect.Refusal {
	raw := d.o["input"]
	d.items.memory = d.memory
	switch {
	case dialect.Absent(raw) && dialect.Absent(d.o["previous_response_id"]) && dialect.Absent(d.o["prompt"]) && d.r.Conversation == "":
		return dialect.Missing("input")
	case dialect.Absent(raw):
		return d.items.check()
	case raw[0] == '"':
		d.r.Items = []json.RawMessage{userItem(raw)}
		d.items.add(harness.Message{Role: harness.RoleUser, Text: dialect.TextOf(raw)})
		return d.items.check()
	case raw[0] != '[':
		return dialect.WrongType("input", "one of a string or array of input items", raw)
	}
	list, _ := array("input", raw, "")
	d.r.Items = list
	var first *dialect.Refusal
	for i, item := range list {
		first = cmp.Or(first, d.items.read(fmt.Sprintf("input[%d]", i), item))
	}
	return cmp.Or(first, d.items.check())
}

// messages returns the conversation, and keeps it.
func (d *reader) messages() []harness.Message {
	d.r.Input = d.items.messages
	if d.instructions == "" {
		return d.r.Input
	}
	return append([]harness.Message{{Role: harness.RoleSystem, Text: d.instructions}}, d.r.Input...)
}

// checkID says what the provider refuses about an id that is to begin with
// prefix.
func checkID(param, id, prefix string) *dialect.Refusal {
	odd := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	if id == "" || strings.IndexFunc(id, odd) >= 0 {
		return dialect.Invalid(param, "invalid_value", "Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", param, id)
	}
	if !strings.HasPrefix(id, prefix) {
		return dialect.Invalid(param, "invalid_value", "Invalid '%s': '%s'. Expected an ID that begins with '%s'.", param, id, prefix)
	}
	return nil
}

// array reads an array; none at all is fine.
func array(param string, raw json.RawMessage, want string) ([]json.RawMessage, *dialect.Refusal) {
	if dialect.Absent(raw) {
		return nil, nil
	}
	if raw[0] != '[' {
		return nil, dialect.WrongType(param, want, raw)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // has been checked
	return list, nil
}

const (
	maxMetadata      = 16
	maxMetadataValue = 512
)

func metadata(raw json.RawMessage) *dialect.Refusal {
	if dialect.Absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return dialect.WrongType("metadata", "an object", raw)
	}
	o := dialect.ReadObject(raw)
	if n := len(o); n > maxMetadata {
		return dialect.Invalid("metadata", "object_above_max_properties", "Invalid 'metadata': too many properties. Expected an object with at most %d properties, but got an object with %d properties instead.", maxMetadata, n)
	}
	for key, v := range o {
		param := "metadata." + key
		if v[0] != '"' {
			return dialect.WrongType(param, "a string", v)
		}
		if n := utf8.RuneCountInString(dialect.TextOf(v)); n > maxMetadataValue {
			return dialect.TooLongString(param, maxMetadataValue, n)
		}
	}
	return nil
}
