// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

func (e *Envelope) StreamOptions(raw json.RawMessage) *Refusal {
	if Absent(raw) {
		return nil
	}
	if raw[0] != '{' {
		return WrongType("stream_options", "an object", raw)
	}
	if !e.Stream {
		return Invalid("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	return CheckBoolean("stream_options.include_usage", ReadObject(raw)["include_usage"], &e.IncludeUsage)
}

// CheckDecimal reads a decimal within bounds; to may be nil.
func CheckDecimal(param string, raw json.RawMessage, low, high float64, to **float64) *Refusal {
	if Absent(raw) {
		return nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return WrongType(param, "a decimal", raw)
	}
	if f > high {
		return Invalid(param, "decimal_above_max_value", "Invalid '%s': decimal above maximum value. Expected a value <= %v, but got %s instead.", param, high, raw)
	}
	if f < low {
		return Invalid(param, "decimal_below_min_value", "Invalid '%s': decimal below minimum value. Expected a value >= %v, but got %s instead.", param, low, raw)
	}
	if to != nil {
		*to = &f
	}
	return nil
}

// CheckPositive reads a positive integer.
func CheckPositive(param string, raw json.RawMessage, to *int) *Refusal {
	if r := CheckInteger(param, raw, to); r != nil || Absent(raw) {
		return r
	}
	return CheckAtLeast(param, *to, 1)
}

func CheckBoolean(param string, raw json.RawMessage, to *bool) *Refusal {
	if Absent(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return WrongType(param, "a boolean", raw)
	}
	return nil
}

const MaxTools = 128

const (
	maxStops       = 4
	maxChoices     = 128
	MaxTopLogprobs = 20
)

// ReadSharedOptions reads what chat completions and the older completions share.
func (e *Envelope) ReadSharedOptions(o Object) *Refusal {
	return FirstOf(
		func() *Refusal { return checkStops(o["stop"], &e.Options.Stop) },
		func() *Refusal { return CheckAtMost("n", e.Choices, maxChoices) },
		func() *Refusal { return CheckDecimal("presence_penalty", o["presence_penalty"], -2, 2, nil) },
		func() *Refusal { return CheckDecimal("frequency_penalty", o["frequency_penalty"], -2, 2, nil) },
		func() *Refusal {
			if !Absent(o["seed"]) {
				e.Seed = string(o["seed"])
			}
			return CheckInteger("seed", o["seed"], nil)
		},
	)
}

// ReadFormat reads response_format, or text.format of the responses endpoint,
// which has the parts of json_schema one level higher.
func (o *Options) ReadFormat(path string, f Object) *Refusal {
	kind := TextOf(f["type"])
	switch {
	case Absent(f["type"]):
		return Missing(path + ".type")
	case kind == "text", kind == "json_object":
		o.Format = kind
		return nil
	case kind != "json_schema":
		return Invalid(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", kind)
	}
	o.Format = kind
	flat := path != "response_format"
	at, s := path, f
	if !flat {
		at += ".json_schema"
		if Absent(f["json_schema"]) {
			return Missing(at)
		}
		if f["json_schema"][0] != '{' {
			return WrongType(at, "an object", f["json_schema"])
		}
		s = ReadObject(f["json_schema"])
	}
	if Absent(s["name"]) {
		return Missing(at + ".name")
	}
	if r := CheckName(at+".name", TextOf(s["name"])); r != nil {
		return r
	}
	if Absent(s["schema"]) {
		return Missing(at + ".schema")
	}
	if s["schema"][0] != '{' {
		return WrongType(at+".schema", "an object", s["schema"])
	}
	var strict bool
	if r := CheckBoolean(at+".strict", s["strict"], &strict); r != nil {
		return r
	}
	o.Schema = s["schema"]
	if msg := checkSchema(o.Schema, strict); strict && msg != "" {
		param, code := path, ""
		if flat {
			param, code = at+".schema", "invalid_json_schema"
		}
		return Invalid(param, code, "Invalid schema for response_format '%s': %s", TextOf(s["name"]), msg)
	}
	return nil
}

// SaysJSON reports whether the word json is in one of the messages, which the
// provider wants to see before it gives a json_object.
func SaysJSON(messages []*Message) bool {
	for _, m := range messages {
		if m.Speaker == harness.RoleTool {
			continue
		}
		d := m.Message()
		if bytes.Contains(bytes.ToLower([]byte(d.Text)), []byte("json")) {
			return true
		}
	}
	return false
}

// FirstOf returns the first refusal.
func FirstOf(checks ...func() *Refusal) *Refusal {
	for _, check := range checks {
		if r := check(); r != nil {
			return r
		}
	}
	return nil
}

func checkStops(raw json.RawMessage, to *[]string) *Refusal {
	switch {
	case Absent(raw):
		return nil
	case raw[0] == '"':
		*to = []string{TextOf(raw)}
		return nil
	case raw[0] != '[':
		return WrongType("stop", "one of an array of strings or string", raw)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return WrongType("stop", "one of an array of strings or string", raw)
	}
	if n := len(*to); n > maxStops {
		return TooMany("stop", maxStops, n)
	}
	return nil
}

func TooMany(param string, limit, got int) *Refusal {
	return Invalid(param, "array_above_max_length",
		"Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", param, limit, got)
}

func CheckAtMost(param string, got, limit int) *Refusal {
	if got <= limit {
		return nil
	}
	return Invalid(param, "integer_above_max_value", "Invalid '%s': integer above maximum value. Expected a value <= %d, but got %d instead.", param, limit, got)
}

func CheckAtLeast(param string, got, limit int) *Refusal {
	if got >= limit {
		return nil
	}
	return Invalid(param, "integer_below_min_value", "Invalid '%s': integer below minimum value. Expected a value >= %d, but got %d instead.", param, limit, got)
}

// CheckInteger reads an integer; to may be nil.
func CheckInteger(param string, raw json.RawMessage, to *int) *Refusal {
	if Absent(raw) {
		return nil
	}
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil {
		return WrongType(param, "an integer", raw)
	}
	if to != nil {
		*to = int(n)
	}
	return nil
}

// Coolable reports whether a model takes a temperature.
func Coolable(model string, temperature *float64) bool {
	return temperature == nil || *temperature == 1 || !Thinks(model)
}

// Thinks reports whether a model is one of OpenAI's that think and cannot be
// told not to.
func Thinks(model string) bool {
	return regexp.MustCompile(`^(o[1-9]|gpt-5)(-mini|-nano|-pro|-codex)?(-[0-9]{4}-[0-9]{2}-[0-9]{2})?$`).MatchString(model)
}

// UnknownParameter is what OpenAI says of a key that a member of o may not have.
func UnknownParameter(o Object, members map[string]Shape, prefix string) *Refusal {
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if p := members[key].Unknown(prefix+key, o[key], OpenAIPath, func(path, _ string) string { return path }); p != "" {
			return Invalid(p, "unknown_parameter", "Unknown parameter: '%s'.", p)
		}
	}
	return nil
}

func OpenAIPath(path, key string, item bool) string {
	if item {
		return path + "[" + key + "]"
	}
	return path + "." + key
}

func ReadFunction(path string, o Object) (harness.Tool, *Refusal) {
	name, description, parameters := o["name"], o["description"], o["parameters"]
	t := harness.Tool{Name: TextOf(name), Description: TextOf(description), Schema: parameters}
	switch {
	case Absent(name):
		return t, Missing(path + ".name")
	case name[0] != '"':
		return t, WrongType(path+".name", "a string", name)
	case !Absent(description) && description[0] != '"':
		return t, WrongType(path+".description", "a string", description)
	}
	if r := CheckName(path+".name", t.Name); r != nil {
		return t, r
	}
	var strict bool
	if r := CheckBoolean(path+".strict", o["strict"], &strict); r != nil {
		return t, r
	}
	if len(parameters) == 0 {
		return t, nil
	}
	if parameters[0] != '{' {
		return t, WrongType(path+".parameters", "an object", parameters)
	}
	if msg := checkSchema(parameters, strict); msg != "" {
		return t, Invalid(path+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': %s", t.Name, msg)
	}
	return t, nil
}

func CheckName(path, name string) *Refusal {
	switch {
	case name == "":
		return Invalid(path, "empty_string", "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", path)
	case len(name) > toolname.MaxLen:
		return TooLongString(path, toolname.MaxLen, len(name))
	case !toolname.Valid(name):
		return BadPattern(path)
	}
	return nil
}

// ReadModel reads the model's name.
func (e *Envelope) ReadModel(raw json.RawMessage) *Refusal {
	switch {
	case Absent(raw):
	case raw[0] != '"':
		return WrongType("model", "a string", raw)
	default:
		e.Model = TextOf(raw)
	}
	if e.Model == "" {
		return Invalid("", "", "you must provide a model parameter")
	}
	return nil
}

// ReadBody reads a body that is to be one JSON object.
func ReadBody(body []byte) (Object, *Refusal) {
	if err := CheckJSON(body); err != nil {
		return nil, NotJSON(err)
	}
	return ReadObject(body), nil
}

// CheckString reads a string; to may be nil.
func CheckString(param string, raw json.RawMessage, to *string) *Refusal {
	if Absent(raw) {
		return nil
	}
	if raw[0] != '"' {
		return WrongType(param, "a string", raw)
	}
	if to != nil {
		*to = TextOf(raw)
	}
	return nil
}

// OneOf checks a word.
func OneOf(param string, raw json.RawMessage, words ...string) *Refusal {
	if r := CheckString(param, raw, nil); r != nil || Absent(raw) {
		return r
	}
	if slices.Contains(words, TextOf(raw)) {
		return nil
	}
	return Invalid(param, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", TextOf(raw), WordList(words))
}

// WordList writes 'a', 'b', and 'c'.
func WordList(words []string) string {
	n := len(words)
	switch n {
	case 1:
		return "'" + words[0] + "'"
	case 2:
		return "'" + words[0] + "' and '" + words[1] + "'"
	}
	return "'" + strings.Join(words[:n-1], "', '") + "', and '" + words[n-1] + "'"
}
