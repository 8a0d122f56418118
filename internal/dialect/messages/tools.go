// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

const (
	maxAnthropicName = 128
	maxAnthropicKey  = 64
	maxCallName      = 200
)

// tools reads tools and tool_choice.
func (a *reader) tools() {
	for i, raw := range a.list("tools", a.o["tools"]) {
		path := fmt.Sprintf("tools.%d", i)
		if len(raw) == 0 || raw[0] != '{' {
			a.fail("%s: Input should be a valid dictionary", path)
			continue
		}
		t := a.tool(path, dialect.ReadObject(raw))
		if slices.Contains(a.offered, t.Name) {
			a.fail("tools: Tool names must be unique.")
		}
		a.offered = append(a.offered, t.Name)
		a.req.Tools = append(a.req.Tools, t)
	}
	a.defined = slices.Clone(a.req.Tools)
	a.choice()
}

func (a *reader) tool(path string, o dialect.Object) harness.Tool {
	a.cacheMark(path, o)
	t := harness.Tool{Name: dialect.TextOf(o["name"]), Description: dialect.TextOf(o["description"]), Schema: o["input_schema"]}
	kind := dialect.TextOf(o["type"])
	switch {
	case dialect.Absent(o["type"]) || kind == "custom":
		path += ".custom"
	case strings.ContainsAny(kind, "0123456789") || kind == "mcp_toolset" || kind == "tool_search":
		return t // a tool of the provider's own, which has a date and no schema
	default:
		a.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'custom' and the provider's own tools", path, kind)
		return t
	}
	a.required(path+".name", o["name"])
	if !dialect.IsWord(t.Name, "_-", maxAnthropicName) {
		a.fail("%s.name: String should match pattern '^[a-zA-Z0-9_-]{1,%d}$'", path, maxAnthropicName)
	}
	if !dialect.Absent(o["description"]) {
		a.text(path+".description", o["description"])
	}
	if _, ok := o["parameters"]; ok {
		a.fail("%s.parameters: Extra inputs are not permitted", path)
	}
	a.inputSchema(path+".input_schema", o["input_schema"])
	return t
}

func (a *reader) inputSchema(path string, raw json.RawMessage) {
	if raw == nil {
		a.fail("%s: Field required", path)
		return
	}
	if raw[0] != '{' {
		a.fail("%s: Input should be a valid dictionary", path)
		return
	}
	s := dialect.ReadObject(raw)
	switch {
	case s["type"] == nil:
		a.fail("%s.type: Field required", path)
	case dialect.TextOf(s["type"]) != "object":
		a.fail("%s.type: Input should be 'object'", path)
	}
	for _, key := range []string{"oneOf", "allOf", "anyOf"} {
		if s[key] != nil {
			a.fail("%s: input_schema does not support oneOf, allOf, or anyOf at the top level", path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dialect.ReadObject(s["properties"]))) {
		if !dialect.IsWord(name, "_.-", maxAnthropicKey) {
			a.fail("%s.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,%d}$'", path, maxAnthropicKey)
		}
	}
	var v any
	if json.Unmarshal(raw, &v) == nil && !validSchema(v) {
		a.fail("%s: JSON schema is invalid. It must match JSON Schema draft 2020-12.", path)
	}
}

// validSchema checks a schema against the parts of draft 2020-12 that go wrong.
func validSchema(v any) bool {
	s, ok := v.(map[string]any)
	if !ok {
		_, ok = v.(bool)
		return ok
	}
	for key, v := range s {
		switch key {
		case "type":
			if !validType(v) {
				return false
			}
		case "properties", "$defs", "definitions", "patternProperties":
			props, ok := v.(map[string]any)
			if !ok {
				return false
			}
			for _, p := range props {
				if !validSchema(p) {
					return false
				}
			}
		case "items", "additionalProperties", "not", "contains", "if", "then", "else":
			if !validSchema(v) {
				return false
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			list, ok := v.([]any)
			if !ok || len(list) == 0 || slices.ContainsFunc(list, func(v any) bool { return !validSchema(v) }) {
				return false
			}
		case "required":
			list, ok := v.([]any)
			if !ok || slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok }) {
				return false
			}
		case "enum":
			if _, ok := v.([]any); !ok {
				return false
			}
		case "description", "title", "pattern", "format":
			if _, ok := v.(string); !ok {
				return false
			}
		}
	}
	return true
}

func validType(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.Contains(dialect.SchemaTypes(), v)
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(v any) bool {
			s, ok := v.(string)
			return !ok || !slices.Contains(dialect.SchemaTypes(), s)
		})
	}
	return false
}

// choice reads tool_choice.
func (a *reader) choice() {
	raw := a.o["tool_choice"]
	if dialect.Absent(raw) {
		return
	}
	c := a.dict("tool_choice", raw)
	if c == nil {
		return
	}
	a.serial = a.boolean("tool_choice.disable_parallel_tool_use", c["disable_parallel_tool_use"])
	switch kind := dialect.TextOf(c["type"]); kind {
	case "auto", "none":
		a.req.ToolChoice = kind
	case "any":
		a.req.ToolChoice = "required"
	case "tool":
		name := a.required("tool_choice.tool.name", c["name"])
		a.req.ToolChoice = name
		if name != "" && !slices.Contains(a.offered, name) {
			a.fail("Tool '%s' not found in provided tools", name)
		}
	case "":
		a.fail("tool_choice: Unable to extract tag using discriminator 'type'")
	default:
		a.fail("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'", kind)
	}
	if len(a.offered) == 0 {
		a.fail("tool_choice may only be specified while providing tools.")
	}
}
