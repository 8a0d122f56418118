// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

const maxGeminiName = 64

// geminiName reports whether the provider takes the name of a function.
func geminiName(s string) bool {
	if !dialect.IsWord(s, "_.:-", maxGeminiName) {
		return false
	}
	c := s[0]
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// tools reads the function declarations. Other tools are the provider's own.
func (g *reader) tools() {
	seen := make(map[string]bool)
	for i, raw := range g.list(g.o["tools"]) {
		path := fmt.Sprintf("tools[%d]", i)
		o := g.dict(path, raw)
		g.known(path, o, "functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext",
			"computerUse", "fileSearch", "googleMaps", "mcpServers", "enterpriseWebSearch", "retrieval")
		for n, raw := range g.list(o.Field("functionDeclarations")) {
			t := g.declaration(fmt.Sprintf("%s.function_declarations[%d]", path, n), raw)
			if seen[t.Name] {
				g.fail("Duplicate function declaration found: %s", t.Name)
			}
			seen[t.Name] = true
			g.req.Tools = append(g.req.Tools, t)
		}
	}
}

func (g *reader) declaration(path string, raw json.RawMessage) harness.Tool {
	o := g.dict(path, raw)
	g.known(path, o, "name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior")
	t := harness.Tool{Name: g.text(path+".name", o["name"]), Description: g.text(path+".description", o["description"])}
	if !geminiName(t.Name) {
		g.fail("* %s.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "+
			"underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of %d.\n", request(path), maxGeminiName)
	}
	own, standard := o["parameters"], o.Field("parametersJsonSchema")
	switch {
	case !dialect.Absent(own) && !dialect.Absent(standard):
		g.fail("* %s: only one of parameters and parameters_json_schema may be set.\n", request(path))
		t.Schema = standard
	case !dialect.Absent(standard):
		t.Schema = standard
		if standard[0] != '{' {
			g.wrong(path, "Invalid value at '%s.parameters_json_schema', expected an object.", path)
		}
	case !dialect.Absent(own):
		t.Schema = own
		g.openSchema(path+".parameters", own)
	}
	return t
}

// openSchema checks a schema of the provider's own kind, which is a part of
// OpenAPI's and has no other fields.
func (g *reader) openSchema(path string, raw json.RawMessage) {
	if raw[0] != '{' {
		g.wrong(path, "Invalid value at '%s', expected an object.", path)
		return
	}
	o := dialect.ReadObject(raw)
	g.known(path, o, "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties",
		"required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf",
		"propertyOrdering", "default", "items", "minimum", "maximum")
	if t := o["type"]; !dialect.Absent(t) && t[0] == '[' {
		g.wrong(path, "Invalid JSON payload received. Unknown name \"type\" at '%s': Proto field is not repeating, cannot start list.", path)
		return
	}
	kind := strings.ToUpper(g.text(path+".type", o["type"]))
	if !dialect.Absent(o["type"]) && !slices.Contains([]string{"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED"}, kind) {
		g.wrong(path+".type", "Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %s", path, o["type"])
	}
	props := dialect.ReadObject(o["properties"])
	if p := o["properties"]; !dialect.Absent(p) && p[0] != '{' {
		g.wrong(path+".properties", "Invalid value at '%s.properties', expected an object.", path)
	}
	if kind == "OBJECT" && len(props) == 0 {
		g.fail("* %s.properties: should be non-empty for OBJECT type\n", request(path))
	}
	if kind == "ARRAY" && dialect.Absent(o["items"]) {
		g.fail("* %s.items: missing field.\n", request(path))
	}
	if !dialect.Absent(o["enum"]) && kind != "STRING" {
		g.fail("* %s.enum: only allowed for STRING type\n", request(path))
	}
	for i, raw := range g.list(o["enum"]) {
		g.text(fmt.Sprintf("%s.enum[%d]", path, i), raw)
	}
	for _, key := range []string{"properties", "required"} {
		if !dialect.Absent(o[key]) && kind != "OBJECT" {
			g.fail("* %s.%s: only allowed for OBJECT type\n", request(path), key)
		}
	}
	for i, raw := range g.list(o["required"]) {
		if name := g.text(fmt.Sprintf("%s.required[%d]", path, i), raw); props[name] == nil {
			g.fail("* %s.required[%d]: property is not defined\n", request(path), i)
		}
	}
	for i, name := range slices.Sorted(maps.Keys(props)) {
		at := fmt.Sprintf("%s.properties[%d].value", path, i)
		if dialect.Absent(props[name]) {
			continue
		}
		g.openSchema(at, props[name])
	}
	if !dialect.Absent(o["items"]) {
		g.openSchema(path+".items", o["items"])
	}
	for i, raw := range g.list(o.Field("anyOf")) {
		if !dialect.Absent(raw) {
			g.openSchema(fmt.Sprintf("%s.any_of[%d]", path, i), raw)
		}
	}
}

// jsonSchema is a schema of the provider's own kind as JSON Schema.
func jsonSchema(raw json.RawMessage) json.RawMessage {
	o := dialect.ReadObject(raw)
	if o == nil {
		return json.RawMessage(`{}`) // refused already
	}
	delete(o, "propertyOrdering")
	delete(o, "property_ordering")
	if kind := dialect.TextOf(o["type"]); kind != "" {
		kind = strings.ToLower(kind)
		var types any = kind
		if string(o["nullable"]) == "true" {
			types = []string{kind, "null"}
		}
		o["type"], _ = json.Marshal(types) // texts
		if kind == "type_unspecified" {
			delete(o, "type")
		}
	}
	delete(o, "nullable")
	for _, key := range []string{"items", "anyOf", "any_of", "properties"} {
		inner := o[key]
		switch {
		case dialect.Absent(inner):
			continue
		case key == "items":
			o[key] = jsonSchema(inner)
		case key == "properties":
			props := dialect.ReadObject(inner)
			for name, p := range props {
				props[name] = jsonSchema(p)
			}
			o[key], _ = json.Marshal(props) // of what was JSON
		default:
			var list []json.RawMessage
			_ = json.Unmarshal(inner, &list) // anything that is not a list was refused
			for i := range list {
				list[i] = jsonSchema(list[i])
			}
			delete(o, key)
			o["anyOf"], _ = json.Marshal(list)
		}
	}
	out, _ := json.Marshal(o)
	return out
}

// toolConfig reads which functions may be called.
func (g *reader) toolConfig() {
	const path = "tool_config.function_calling_config"
	o := g.dict("tool_config", g.o.Field("toolConfig"))
	g.known("tool_config", o, "functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations")
	raw := o.Field("functionCallingConfig")
	if dialect.Absent(raw) {
		return
	}
	c := g.dict(path, raw)
	g.known(path, c, "mode", "allowedFunctionNames", "streamFunctionCallArguments")
	mode := strings.ToUpper(g.text(path+".mode", c["mode"]))
	var names []string
	for i, raw := range g.list(c.Field("allowedFunctionNames")) {
		names = append(names, g.text(fmt.Sprintf("%s.allowed_function_names[%d]", path, i), raw))
	}
	switch mode {
	case "", "MODE_UNSPECIFIED", "AUTO":
		g.req.ToolChoice = "auto"
	case "NONE":
		g.req.ToolChoice = "none"
	case "VALIDATED":
		g.req.ToolChoice = "auto"
	case "ANY":
		g.req.ToolChoice = "required"
		if len(names) == 1 {
			g.req.ToolChoice = names[0]
		}
	default:
		g.wrong(path+".mode", "Invalid value at '%s.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), %s", path, c["mode"])
	}
	if len(g.req.Tools) == 0 {
		g.fail("Function calling config is set without function_declarations.")
	}
	if len(names) > 0 && mode != "ANY" && mode != "VALIDATED" {
		g.fail("* %s.allowed_function_names: should be set only when the function calling mode is ANY.\n", request(path))
	}
	for _, name := range names {
		if !slices.ContainsFunc(g.req.Tools, func(t harness.Tool) bool { return t.Name == name }) {
			g.fail("* %s.allowed_function_names: function %q is not declared in tools.\n", request(path), name)
		}
	}
}
