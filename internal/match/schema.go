// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Schema is a compiled JSON Schema (draft 2020-12 or 7).
type Schema = schema.Schema

// CompileSchema compiles a JSON Schema, see [schema.Compile].
func CompileSchema(v value.Value) (*Schema, error) { return schema.Compile(v) }

// misspelt returns a keyword of a schema that is close to one that there is.
// Annotations of any name are allowed, but a slip of the pen would silently
// check nothing.
func misspelt(s value.Value) (word, meant string) {
	known := keywords()
	for _, m := range s.Members() {
		if strings.HasPrefix(m.Key, "$") || slices.Contains(known, m.Key) {
			continue
		}
		if meant := prose.Suggest(m.Key, known); meant != "" {
			return m.Key, meant
		}
	}
	return "", ""
}

// unknownType returns the first type in a schema that is none: no value fits it.
func unknownType(s value.Value) (at value.Path, name string) {
	value.Walk(s, func(p value.Path, v value.Value) bool {
		switch p.Key() {
		case "enum", "const", "default", "examples", "dependentRequired", "dependencies": // data and names
			return false
		case "type":
			for _, t := range append(v.Items(), v) {
				if at == nil && t.Kind() == value.String && !slices.Contains(types, t.Str()) {
					at, name = slices.Clone(p), t.Str()
				}
			}
		}
		return at == nil
	})
	return at, name
}

var types = []string{"null", "boolean", "integer", "number", "string", "array", "object"}

func keywords() []string {
	return strings.Fields(`type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum
		maxLength minLength pattern items additionalItems prefixItems contains maxContains minContains
		maxItems minItems uniqueItems properties patternProperties additionalProperties propertyNames
		required maxProperties minProperties dependencies dependentRequired dependentSchemas allOf
		anyOf oneOf not if then else unevaluatedItems unevaluatedProperties definitions
		title description default examples format deprecated readOnly writeOnly contentEncoding
		contentMediaType contentSchema nullable id example`)
}
