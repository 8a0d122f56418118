// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Check refuses a request that the endpoint cannot read, or cannot take apart;
// nil lets it through. o are the members of the request. Asked before the
// model is known, it looks at the name alone.
func (p *Profile) Check(a Ask, o map[string]json.RawMessage) *Answer {
	s := p.server
	if s == nil || s.wrong == nil {
		return nil
	}
	row := s.wrong(a, o)
	if m, ok := o["model"]; ok && m != nil && a.Dialect == Embeddings && s.plainEmbeds() && pythonType(m) != "str" {
		row = unexpected(fmt.Sprintf("'%s' object has no attribute 'strip'", pythonType(m)))
	}
	if row == nil {
		return nil
	}
	out := *row
	out.body = s.worded(out.body, out.status, a.Dialect)
	return s.answer(&out, "", "")
}

// pythonType is the name that Python has for the type of a value.
func pythonType(v json.RawMessage) string {
	switch b := bytes.TrimSpace(v); {
	case len(b) == 0 || b[0] == 'n':
		return "NoneType"
	case b[0] == '"':
		return "str"
	case b[0] == '{':
		return "dict"
	case b[0] == '[':
		return "list"
	case b[0] == 't' || b[0] == 'f':
		return "bool"
	case bytes.ContainsAny(b, ".eE"):
		return "float"
	}
	return "int"
}

// Truth reports whether Python takes a value for true.
func Truth(v json.RawMessage) bool {
	switch string(bytes.TrimSpace(v)) {
	case "", "null", "false", "0", "0.0", `""`, "[]", "{}":
		return false
	}
	return true
}

// saidIn is the member that has the conversation.
func saidIn(d Dialect) string {
	return map[Dialect]string{Chat: "messages", Messages: "messages", Responses: "input", Generate: "contents"}[d]
}

// wrongV3 is what 3.x refuses: names that are no text, and of what it converts
// all that it cannot take apart. [run] converted tells what that is.
// notConverted is the status of replies that cannot be written.
func wrongV3(converted func(Ask) bool, named *answerRow, notConverted int) func(Ask, map[string]json.RawMessage) *answerRow {
	return func(a Ask, o map[string]json.RawMessage) *answerRow {
		if a.Dialect == Embeddings {
			return nil
		}
		if m := o["model"]; a.Dialect != Generate && Truth(m) && pythonType(m) != "str" {
			return internal(named, fmt.Sprintf("'%s' object has no attribute 'strip'", pythonType(m)))
		}
		if a.Model == (Model{}) { // the name is all that was looked at so far
			return nil
		}
		if m, ok := o["metadata"]; ok && a.Model.Family == Claude && pythonType(m) != "dict" && strings.Contains(named.body, "$why") {
			return internal(named, fmt.Sprintf("'%s' object does not support item assignment", pythonType(m)))
		}
		if !converted(a) {
			return handedOnWrong(a, o, named)
		}
		if why := unreadable(a.Dialect, o); why != "" {
			return own(http.StatusBadRequest, "Failed to parse request: "+why)
		}
		if t, ok := o["tools"]; ok && a.Dialect == Responses && !a.Stream && pythonType(t) == "NoneType" {
			return own(notConverted, "Failed to convert response: 'NoneType' object is not iterable")
		}
		return nil
	}
}

// internal is an exception of 3.x that nobody thought of.
func internal(row *answerRow, why string) *answerRow {
	out := *row
	out.body = strings.ReplaceAll(out.body, "$why", why)
	return &out
}

// handedOnWrong refuses what is not even handed on: lists with items that are
// no objects.
func handedOnWrong(a Ask, o map[string]json.RawMessage, row *answerRow) *answerRow {
	for _, key := range []string{saidIn(a.Dialect), "tools"} {
		var list []json.RawMessage
		_ = json.Unmarshal(o[key], &list) // what is none has no items
		for _, v := range list {
			if kind := pythonType(v); kind != "dict" {
				return internal(row, fmt.Sprintf("'%s' object has no attribute 'get'", kind))
			}
		}
	}
	return nil
}

// unreadable says why a converter cannot take a request apart; "" when it can.
func unreadable(d Dialect, o map[string]json.RawMessage) string {
	if v, ok := o[saidIn(d)]; ok {
		switch kind := pythonType(v); {
		case d == Responses: // whose input may be anything
		case kind != "list" && kind != "str" && kind != "dict":
			return fmt.Sprintf("'%s' object is not iterable", kind)
		}
	}
	if v := o["tools"]; Truth(v) {
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil {
			list = []json.RawMessage{json.RawMessage(`"tools"`)}
		}
		for _, t := range list {
			if kind := pythonType(t); kind != "dict" {
				return fmt.Sprintf("Unsupported tool type='%s': '%[1]s' object has no attribute 'get'", kind)
			}
		}
	}
	if v := o["stream"]; d != Generate && pythonType(v) != "NoneType" && pythonType(v) != "bool" {
		return fmt.Sprintf("1 validation error(s): Expected bool at 'stream.enabled', got %s", pythonType(v))
	}
	if why := mistyped(d, o); why != "" {
		return "1 validation error(s): " + why
	}
	if d == Messages || d == Responses {
		var list []struct{ Role *string }
		_ = json.Unmarshal(o[saidIn(d)], &list) // what is none has no roles
		for i, m := range list {
			if m.Role != nil && !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, *m.Role) {
				return fmt.Sprintf("1 validation error(s): Value at 'messages[%d]' does not match any variant of SystemMessage | UserMessage | AssistantMessage | ToolMessage", i)
			}
		}
	}
	return ""
}

// mistyped says which setting is not of its type. Whole numbers will do for
// others.
func mistyped(d Dialect, o map[string]json.RawMessage) string {
	tokens := map[Dialect]string{Chat: "max_tokens max_completion_tokens", Messages: "max_tokens", Responses: "max_output_tokens", Generate: "maxOutputTokens"}[d]
	floats, ints := "temperature top_p", "top_k"
	switch d {
	case Chat, Responses:
		floats += " frequency_penalty presence_penalty"
		ints = "seed top_logprobs"
	case Generate:
		var config map[string]json.RawMessage
		_ = json.Unmarshal(o["generationConfig"], &config) // what is none has no settings
		o, floats, ints = config, "temperature topP frequencyPenalty presencePenalty", "topK seed"
	}
	wrong := func(names, as, want string, fine func(kind string) bool) string {
		for _, name := range strings.Fields(names) {
			if v, ok := o[name]; ok && pythonType(v) != "NoneType" && !fine(pythonType(v)) {
				if as == "" {
					as = name
				}
				return fmt.Sprintf("Expected %s at 'generation.%s', got %s", want, as, pythonType(v))
			}
		}
		return ""
	}
	whole := func(kind string) bool { return kind == "int" || kind == "bool" }
	number := func(kind string) bool { return whole(kind) || kind == "float" }
	return cmp.Or(wrong(floats, "", "float", number), wrong(tokens, "max_tokens", "int", whole), wrong(ints, "", "int", whole))
}

// unexpected is an exception that nobody thought of.
func unexpected(why string) *answerRow {
	return &answerRow{status: http.StatusInternalServerError, body: fmt.Sprintf(`{"error": "An unexpected error occurred: %s"}`, why)}
}

// wrongV2 is what 2.8.9 stumbles over. [run]
func wrongV2(a Ask, o map[string]json.RawMessage) *answerRow {
	if m, ok := o["model"]; ok && m != nil && pythonType(m) != "str" {
		return unexpected(fmt.Sprintf("'%s' object has no attribute 'strip'", pythonType(m)))
	}
	said := saidIn(a.Dialect)
	v, ok := o[said]
	if a.Model == (Model{}) { // the name is all that was looked at so far
		return nil
	}
	_, input := o["input"]
	_, prompt := o["prompt"]
	switch {
	case (a.Dialect == Embeddings || a.Dialect == OldEmbed) && !input && !prompt:
		return &answerRow{status: http.StatusBadRequest, body: `{"error": "Invalid input. Expected 'input' (openAI) or 'prompt' (argo) field."}`}
	case a.Dialect == Responses && !ok:
		return unexpected("'input'")
	case a.Model.Family == Claude && !a.Stream && (o["max_tokens"] != nil && pythonType(o["max_tokens"]) == "str" ||
		a.Dialect == Responses && o["max_output_tokens"] != nil && pythonType(o["max_output_tokens"]) == "str"):
		return unexpected("'>' not supported between instances of 'str' and 'int'")
	case said != "" && ok && (pythonType(v) == "NoneType" || pythonType(v) == "int" || pythonType(v) == "bool"):
		return unexpected(fmt.Sprintf("'%s' object is not iterable", pythonType(v)))
	}
	var list []json.RawMessage
	_ = json.Unmarshal(v, &list) // what is none has no items
	for _, item := range list {
		switch kind := pythonType(item); {
		case kind == "dict":
		case a.Model.Family == Claude && (a.Dialect == Chat || a.Dialect == Responses):
			return unexpected(fmt.Sprintf("'%s' object has no attribute 'get'", kind))
		case a.Dialect == Chat && kind == "int":
			return unexpected("argument of type 'int' is not iterable")
		}
	}
	return nil
}
