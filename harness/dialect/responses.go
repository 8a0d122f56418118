// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
)

// Responses is a request to the responses endpoint.
type Responses struct {
	// Chat is the conversation that the request amounts to: the instructions,
	// what the previous response stands for, and the input. It is never nil.
	Chat *Chat
	// Input is the conversation without the instructions, which the next
	// response does not inherit.
	Input []harness.Message
	// Store says that the response is to be remembered.
	Store bool
	// Summary says that summaries of the reasoning are asked for.
	Summary bool
	// Encrypted says that reasoning is to come with its encrypted content.
	Encrypted bool

	settings object
	names    map[string]ToolName
}

// ToolName is how the responses endpoint names a tool that a [Chat] knows by
// one name.
type ToolName struct {
	Namespace, Name string
	Custom          bool // takes a text and not JSON
}

// Memory is what an endpoint remembers of the responses it gave.
type Memory interface {
	// Response returns the conversation up to and with a response.
	Response(id string) ([]harness.Message, bool)
	// Item returns what an item of a response said.
	Item(id string) (harness.Message, bool)
}

// Setting returns a setting as the request spells it; nil when it has none.
func (r *Responses) Setting(key string) json.RawMessage {
	if absent(r.settings[key]) {
		return nil
	}
	return r.settings[key]
}

// ToolName returns the endpoint's own name of an offered tool.
func (r *Responses) ToolName(offered string) ToolName {
	if n, ok := r.names[offered]; ok {
		return n
	}
	return ToolName{Name: offered}
}

// DecodeResponses reads the body of a request to the responses endpoint. m
// resolves references to earlier responses; nil remembers nothing.
//
// The responses are nil when the body is no JSON object; otherwise they are
// there beside a refusal, as far as they could be read.
func DecodeResponses(body []byte, m Memory) (*Responses, *Refusal) {
	o, refusal := readBody(body)
	if refusal != nil {
		return nil, refusal
	}
	r := &Responses{settings: o, Store: true, names: make(map[string]ToolName)}
	d := responsesReader{r: r, o: o, memory: m, env: &envelope{}}
	refusal = d.read()
	req := harness.Request{
		Model: d.env.model, Messages: d.messages(), Tools: d.env.tools, ToolChoice: d.env.toolChoice,
		Temperature: d.env.temperature, MaxTokens: d.env.maxTokens, Stream: d.env.stream,
	}
	r.Chat = NewChat(req, body)
	r.Chat.env.options = d.env.options
	if refusal == nil {
		refusal = d.checkFormat()
	}
	r.Chat.refusal = refusal
	return r, refusal
}

// readBody reads a body that is to be one JSON object.
func readBody(body []byte) (object, *Refusal) {
	i := skipSpace(body, 0)
	end, err := skipValue(body, i, 0)
	switch {
	case err != nil:
		return nil, notJSON(err)
	case skipSpace(body, end) != len(body):
		return nil, notJSON(errSyntax)
	case body[i] != '{':
		return nil, notJSON(errors.New("not an object"))
	case !utf8.Valid(body):
		return nil, notJSON(errors.New("not valid UTF-8"))
	}
	return readObject(body), nil
}

// responsesReader reads one request.
type responsesReader struct {
	r            *Responses
	o            object
	memory       Memory
	env          *envelope
	instructions string
	items        itemReader
}

func (d *responsesReader) read() *Refusal {
	return firstOf(d.foreign, d.readModel, d.settings, d.reasoning, d.text, d.readTools, d.previous, d.input)
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
func (d *responsesReader) foreign() *Refusal {
	for _, m := range moved() {
		if _, ok := d.o[m[0]]; ok {
			return invalid("", "unsupported_parameter",
				"Unsupported parameter: '%s'. In the Responses API, this parameter has moved to '%s'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.", m[0], m[1])
		}
	}
	for _, name := range unknown() {
		if _, ok := d.o[name]; ok {
			return invalid(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
		}
	}
	return nil
}

func (d *responsesReader) readModel() *Refusal {
	raw := d.o["model"]
	switch {
	case absent(raw):
		return missing("model")
	case raw[0] != '"':
		return wrongType("model", "a string", raw)
	}
	if d.env.model = text(raw); d.env.model == "" {
		return missing("model")
	}
	return nil
}

// minOutputTokens is the least bound on a response that the provider takes.
const minOutputTokens = 16

func (d *responsesReader) settings() *Refusal {
	o, e, r := d.o, d.env, d.r
	var parallel, background bool
	var top, calls int
	return firstOf(
		func() *Refusal { return boolean("stream", o["stream"], &e.stream) },
		func() *Refusal { return boolean("store", o["store"], &r.Store) },
		func() *Refusal { return boolean("background", o["background"], &background) },
		func() *Refusal { return boolean("parallel_tool_calls", o["parallel_tool_calls"], &parallel) },
		func() *Refusal {
			e.options.Serial = !absent(o["parallel_tool_calls"]) && !parallel
			return str("instructions", o["instructions"], &d.instructions)
		},
		func() *Refusal { return decimal("temperature", o["temperature"], 2, &e.temperature) },
		func() *Refusal { return within("top_p", o["top_p"], 0, 1) },
		func() *Refusal { return integer("max_output_tokens", o["max_output_tokens"], &e.maxTokens) },
		func() *Refusal {
			if absent(o["max_output_tokens"]) {
				return nil
			}
			return atLeast("max_output_tokens", e.maxTokens, minOutputTokens)
		},
		func() *Refusal { return positive("max_tool_calls", o["max_tool_calls"], &calls) },
		func() *Refusal { return integer("top_logprobs", o["top_logprobs"], &top) },
		func() *Refusal { return atMost("top_logprobs", top, maxTopLogprobs) },
		func() *Refusal { return oneOf("truncation", o["truncation"], "auto", "disabled") },
		func() *Refusal {
			return oneOf("service_tier", o["service_tier"], "auto", "default", "flex", "scale", "priority")
		},
		func() *Refusal { return str("user", o["user"], nil) },
		func() *Refusal { return metadata(o["metadata"]) },
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

func (d *responsesReader) include() *Refusal {
	list, r := array("include", d.o["include"], "an array of strings")
	if r != nil {
		return r
	}
	for i, raw := range list {
		if r := oneOf(fmt.Sprintf("include[%d]", i), raw, includable()...); r != nil {
			return r
		}
		switch text(raw) {
		case "reasoning.encrypted_content":
			d.r.Encrypted = true
		case "message.output_text.logprobs":
			d.env.options.Logprobs = true
		}
	}
	return nil
}

func (d *responsesReader) streamOptions() *Refusal {
	raw := d.o["stream_options"]
	if absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return wrongType("stream_options", "an object", raw)
	}
	if !d.env.stream {
		return invalid("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	for key := range readObject(raw) {
		if key != "include_obfuscation" {
			return invalid("stream_options."+key, "unknown_parameter", "Unknown parameter: 'stream_options.%s'.", key)
		}
	}
	return nil
}

func (d *responsesReader) reasoning() *Refusal {
	raw := d.o["reasoning"]
	if absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return wrongType("reasoning", "an object", raw)
	}
	o := readObject(raw)
	d.r.Summary = !absent(o["summary"]) || !absent(o["generate_summary"])
	return firstOf(
		func() *Refusal {
			return oneOf("reasoning.effort", o["effort"], "none", "minimal", "low", "medium", "high", "xhigh", "max")
		},
		func() *Refusal {
			return oneOf("reasoning.summary", o["summary"], "concise", "detailed", "auto")
		},
	)
}

func (d *responsesReader) text() *Refusal {
	raw := d.o["text"]
	if absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return wrongType("text", "an object", raw)
	}
	o := readObject(raw)
	if r := oneOf("text.verbosity", o["verbosity"], "low", "medium", "high"); r != nil {
		return r
	}
	if absent(o["format"]) {
		return nil
	}
	if o["format"][0] != '{' {
		return wrongType("text.format", "an object", o["format"])
	}
	return d.env.options.readFormat("text.format", readObject(o["format"]))
}

func (d *responsesReader) checkFormat() *Refusal {
	c := d.r.Chat
	if c.env.options.Format != "json_object" || saysJSON(c.messages) {
		return nil
	}
	return invalid("input", "", "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
}

// previous puts the conversation so far before the input.
func (d *responsesReader) previous() *Refusal {
	const param = "previous_response_id"
	if c := d.o["conversation"]; !absent(c) {
		id := text(c)
		if c[0] == '{' {
			id = text(readObject(c)["id"])
		}
		if !absent(d.o[param]) {
			return invalid("", "mutually_exclusive_parameters", "Mutually exclusive parameters. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.")
		}
		return &Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Conversation with id '%s' not found.", id)}
	}
	var id string
	if r := str(param, d.o[param], &id); r != nil || absent(d.o[param]) {
		return r
	}
	if r := checkID(param, id, "resp"); r != nil {
		return r
	}
	if d.memory != nil {
		if messages, ok := d.memory.Response(id); ok {
			d.items.messages = slices.Clone(messages)
			return nil
		}
	}
	return invalid(param, "previous_response_not_found", "Previous response with id '%s' not found.", id)
}

func (d *responsesReader) input() *Refusal {
	raw := d.o["input"]
	d.items.memory = d.memory
	switch {
	case absent(raw) && absent(d.o["previous_response_id"]) && absent(d.o["prompt"]):
		return missing("input")
	case absent(raw):
		return d.items.check()
	case raw[0] == '"':
		d.items.add(harness.Message{Role: harness.RoleUser, Text: text(raw)})
		return d.items.check()
	case raw[0] != '[':
		return wrongType("input", "one of a string or array of input items", raw)
	}
	list, _ := array("input", raw, "")
	for i, item := range list {
		if r := d.items.read(fmt.Sprintf("input[%d]", i), item); r != nil {
			return r
		}
	}
	return d.items.check()
}

// messages returns the conversation, and keeps it.
func (d *responsesReader) messages() []harness.Message {
	d.r.Input = d.items.messages
	if d.instructions == "" {
		return d.r.Input
	}
	return append([]harness.Message{{Role: harness.RoleSystem, Text: d.instructions}}, d.r.Input...)
}

// checkID says what the provider refuses about an id that is to begin with
// prefix.
func checkID(param, id, prefix string) *Refusal {
	odd := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	if id == "" || strings.IndexFunc(id, odd) >= 0 {
		return invalid(param, "invalid_value", "Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", param, id)
	}
	if !strings.HasPrefix(id, prefix) {
		return invalid(param, "invalid_value", "Invalid '%s': '%s'. Expected an ID that begins with '%s'.", param, id, prefix)
	}
	return nil
}

// str reads a string; to may be nil.
func str(param string, raw json.RawMessage, to *string) *Refusal {
	if absent(raw) {
		return nil
	}
	if raw[0] != '"' {
		return wrongType(param, "a string", raw)
	}
	if to != nil {
		*to = text(raw)
	}
	return nil
}

// array reads an array; none at all is fine.
func array(param string, raw json.RawMessage, want string) ([]json.RawMessage, *Refusal) {
	if absent(raw) {
		return nil, nil
	}
	if raw[0] != '[' {
		return nil, wrongType(param, want, raw)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // has been checked
	return list, nil
}

// oneOf checks a word.
func oneOf(param string, raw json.RawMessage, words ...string) *Refusal {
	if r := str(param, raw, nil); r != nil || absent(raw) {
		return r
	}
	if slices.Contains(words, text(raw)) {
		return nil
	}
	return invalid(param, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", text(raw), wordList(words))
}

// wordList writes 'a', 'b', and 'c'.
func wordList(words []string) string {
	n := len(words)
	switch n {
	case 1:
		return "'" + words[0] + "'"
	case 2:
		return "'" + words[0] + "' and '" + words[1] + "'"
	}
	return "'" + strings.Join(words[:n-1], "', '") + "', and '" + words[n-1] + "'"
}

const (
	maxMetadata      = 16
	maxMetadataValue = 512
)

func metadata(raw json.RawMessage) *Refusal {
	if absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return wrongType("metadata", "an object", raw)
	}
	o := readObject(raw)
	if n := len(o); n > maxMetadata {
		return invalid("metadata", "object_above_max_properties", "Invalid 'metadata': too many properties. Expected an object with at most %d properties, but got an object with %d properties instead.", maxMetadata, n)
	}
	for key, v := range o {
		param := "metadata." + key
		if v[0] != '"' {
			return wrongType(param, "a string", v)
		}
		if n := utf8.RuneCountInString(text(v)); n > maxMetadataValue {
			return tooLong(param, maxMetadataValue, n)
		}
	}
	return nil
}
