// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
)

// Options are what a request asks of its reply, whatever the dialect.
type Options struct {
	// ToolChoice is none, auto, required, or the name of a tool.
	ToolChoice string
	// Serial says that parallel_tool_calls is false: at most one call.
	Serial bool
	// Choices is the number of replies, at least 1.
	Choices int
	// Stop are texts that end a reply before they occur in it.
	Stop []string
	// MaxTokens bounds the reply. 0 is no bound.
	MaxTokens int
	// Format is text, json_object or json_schema, which text is to match
	// Schema.
	Format string
	Schema json.RawMessage
	// Logprobs says that the probabilities of tokens are asked for.
	Logprobs bool
}

// Options returns what the request asks of its reply.
func (c *Chat) Options() Options {
	o := c.env.options
	o.ToolChoice, o.MaxTokens, o.Choices = c.env.toolChoice, c.env.maxTokens, c.Choices()
	if o.ToolChoice == "" {
		o.ToolChoice = "auto"
	}
	if o.Format == "" {
		o.Format = "text"
	}
	return o
}

const (
	maxStops       = 4
	maxChoices     = 128
	maxTopLogprobs = 20
)

// options reads what chat completions and the older completions share.
func (e *envelope) readOptions(o object) *Refusal {
	return firstOf(
		func() *Refusal { return stops(o["stop"], &e.options.Stop) },
		func() *Refusal { return atMost("n", e.choices, maxChoices) },
		func() *Refusal { return within("presence_penalty", o["presence_penalty"], -2, 2) },
		func() *Refusal { return within("frequency_penalty", o["frequency_penalty"], -2, 2) },
		func() *Refusal { return integer("seed", o["seed"], nil) },
	)
}

// chatOptions reads what only chat completions have.
func (e *envelope) chatOptions(o object) *Refusal {
	var parallel, logprobs bool
	var top int
	r := firstOf(
		func() *Refusal { return e.readOptions(o) },
		func() *Refusal { return boolean("logprobs", o["logprobs"], &logprobs) },
		func() *Refusal { return integer("top_logprobs", o["top_logprobs"], &top) },
		func() *Refusal { return atMost("top_logprobs", top, maxTopLogprobs) },
	)
	if r != nil {
		return r
	}
	if top > 0 && !logprobs {
		return invalid("top_logprobs", "", "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.")
	}
	e.options.Logprobs = logprobs
	if !absent(o["parallel_tool_calls"]) && json.Unmarshal(o["parallel_tool_calls"], &parallel) == nil {
		e.options.Serial = !parallel
	}
	if absent(o["response_format"]) {
		return nil
	}
	if o["response_format"][0] != '{' {
		return wrongType("response_format", "an object", o["response_format"])
	}
	return e.options.readFormat("response_format", readObject(o["response_format"]))
}

// readFormat reads response_format, or text.format of the responses endpoint,
// which has the parts of json_schema one level higher.
func (o *Options) readFormat(path string, f object) *Refusal {
	kind := text(f["type"])
	switch {
	case absent(f["type"]):
		return missing(path + ".type")
	case kind == "text", kind == "json_object":
		o.Format = kind
		return nil
	case kind != "json_schema":
		return invalid(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", kind)
	}
	o.Format = kind
	flat := path != "response_format"
	at, s := path, f
	if !flat {
		at += ".json_schema"
		if absent(f["json_schema"]) {
			return missing(at)
		}
		if f["json_schema"][0] != '{' {
			return wrongType(at, "an object", f["json_schema"])
		}
		s = readObject(f["json_schema"])
	}
	if absent(s["name"]) {
		return missing(at + ".name")
	}
	if r := checkName(at+".name", text(s["name"])); r != nil {
		return r
	}
	if absent(s["schema"]) {
		return missing(at + ".schema")
	}
	if s["schema"][0] != '{' {
		return wrongType(at+".schema", "an object", s["schema"])
	}
	var strict bool
	if r := boolean(at+".strict", s["strict"], &strict); r != nil {
		return r
	}
	o.Schema = s["schema"]
	if msg := checkSchema(o.Schema, strict); strict && msg != "" {
		param, code := path, ""
		if flat {
			param, code = at+".schema", "invalid_json_schema"
		}
		return invalid(param, code, "Invalid schema for response_format '%s': %s", text(s["name"]), msg)
	}
	return nil
}

// saysJSON reports whether the word json is in one of the messages, which the
// provider wants to see before it gives a json_object.
func saysJSON(messages []*Message) bool {
	for _, m := range messages {
		if m.role == harness.RoleTool {
			continue
		}
		d := m.Message()
		if bytes.Contains(bytes.ToLower([]byte(d.Text)), []byte("json")) {
			return true
		}
	}
	return false
}

// checkFormat says what the provider refuses about messages and format.
func (c *Chat) checkFormat() *Refusal {
	if c.env.options.Format != "json_object" || saysJSON(c.messages) {
		return nil
	}
	return invalid("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
}

// firstOf returns the first refusal.
func firstOf(checks ...func() *Refusal) *Refusal {
	for _, check := range checks {
		if r := check(); r != nil {
			return r
		}
	}
	return nil
}

func stops(raw json.RawMessage, to *[]string) *Refusal {
	switch {
	case absent(raw):
		return nil
	case raw[0] == '"':
		*to = []string{text(raw)}
		return nil
	case raw[0] != '[':
		return wrongType("stop", "one of an array of strings or string", raw)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return wrongType("stop", "one of an array of strings or string", raw)
	}
	if n := len(*to); n > maxStops {
		return tooMany("stop", maxStops, n)
	}
	return nil
}

func tooMany(param string, limit, got int) *Refusal {
	return invalid(param, "array_above_max_length",
		"Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", param, limit, got)
}

func atMost(param string, got, limit int) *Refusal {
	if got <= limit {
		return nil
	}
	return invalid(param, "integer_above_max_value", "Invalid '%s': integer above maximum value. Expected a value <= %d, but got %d instead.", param, limit, got)
}

func atLeast(param string, got, limit int) *Refusal {
	if got >= limit {
		return nil
	}
	return invalid(param, "integer_below_min_value", "Invalid '%s': integer below minimum value. Expected a value >= %d, but got %d instead.", param, limit, got)
}

// integer reads an integer; to may be nil.
func integer(param string, raw json.RawMessage, to *int) *Refusal {
	if absent(raw) {
		return nil
	}
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil {
		return wrongType(param, "an integer", raw)
	}
	if to != nil {
		*to = int(n)
	}
	return nil
}

// within checks a decimal.
func within(param string, raw json.RawMessage, low, high float64) *Refusal {
	if absent(raw) {
		return nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return wrongType(param, "a decimal", raw)
	}
	if f > high {
		return invalid(param, "decimal_above_max_value", "Invalid '%s': decimal above maximum value. Expected a value <= %v, but got %s instead.", param, high, raw)
	}
	if f < low {
		return invalid(param, "decimal_below_min_value", "Invalid '%s': decimal below minimum value. Expected a value >= %v, but got %s instead.", param, low, raw)
	}
	return nil
}
