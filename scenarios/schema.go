// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// JSONSchema returns a JSON Schema of the files, for editors.
func JSONSchema() []byte {
	defs := map[string]any{}
	for _, o := range objects() {
		defs[o.name] = o.jsonSchema()
	}
	var byKind []any
	for _, k := range kinds() {
		byKind = append(byKind, map[string]any{
			"if": map[string]any{"required": []string{k}}, "then": map[string]any{"$ref": "#/$defs/" + escaped(k+" file")},
		})
	}
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "rehearse",
		"type": "object", "allOf": byKind, "$defs": defs,
	}
	b, err := exactjson.MarshalIndent(root, "  ")
	if err != nil {
		panic(fmt.Sprintf("scenarios: encoding the schema: %v", err)) // unreachable: maps of plain values
	}
	return b
}

func escaped(name string) string { return strings.ReplaceAll(name, " ", "%20") }

func (o *object) jsonSchema() map[string]any {
	properties := map[string]any{}
	var required []string
	for _, k := range o.keys {
		s := k.typ.jsonSchema()
		s["description"] = k.doc
		properties[k.name] = s
		if k.required {
			required = append(required, k.name)
		}
	}
	s := map[string]any{"type": "object", "description": o.doc, "properties": properties}
	if required != nil {
		s["required"] = required
	}
	if !o.open {
		s["additionalProperties"] = false
	}
	return s
}

func (t typ) jsonSchema() map[string]any {
	if len(t.alts) > 0 {
		var alts []any
		for _, a := range t.alts {
			alts = append(alts, a.jsonSchema())
		}
		return map[string]any{"anyOf": alts}
	}
	if t.object != "" {
		return map[string]any{"$ref": "#/$defs/" + escaped(t.object)}
	}
	s := map[string]any{}
	var types []string
	for _, k := range t.kinds {
		types = append(types, map[strictyaml.Kind]string{
			strictyaml.Bool: "boolean", strictyaml.Number: "number", strictyaml.String: "string",
			strictyaml.List: "array", strictyaml.Map: "object",
		}[k])
	}
	if t.integer {
		types = []string{"integer"}
	}
	switch len(types) {
	case 0:
	case 1:
		s["type"] = types[0]
	default:
		s["type"] = types
	}
	if t.oneOf != nil && len(types) == 1 {
		s["enum"] = t.oneOf
	}
	if t.pattern != "" {
		s["pattern"] = t.pattern
	}
	if t.elem != nil {
		elem := t.elem.jsonSchema()
		if slices.Contains(t.kinds, strictyaml.List) {
			s["items"] = elem
		} else {
			s["additionalProperties"] = elem
		}
	}
	if t.onePair {
		s["minProperties"], s["maxProperties"] = 1, 1
	}
	return s
}
