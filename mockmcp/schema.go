// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// argsSchema is a compiled JSON Schema of the arguments of a tool. The library
// decides what is valid; the words for what is not are ours, because its own
// ("validating /properties/a: type: ...") name the first error of several, in
// random order, and are meant for programmers.
type argsSchema struct {
	root     *jsonschema.Schema
	compiled *schema.Schema
	floats   *jsonschema.Resolved // nil where they are not enough
}

// compileSchema reads the schema of arguments: an object.
func compileSchema(raw json.RawMessage) (*argsSchema, error) {
	if !mcpwire.IsObject(raw) {
		return nil, fmt.Errorf("is not a JSON object: %s", prose.Excerpt(raw, 60))
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, err
	}
	if root.Type != "object" {
		return nil, errors.New(`must say type: object at its root, as MCP asks`)
	}
	v, err := value.Parse(raw)
	if err != nil {
		return nil, err
	}
	compiled, err := schema.Compile(v)
	if err != nil {
		return nil, err
	}
	return &argsSchema{root: root, compiled: compiled, floats: compiled.Floats()}, nil
}

// fits reports that arguments fit, where a look at their digits tells that floats
// hold all of their numbers, which is quicker than to compare them exactly.
func (s *argsSchema) fits(args json.RawMessage) bool {
	const most = 15                                    // digits that a float holds
	if s.floats == nil || len(args) > value.MaxDepth { // else it cannot nest deeper
		return false
	}
	digits := 0
	for _, c := range args {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case digits > 0 && (c == '.' || c == 'e' || c == 'E'):
			return false
		default:
			digits = 0
		}
		if digits > most {
			return false
		}
	}
	var v any
	return json.Unmarshal(args, &v) == nil && s.floats.Validate(v) == nil
}

// check returns what is wrong with the arguments; nil when nothing is.
func (s *argsSchema) check(args json.RawMessage) []string {
	if fits, err := guard(func() (bool, error) { return s.fits(args), nil }); fits && err == nil {
		return nil
	}
	exact, err := value.Parse(args)
	if err != nil {
		return []string{err.Error()}
	}
	if _, err = guard(func() (struct{}, error) { return struct{}{}, s.compiled.Validate(exact) }); err == nil {
		return nil
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return []string{err.Error()}
	}
	e := explainer{root: s.root}
	e.explain(s.root, v, "")
	if len(e.found) == 0 { // a keyword that explain has no words for
		return []string{lastClause(err)}
	}
	return e.found
}

// lastClause drops the library's trail of "validating /properties/a: ".
func lastClause(err error) string {
	s := err.Error()
	for strings.HasPrefix(s, "validating ") {
		_, rest, ok := strings.Cut(s, ": ")
		if !ok {
			break
		}
		s = rest
	}
	return s
}

// explainer finds words for what a schema refuses.
type explainer struct {
	root  *jsonschema.Schema
	found []string
	depth int
}

func (e *explainer) add(path, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if path != "" {
		msg = path + ": " + msg
	}
	e.found = append(e.found, msg)
}

func (e *explainer) explain(s *jsonschema.Schema, v any, path string) {
	e.depth++
	defer func() { e.depth-- }()
	if s == nil || e.depth > 50 {
		return
	}
	if s.Ref != "" {
		e.explain(e.lookup(s.Ref), v, path)
	}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if got := typeOf(v); len(types) > 0 && !slices.Contains(types, got) && !(got == "integer" && slices.Contains(types, "number")) {
		e.add(path, "expected %s, got %s", strings.Join(types, " or "), describe(v))
		return
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(want any) bool { return jsonschema.Equal(want, v) }) {
		e.add(path, "expected one of %s, got %s", text(s.Enum), text(v))
	}
	if s.Const != nil && !jsonschema.Equal(*s.Const, v) {
		e.add(path, "expected %s, got %s", text(*s.Const), text(v))
	}
	for _, sub := range s.AllOf {
		e.explain(sub, v, path)
	}
	switch v := v.(type) {
	case map[string]any:
		e.object(s, v, path)
	case []any:
		e.array(s, v, path)
	case string:
		e.str(s, v, path)
	case json.Number:
		e.number(s, value.NumberOf(v.String()), path)
	}
}

func (e *explainer) object(s *jsonschema.Schema, v map[string]any, path string) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			e.add(path, "missing required property %q", name)
		}
	}
	known := sortedKeys(s.Properties)
	if isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0 {
		for _, name := range sortedKeys(v) {
			if _, ok := s.Properties[name]; !ok {
				e.add(path, "unknown property %q (known: %s)", name, orNone(known))
			}
		}
	}
	for _, name := range known {
		if sub, ok := v[name]; ok {
			e.explain(s.Properties[name], sub, join(path, name))
		}
	}
	if s.AdditionalProperties != nil && !isFalse(s.AdditionalProperties) {
		for _, name := range sortedKeys(v) {
			if _, ok := s.Properties[name]; !ok {
				e.explain(s.AdditionalProperties, v[name], join(path, name))
			}
		}
	}
	if s.MinProperties != nil && len(v) < *s.MinProperties {
		e.add(path, "has %d properties, fewer than %d", len(v), *s.MinProperties)
	}
	if s.MaxProperties != nil && len(v) > *s.MaxProperties {
		e.add(path, "has %d properties, more than %d", len(v), *s.MaxProperties)
	}
}

func (e *explainer) array(s *jsonschema.Schema, v []any, path string) {
	if s.MinItems != nil && len(v) < *s.MinItems {
		e.add(path, "has %d items, fewer than %d", len(v), *s.MinItems)
	}
	if s.MaxItems != nil && len(v) > *s.MaxItems {
		e.add(path, "has %d items, more than %d", len(v), *s.MaxItems)
	}
	for i, item := range v {
		sub := s.Items
		if i < len(s.PrefixItems) {
			sub = s.PrefixItems[i]
		}
		e.explain(sub, item, fmt.Sprintf("%s[%d]", path, i))
	}
}

func (e *explainer) str(s *jsonschema.Schema, v, path string) {
	n := len([]rune(v))
	if s.MinLength != nil && n < *s.MinLength {
		e.add(path, "has %d characters, fewer than %d", n, *s.MinLength)
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		e.add(path, "has %d characters, more than %d", n, *s.MaxLength)
	}
	if s.Pattern != "" {
		only := &jsonschema.Schema{Pattern: s.Pattern}
		if r, err := only.Resolve(nil); err == nil && r.Validate(v) != nil {
			e.add(path, "%s does not match the pattern %s", text(v), s.Pattern)
		}
	}
}

func (e *explainer) number(s *jsonschema.Schema, v value.Value, path string) {
	n, ok := v.Rat()
	if !ok {
		return
	}
	for _, bound := range []struct {
		limit *float64
		ok    func(limit *big.Rat) bool
		words string
	}{
		{s.Minimum, func(l *big.Rat) bool { return n.Cmp(l) >= 0 }, "at least"},
		{s.Maximum, func(l *big.Rat) bool { return n.Cmp(l) <= 0 }, "at most"},
		{s.ExclusiveMinimum, func(l *big.Rat) bool { return n.Cmp(l) > 0 }, "more than"},
		{s.ExclusiveMaximum, func(l *big.Rat) bool { return n.Cmp(l) < 0 }, "less than"},
		{s.MultipleOf, func(l *big.Rat) bool { return l.Sign() == 0 || new(big.Rat).Quo(n, l).IsInt() }, "a multiple of"},
	} {
		if bound.limit == nil {
			continue
		}
		if limit, ok := value.NumberOf(text(*bound.limit)).Rat(); ok && !bound.ok(limit) {
			e.add(path, "expected %s %s, got %s", bound.words, text(*bound.limit), v.Num())
		}
	}
}

// lookup finds the target of a reference into the schema's own definitions.
func (e *explainer) lookup(ref string) *jsonschema.Schema {
	if ref == "#" {
		return e.root
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return e.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return e.root.Definitions[name]
	}
	return nil
}

// isFalse reports whether s is the schema false, which the library reads as
// {"not": {}}.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && string(mcpwire.Marshal(s)) == "false"
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if n, ok := value.NumberOf(v.String()).Rat(); !ok || n.IsInt() {
			return "integer"
		}
	}
	return "number"
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any, []any:
		return typeOf(v)
	}
	return typeOf(v) + " " + text(v)
}

func text(v any) string { return prose.Excerpt(mcpwire.Marshal(v), 200) }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
