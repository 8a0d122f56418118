// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// onString turns a test of strings into a test of values; a value that is not a
// string fails it.
func onString(ok func(string) bool) test {
	return func(got value.Value) bool { return got.Kind() == value.String && ok(got.Str()) }
}

func stringArg(name string, arg value.Value) (string, error) {
	if arg.Kind() != value.String {
		return "", fmt.Errorf("%s needs a string, not a value of type %s", name, arg.Kind())
	}
	return arg.Str(), nil
}

func regexTest(arg value.Value) (test, error) {
	pattern, err := stringArg("$regex", arg)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("$regex: %w", err)
	}
	return onString(re.MatchString), nil
}

func globTest(arg value.Value) (test, error) {
	pattern, err := stringArg("$glob", arg)
	if err != nil {
		return nil, err
	}
	return onString(func(s string) bool { return Glob(pattern, s) }), nil
}

// Glob reports whether text matches a pattern in which * stands for any text
// and ? for one character.
func Glob(pattern, text string) bool {
	// star and mark are where to go on after the last * took too little.
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		if p < len(pattern) {
			switch c := pattern[p]; {
			case c == '*':
				star, mark = p, t
				p++
				continue
			case c == '?':
				_, size := utf8.DecodeRuneInString(text[t:])
				p++
				t += size
				continue
			case c == text[t]:
				p++
				t++
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(text[mark:])
		mark += size
		p, t = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// fields reads a map argument whose keys are all known.
func fields(name string, arg value.Value, known ...string) (map[string]value.Value, error) {
	shape := fmt.Sprintf("%s needs a map {%s}", name, strings.Join(known, ", "))
	if arg.Kind() != value.Object {
		return nil, fmt.Errorf("%s, not a value of type %s", shape, arg.Kind())
	}
	got := make(map[string]value.Value)
	for _, m := range arg.Members() {
		if !slices.Contains(known, m.Key) {
			return nil, fmt.Errorf("%s: %s", name, unknown("key", m.Key, known))
		}
		got[m.Key] = m.Value
	}
	return got, nil
}

func numberTest(arg value.Value) (test, error) {
	f, err := fields("$number", arg, "value", "abs", "rel")
	if err != nil {
		return nil, err
	}
	if _, ok := f["value"]; !ok {
		return nil, fmt.Errorf("$number needs a value")
	}
	num := make(map[string]*big.Rat)
	for key, v := range f {
		n, ok := v.Rat()
		if !ok {
			return nil, fmt.Errorf("$number: %s is %s, not a number of reasonable size", key, v)
		}
		if key != "value" && n.Sign() < 0 {
			return nil, fmt.Errorf("$number: %s is negative", key)
		}
		num[key] = n
	}
	want, tolerance := num["value"], new(big.Rat)
	if num["abs"] != nil {
		tolerance = num["abs"]
	}
	if num["rel"] != nil {
		rel := new(big.Rat).Mul(num["rel"], new(big.Rat).Abs(want))
		if rel.Cmp(tolerance) > 0 {
			tolerance = rel
		}
	}
	return func(got value.Value) bool {
		n, ok := got.Rat()
		if !ok {
			return false
		}
		diff := new(big.Rat).Sub(n, want)
		return diff.Abs(diff).Cmp(tolerance) <= 0
	}, nil
}

func integerTest(arg value.Value) (test, error) { return spelledTest("$integer", arg, true) }

func floatTest(arg value.Value) (test, error) { return spelledTest("$float", arg, false) }

// spelledTest wants a number spelled as an integer, or not as one.
func spelledTest(name string, arg value.Value, integer bool) (test, error) {
	spelled := func(v value.Value) bool { return v.Kind() == value.Number && v.IsInteger() == integer }
	if arg.Bool() {
		return spelled, nil
	}
	if !spelled(arg) {
		example := map[bool]string{true: "5", false: "5.0"}[integer]
		return nil, fmt.Errorf("%s takes true, or a number spelled like %s, not %s", name, example, short(arg))
	}
	return func(got value.Value) bool { return spelled(got) && value.Equal(arg, got) }, nil
}

func lengthTest(arg value.Value) (test, error) {
	least, most := int64(0), int64(-1)
	if n, ok := arg.Int(); ok {
		least, most = n, n
	} else {
		f, err := fields("$length", arg, "min", "max")
		if err != nil {
			return nil, fmt.Errorf("%w; or a number", err)
		}
		if len(f) == 0 {
			return nil, fmt.Errorf("$length needs a number, min or max")
		}
		for key, v := range f {
			n, ok := v.Int()
			if !ok || n < 0 {
				return nil, fmt.Errorf("$length: %s is %s, not a number of items", key, v)
			}
			if key == "min" {
				least = n
			} else {
				most = n
			}
		}
		if most >= 0 && most < least {
			return nil, fmt.Errorf("$length: max is less than min")
		}
	}
	if least < 0 {
		return nil, fmt.Errorf("$length is negative")
	}
	return func(got value.Value) bool {
		n := int64(got.Len())
		switch got.Kind() {
		case value.String:
			n = int64(utf8.RuneCountInString(got.Str()))
		case value.Array, value.Object:
		default:
			return false
		}
		return n >= least && (most < 0 || n <= most)
	}, nil
}

func typeTest(arg value.Value) (test, error) {
	name, err := stringArg("$type", arg)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(types, name) {
		return nil, fmt.Errorf("%s", unknown("type", name, types))
	}
	return func(got value.Value) bool {
		if name == "integer" {
			n, ok := got.Rat()
			return ok && n.IsInt()
		}
		return got.Kind().String() == name
	}, nil
}

// schema takes its argument as it is: nothing in it is an operator.
func (c *compiler) schema(at value.Path, src, arg value.Value) node {
	at = at.Join("$schema")
	schema, err := CompileSchema(arg)
	if err != nil {
		c.fail(at, "%s", err)
		return node{}
	}
	if word, meant := misspelt(arg); word != "" {
		c.fail(at.Join(word), "unknown keyword %q (did you mean %q?)", word, meant)
	}
	if p, name := unknownType(arg); p != nil {
		c.fail(at.Join(p...), "%s", unknown("type", name, types))
	}
	return required(src, func(r *run, at value.Path, got value.Value) {
		if err := schema.Validate(got); err != nil {
			r.fail(at, "$schema", fmt.Sprintf("a value that fits the schema (%s)", err), short(got))
		}
	})
}
