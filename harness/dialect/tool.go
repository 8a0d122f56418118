// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/toolname"
)

// readTool reads one entry of tools, and says what the provider would refuse
// about it.
func readTool(path string, raw json.RawMessage) (harness.Tool, *Refusal) {
	if raw[0] != '{' {
		return harness.Tool{}, wrongType(path, "an object", raw)
	}
	o := readObject(raw)
	kind, function := o["type"], o["function"]
	switch {
	case absent(kind):
		return harness.Tool{}, missing(path + ".type")
	case text(kind) == "custom": // has no schema
		c := readObject(o["custom"])
		t := harness.Tool{Name: text(c["name"]), Description: text(c["description"])}
		return t, checkName(path+".custom.name", t.Name)
	case text(kind) != "function":
		return harness.Tool{}, invalid(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", text(kind))
	case absent(function):
		return harness.Tool{}, missing(path + ".function")
	case function[0] != '{':
		return harness.Tool{}, wrongType(path+".function", "an object", function)
	}
	return readFunction(path+".function", readObject(function))
}

func readFunction(path string, o object) (harness.Tool, *Refusal) {
	name, description, parameters := o["name"], o["description"], o["parameters"]
	t := harness.Tool{Name: text(name), Description: text(description), Schema: parameters}
	switch {
	case absent(name):
		return t, missing(path + ".name")
	case name[0] != '"':
		return t, wrongType(path+".name", "a string", name)
	case !absent(description) && description[0] != '"':
		return t, wrongType(path+".description", "a string", description)
	}
	if r := checkName(path+".name", t.Name); r != nil {
		return t, r
	}
	var strict bool
	if r := boolean(path+".strict", o["strict"], &strict); r != nil {
		return t, r
	}
	if len(parameters) == 0 {
		return t, nil
	}
	if parameters[0] != '{' {
		return t, wrongType(path+".parameters", "an object", parameters)
	}
	if msg := checkSchema(parameters, strict); msg != "" {
		return t, invalid(path+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': %s", t.Name, msg)
	}
	return t, nil
}

func checkName(path, name string) *Refusal {
	switch {
	case name == "":
		return invalid(path, "empty_string", "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", path)
	case len(name) > toolname.MaxLen:
		return tooLong(path, toolname.MaxLen, len(name))
	case !toolname.Valid(name):
		return badPattern(path)
	}
	return nil
}

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

func schemaTypes() []string {
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
		if !slices.Contains(schemaTypes(), t) {
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
