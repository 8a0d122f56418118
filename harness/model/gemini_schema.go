// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// geminiSchema writes a JSON Schema in the schema language of the API, a part of
// OpenAPI's. left are the keys that were left out, sorted. ok is false when the
// language cannot say what the schema does. A tool without parameters has no
// schema: nil.
func geminiSchema(raw json.RawMessage) (schema json.RawMessage, left []string, ok bool) {
	root, err := value.Parse(raw)
	if err != nil {
		return nil, nil, false
	}
	c := &schemaConverter{root: root}
	if props, _ := root.Get("properties"); props.Len() == 0 && !c.refers(root) {
		return nil, nil, !schemaOpen(root)
	}
	out := c.schema(root, nil)
	if c.fails {
		return nil, nil, false
	}
	slices.Sort(c.left)
	return out.Append(nil), slices.Compact(c.left), true
}

type schemaConverter struct {
	root  value.Value
	left  []string
	fails bool
}

// schemaKept are the keys that the API takes as JSON Schema has them.
func schemaKept() []string {
	return []string{
		"title", "description", "nullable", "maxItems", "minItems", "minProperties", "maxProperties",
		"minLength", "maxLength", "pattern", "example", "propertyOrdering", "default", "minimum", "maximum",
	}
}

// schemaSilent are the keys that say nothing of the values.
func schemaSilent() []string {
	return []string{"$schema", "$id", "$comment", "$defs", "definitions", "examples"}
}

// refers reports whether a schema is said elsewhere, or in parts.
func (c *schemaConverter) refers(v value.Value) bool {
	return slices.ContainsFunc([]string{"$ref", "anyOf", "oneOf", "allOf"}, func(key string) bool { _, ok := v.Get(key); return ok })
}

// schemaOpen reports whether an object may have any members: it has none of its own
// and does not say that it takes no others.
func schemaOpen(v value.Value) bool {
	more, ok := v.Get("additionalProperties")
	return ok && (more.Kind() == value.Object || more.Bool())
}

// schema converts one schema; within are the references that led to it.
func (c *schemaConverter) schema(v value.Value, within []string) value.Value {
	if v.Kind() != value.Object {
		c.fails = true // any value, or none
		return v
	}
	if ref, ok := v.Get("$ref"); ok {
		return c.referred(v, ref.Str(), within)
	}
	if all, ok := v.Get("allOf"); ok {
		refs := slices.DeleteFunc(slices.Clone(all.Items()), func(v value.Value) bool { _, ok := v.Get("$ref"); return !ok })
		c.fails = c.fails || len(refs) > 1
		return c.schema(schemaMerged(v, all.Items()), within)
	}
	kinds, nullable := schemaTypes(v)
	var out []value.Member
	var branches []value.Value
	for _, m := range v.Members() {
		switch m.Key {
		case "type", "required", "enum", "const", "format", "properties", "items":
		case "anyOf", "oneOf":
			for _, b := range m.Value.Items() {
				if t, _ := b.Get("type"); t.Str() == "null" {
					nullable = true
					continue
				}
				branches = append(branches, b)
			}
		default:
			switch {
			case slices.Contains(schemaKept(), m.Key):
				out = append(out, m)
			case !slices.Contains(schemaSilent(), m.Key):
				c.left = append(c.left, m.Key)
			}
		}
	}
	switch {
	case len(branches) == 1: // what is left of a value or null
		return schemaWithNull(c.schema(schemaMerged(schemaWithout(v, "anyOf", "oneOf"), branches), within), nullable)
	case len(branches) == 0 && len(kinds) > 1:
		for _, kind := range kinds {
			branches = append(branches, schemaWith(v, "type", value.StringOf(kind)))
		}
		return schemaWithNull(value.ObjectOf(value.Member{Key: "anyOf", Value: c.each(branches, within)}), nullable)
	case len(branches) > 0:
		return schemaWithNull(value.ObjectOf(append(out, value.Member{Key: "anyOf", Value: c.each(branches, within)})...), nullable)
	case len(kinds) == 0:
		c.fails = true // a value of any type
		return v
	}
	out = append([]value.Member{{Key: "type", Value: value.StringOf(strings.ToUpper(kinds[0]))}}, out...)
	return schemaWithNull(value.ObjectOf(append(out, c.ofKind(v, kinds[0], within)...)...), nullable)
}

// ofKind are the members that only some types have.
func (c *schemaConverter) ofKind(v value.Value, kind string, within []string) (out []value.Member) {
	add := func(key string, to value.Value) { out = append(out, value.Member{Key: key, Value: to}) }
	switch kind {
	case "object":
		props, _ := v.Get("properties")
		if props.Len() == 0 {
			c.fails = true
			return nil
		}
		var list []value.Member
		for _, p := range props.Members() {
			list = append(list, value.Member{Key: p.Key, Value: c.schema(p.Value, within)})
		}
		add("properties", value.ObjectOf(list...))
		var required []value.Value
		if names, ok := v.Get("required"); ok {
			for _, name := range names.Items() {
				if _, known := props.Get(name.Str()); known {
					required = append(required, name)
				}
			}
		}
		if required != nil {
			add("required", value.ArrayOf(required...))
		}
	case "array":
		items, ok := v.Get("items")
		if !ok {
			c.fails = true
			return nil
		}
		add("items", c.schema(items, within))
	}
	enum, ok := v.Get("enum")
	if only, is := v.Get("const"); is && !ok {
		enum, ok = value.ArrayOf(only), true
	}
	if ok {
		texts := slices.DeleteFunc(slices.Clone(enum.Items()), func(v value.Value) bool { return v.Kind() != value.String })
		if kind == "string" && len(texts) > 0 {
			add("enum", value.ArrayOf(texts...))
		} else {
			c.left = append(c.left, "enum of "+kind)
		}
	}
	if format, ok := v.Get("format"); ok {
		if slices.Contains(map[string][]string{
			"string": {"enum", "date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
		}[kind], format.Str()) {
			add("format", format)
		} else {
			c.left = append(c.left, "format "+format.Str())
		}
	}
	return out
}

func (c *schemaConverter) each(list []value.Value, within []string) value.Value {
	out := make([]value.Value, len(list))
	for i, v := range list {
		out[i] = c.schema(v, within)
	}
	return value.ArrayOf(out...)
}

// referred converts what a reference leads to, with what stands beside it. One
// that leads to itself cannot be said.
func (c *schemaConverter) referred(v value.Value, ref string, within []string) value.Value {
	to, found := c.root, strings.HasPrefix(ref, "#")
	for _, key := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
		if found {
			to, found = to.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		}
	}
	if !found || slices.Contains(within, ref) {
		c.fails = true
		return v
	}
	return c.schema(schemaMerged(schemaWithout(v, "$ref"), []value.Value{to}), append(slices.Clone(within), ref))
}

// schemaTypes are the schemaTypes that a schema names or implies, but for null.
func schemaTypes(v value.Value) (kinds []string, nullable bool) {
	t, ok := v.Get("type")
	list := []value.Value{t}
	if t.Kind() == value.Array {
		list = t.Items()
	}
	for _, t := range list {
		switch {
		case t.Str() == "null":
			nullable = true
		case t.Str() != "":
			kinds = append(kinds, t.Str())
		}
	}
	if ok {
		return kinds, nullable
	}
	for _, implied := range [][2]string{{"properties", "object"}, {"items", "array"}} {
		if _, is := v.Get(implied[0]); is {
			return []string{implied[1]}, false
		}
	}
	enum, ok := v.Get("enum")
	if only, is := v.Get("const"); is && !ok {
		enum, ok = value.ArrayOf(only), true
	}
	if ok && !slices.ContainsFunc(enum.Items(), func(v value.Value) bool { return v.Kind() != value.String }) {
		return []string{"string"}, false
	}
	return nil, false
}

// schemaMerged is a schema with those of allOf in it. Properties and required names
// of all count; of other keys, the first.
func schemaMerged(v value.Value, all []value.Value) value.Value {
	out := schemaWithout(v, "allOf").Members()
	for _, part := range all {
		for _, m := range part.Members() {
			i := slices.IndexFunc(out, func(o value.Member) bool { return o.Key == m.Key })
			switch {
			case i < 0:
				out = append(slices.Clone(out), m)
			case m.Key == "properties":
				out = slices.Clone(out)
				out[i].Value = schemaMerged(out[i].Value, []value.Value{m.Value})
			case m.Key == "required":
				out = slices.Clone(out)
				out[i].Value = value.ArrayOf(slices.Concat(out[i].Value.Items(), m.Value.Items())...)
			}
		}
	}
	return value.ObjectOf(out...)
}

func schemaWithout(v value.Value, keys ...string) value.Value {
	return value.ObjectOf(slices.DeleteFunc(slices.Clone(v.Members()), func(m value.Member) bool { return slices.Contains(keys, m.Key) })...)
}

func schemaWith(v value.Value, key string, to value.Value) value.Value {
	return value.ObjectOf(append(schemaWithout(v, key).Members(), value.Member{Key: key, Value: to})...)
}

func schemaWithNull(v value.Value, nullable bool) value.Value {
	if !nullable || v.Kind() != value.Object {
		return v
	}
	return schemaWith(v, "nullable", value.BoolOf(true))
}
