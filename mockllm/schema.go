// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// schemaCheck checks values against the part of JSON Schema that structured
// outputs have. What it does not know it lets pass. A package for all of JSON
// Schema takes longer to start than a mock.
type schemaCheck struct{ root any }

// maxSchemaDepth ends references that go in circles.
const maxSchemaDepth = 64

// value says what is wrong with a value; "" is nothing.
func (c *schemaCheck) value(v, schema any, at string, depth int) string {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		if schema == false {
			return at + " is not allowed"
		}
		return ""
	}
	if ref, ok := s["$ref"].(string); ok {
		if wrong := c.value(v, c.resolve(ref), at, depth+1); wrong != "" {
			return wrong
		}
	}
	for _, check := range []func(any, map[string]any, string) string{checkType, checkEnum, checkString, checkNumber} {
		if wrong := check(v, s, at); wrong != "" {
			return wrong
		}
	}
	if wrong := c.combined(v, s, at, depth); wrong != "" {
		return wrong
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(v, s, at, depth)
	case []any:
		return c.array(v, s, at, depth)
	}
	return ""
}

// resolve finds what a reference within the schema names.
func (c *schemaCheck) resolve(ref string) any {
	v := c.root
	for _, key := range strings.Split(strings.TrimPrefix(ref, "#"), "/") {
		if key == "" {
			continue
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return v
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
		if r, ok := new(big.Rat).SetString(smallNumber(v)); ok && r.IsInt() {
			return "integer"
		}
	}
	return "number"
}

// smallNumber spells a number whose exponent is not too large to compute
// with, and 0.5 for any other.
func smallNumber(n json.Number) string {
	const longest = len("e999")
	if i := strings.IndexAny(n.String(), "eE"); i >= 0 && len(n.String())-i > longest {
		return "0.5"
	}
	return n.String()
}

func checkType(v any, s map[string]any, at string) string {
	var types []string
	switch t := s["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, e := range t {
			name, _ := e.(string)
			types = append(types, name)
		}
	}
	kind := typeOf(v)
	if len(types) == 0 || slices.Contains(types, kind) || kind == "integer" && slices.Contains(types, "number") {
		return ""
	}
	return fmt.Sprintf("%s is of type %s, not %s", at, kind, strings.Join(types, " or "))
}

func checkEnum(v any, s map[string]any, at string) string {
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(e any) bool { return equalValue(v, e) }) {
		return fmt.Sprintf("%s is %s, which is not in the enum", at, encode(v))
	}
	if want, ok := s["const"]; ok && !equalValue(v, want) {
		return fmt.Sprintf("%s is %s, not %s", at, encode(v), encode(want))
	}
	return ""
}

func equalValue(a, b any) bool {
	if x, ok := a.(json.Number); ok {
		y, ok := b.(json.Number)
		return ok && compareNumbers(x, y) == 0
	}
	return reflect.DeepEqual(a, b)
}

func compareNumbers(a, b json.Number) int {
	x, ok := new(big.Rat).SetString(smallNumber(a))
	y, ok2 := new(big.Rat).SetString(smallNumber(b))
	if !ok || !ok2 {
		return strings.Compare(a.String(), b.String())
	}
	return x.Cmp(y)
}

func checkString(v any, s map[string]any, at string) string {
	text, ok := v.(string)
	if !ok {
		return ""
	}
	n := utf8.RuneCountInString(text)
	if least, ok := length(s, "minLength"); ok && n < least {
		return fmt.Sprintf("%s has %d characters, fewer than %d", at, n, least)
	}
	if most, ok := length(s, "maxLength"); ok && n > most {
		return fmt.Sprintf("%s has %d characters, more than %d", at, n, most)
	}
	if p, ok := s["pattern"].(string); ok {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(text) {
			return fmt.Sprintf("%s does not match the pattern %s", at, p)
		}
	}
	return ""
}

func checkNumber(v any, s map[string]any, at string) string {
	n, ok := v.(json.Number)
	if !ok {
		return ""
	}
	for _, rule := range []struct {
		key   string
		wrong func(cmp int) bool
		words string
	}{
		{"minimum", func(c int) bool { return c < 0 }, "below the minimum"},
		{"maximum", func(c int) bool { return c > 0 }, "above the maximum"},
		{"exclusiveMinimum", func(c int) bool { return c <= 0 }, "not above"},
		{"exclusiveMaximum", func(c int) bool { return c >= 0 }, "not below"},
	} {
		if limit, ok := s[rule.key].(json.Number); ok && rule.wrong(compareNumbers(n, limit)) {
			return fmt.Sprintf("%s is %s, %s %s", at, n, rule.words, limit)
		}
	}
	return ""
}

func length(s map[string]any, key string) (int, bool) {
	n, ok := s[key].(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil
}

// combined checks anyOf, oneOf and allOf.
func (c *schemaCheck) combined(v any, s map[string]any, at string, depth int) string {
	all, _ := s["allOf"].([]any)
	for _, part := range all {
		if wrong := c.value(v, part, at, depth+1); wrong != "" {
			return wrong
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := s[key].([]any)
		if !ok {
			continue
		}
		fits, first := 0, ""
		for _, part := range list {
			wrong := c.value(v, part, at, depth+1)
			if wrong == "" {
				fits++
			} else if first == "" {
				first = wrong
			}
		}
		switch {
		case fits == 0:
			return fmt.Sprintf("%s fits none of %s (%s)", at, key, first)
		case fits > 1 && key == "oneOf":
			return fmt.Sprintf("%s fits %d of oneOf", at, fits)
		}
	}
	return ""
}

func (c *schemaCheck) object(v, s map[string]any, at string, depth int) string {
	required, _ := s["required"].([]any)
	for _, key := range required {
		name, _ := key.(string)
		if _, ok := v[name]; !ok {
			return fmt.Sprintf("%s lacks the required member %q", at, name)
		}
	}
	props, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		schema, known := props[name]
		if !known {
			more, ok := s["additionalProperties"]
			if !ok {
				continue
			}
			if more == false {
				return fmt.Sprintf("%s has the member %q, which is not in the schema", at, name)
			}
			schema = more
		}
		if wrong := c.value(v[name], schema, at+"."+name, depth+1); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (c *schemaCheck) array(v []any, s map[string]any, at string, depth int) string {
	if least, ok := length(s, "minItems"); ok && len(v) < least {
		return fmt.Sprintf("%s has %d items, fewer than %d", at, len(v), least)
	}
	if most, ok := length(s, "maxItems"); ok && len(v) > most {
		return fmt.Sprintf("%s has %d items, more than %d", at, len(v), most)
	}
	for i, item := range v {
		if wrong := c.value(item, s["items"], fmt.Sprintf("%s[%d]", at, i), depth+1); wrong != "" {
			return wrong
		}
	}
	return ""
}
