// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func pathList(path []string) string {
	quoted := make([]string, len(path))
	for i, p := range path {
		quoted[i] = "'" + p + "'"
	}
	if len(quoted) == 1 {
		return "(" + quoted[0] + ",)"
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// Shape is what a value of a request may have in it, at every depth. The zero
// shape is anything.
type Shape struct {
	Keys  map[string]Shape // of an object
	Kinds map[string]Shape // of an object, by its type; other kinds may be anything
	Kind  string           // of an object without a type
	Open  bool             // other keys are checked elsewhere
}

// Having makes the shape of an object: its keys, and what some of them hold.
func Having(keys string, holds map[string]Shape) Shape {
	s := Shape{Keys: map[string]Shape{}}
	for _, key := range strings.Fields(keys) {
		s.Keys[key] = holds[key]
	}
	return s
}

// Unknown returns the path of the first key below path that a value may not
// have; "" is none. Lists have the shape of their items. join appends a member
// or an item to a path, and inner the kind of an object.
func (s Shape) Unknown(path string, raw json.RawMessage, join func(path, key string, item bool) string, inner func(path, kind string) string) string {
	if Absent(raw) || s.Keys == nil && s.Kinds == nil {
		return ""
	}
	if raw[0] == '[' {
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return ""
		}
		for i, item := range items {
			if p := s.Unknown(join(path, fmt.Sprint(i), true), item, join, inner); p != "" {
				return p
			}
		}
		return ""
	}
	if raw[0] != '{' {
		return ""
	}
	o := ReadObject(raw)
	if s.Kinds != nil {
		kind := TextOf(o["type"])
		if Absent(o["type"]) {
			kind = s.Kind
		}
		s, path = s.Kinds[kind], inner(path, kind)
		if s.Keys == nil {
			return ""
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		below, ok := s.Keys[key]
		if !ok && !s.Open {
			return join(path, key, false)
		}
		if p := below.Unknown(join(path, key, false), o[key], join, inner); p != "" {
			return p
		}
	}
	return ""
}

// SchemaProblem says why OpenAI refuses a function's parameters, and with it
// the whole request; "" when it takes them.
func SchemaProblem(parameters json.RawMessage) string { return checkSchema(parameters, false) }

// checkSchema says what the provider finds wrong with a function's
// parameters; "" is nothing.
func checkSchema(raw json.RawMessage, strict bool) string {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return err.Error()
	}
	switch t := root["type"].(type) {
	case nil:
		return `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`
	case string:
		if t != "object" {
			return fmt.Sprintf(`schema must be a JSON Schema of 'type: "object"', got 'type: %q'.`, t)
		}
	default:
		return `schema must be a JSON Schema of 'type: "object"'.`
	}
	if _, ok := root["properties"]; !ok {
		return "In context=(), object schema missing properties."
	}
	return checkSubschema(root, nil, strict)
}

func SchemaTypes() []string {
	return []string{"object", "array", "string", "number", "integer", "boolean", "null"}
}

// checkSubschema checks one schema and those in it. path is where it stands.
func checkSubschema(s map[string]any, path []string, strict bool) string {
	in := "In context=" + pathList(path) + ", "
	if len(path) == 0 {
		in = "In context=(), "
	}
	types, msg := typesOf(s, in)
	if msg != "" {
		return msg
	}
	if slices.Contains(types, "array") && s["items"] == nil {
		return in + "array schema missing items."
	}
	if r, ok := s["required"]; ok {
		list, ok := r.([]any)
		if !ok || slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok }) {
			return in + "'required' is not an array of strings."
		}
	}
	if e, ok := s["enum"]; ok {
		if _, ok := e.([]any); !ok {
			return in + "'enum' is not an array."
		}
	}
	props, ok := s["properties"].(map[string]any)
	if !ok && s["properties"] != nil {
		return in + "'properties' is not of type 'object'."
	}
	if strict && slices.Contains(types, "object") {
		if msg := checkStrict(s, props, in); msg != "" {
			return msg
		}
	}
	return checkChildren(s, props, path, strict)
}

func typesOf(s map[string]any, in string) ([]string, string) {
	var types []string
	switch t := s["type"].(type) {
	case nil:
	case string:
		types = []string{t}
	case []any:
		for _, v := range t {
			name, _ := v.(string)
			types = append(types, name)
		}
	default:
		return nil, in + "'type' is neither a string nor an array."
	}
	for _, t := range types {
		if !slices.Contains(SchemaTypes(), t) {
			return nil, fmt.Sprintf("%s'%s' is not valid under any of the given schemas.", in, t)
		}
	}
	return types, ""
}

func checkStrict(s, props map[string]any, in string) string {
	if s["additionalProperties"] != false {
		return in + "'additionalProperties' is required to be supplied and to be false."
	}
	list, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if !slices.Contains(list, any(name)) {
			return fmt.Sprintf("%s'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", in, name)
		}
	}
	return ""
}

// checkChildren checks the schemas that stand in s.
func checkChildren(s, props map[string]any, path []string, strict bool) string {
	child := func(v any, at ...string) string {
		sub := append(slices.Clone(path), at...)
		switch v := v.(type) {
		case map[string]any:
			return checkSubschema(v, sub, strict)
		case bool, nil, []any: // an array is the older form of items
			return ""
		}
		return "In context=" + pathList(sub) + ", schema is not of type 'object', 'boolean'."
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if msg := child(props[name], "properties", name); msg != "" {
			return msg
		}
	}
	if msg := child(s["items"], "items"); msg != "" {
		return msg
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := s[key].([]any)
		for i, v := range list {
			if msg := child(v, key, fmt.Sprint(i)); msg != "" {
				return msg
			}
		}
	}
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := s[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(defs)) {
			if msg := child(defs[name], key, name); msg != "" {
				return msg
			}
		}
	}
	return ""
}
