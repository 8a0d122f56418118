// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// literal compares what is written in a file with the schema of the place it
// goes to. It knows type, enum, properties, required, items and
// additionalProperties: false, which is where slips happen; a mock server
// judges the rest when it is called. path is the place in words; in an
// expectation keys may be left out and operators stand for values.
//
// Arguments under $literal are taken as meant, wrong or not.
func (c *checks) literal(n, schema *strictyaml.Node, path string, expectation bool) {
	if !usable(n) || !usable(schema) || schema.Kind != strictyaml.Map {
		return
	}
	if op, inner := operator(n); op != "" {
		if !expectation {
			return
		}
		switch op {
		case "$optional":
			c.literal(inner, schema, path, expectation)
		case "$any_of", "$all":
			for _, item := range itemsOf(inner) {
				c.literal(item, schema, path, expectation)
			}
		}
		return
	}
	if !c.rightType(n, schema, path) {
		return
	}
	switch n.Kind {
	case strictyaml.Map:
		c.literalMap(n, schema, path, expectation)
	case strictyaml.List:
		for _, item := range n.Items {
			c.literal(item, schema.Get("items"), path+"[]", expectation)
		}
	case strictyaml.String:
		words := textsOf(schema.Get("enum"))
		if len(words) > 0 && !strings.Contains(n.Text, "{{") && !slices.Contains(words, n.Text) {
			c.doubt(n, "%s: the schema does not allow %q%s", path, n.Text, didYouMean(n.Text, words))
		}
	}
}

func (c *checks) literalMap(n, schema *strictyaml.Node, path string, expectation bool) {
	properties := schema.Get("properties")
	var known []string
	for _, p := range pairsOf(properties) {
		known = append(known, p.Key.Text)
	}
	extra := schema.Get("additionalProperties")
	closed := extra != nil && extra.Kind == strictyaml.Bool && !boolOf(extra)
	free := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return n.Get(k) != nil })
	for _, p := range n.Pairs {
		name := p.Key.Text
		switch op, _ := operator(p.Value); {
		case properties.Get(name) != nil:
			c.literal(p.Value, properties.Get(name), path+"."+name, expectation)
		case op == "$absent" || strings.Contains(name, "{{"):
		case closed:
			c.doubt(p.Key, "%s: the schema has no property %q%s", path, name, didYouMean(name, known))
		case didYouMean(name, free) != "": // allowed, but most likely a slip
			c.doubt(p.Key, "%s: the schema names no property %q%s", path, name, didYouMean(name, free))
		}
	}
	if expectation {
		return
	}
	for _, r := range textsOf(schema.Get("required")) {
		if n.Get(r) == nil && !slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return strings.Contains(p.Key.Text, "{{") }) {
			c.doubt(n, "%s: the schema requires %q", path, r)
		}
	}
}

// operator returns the one $ key of a map and its value.
func operator(n *strictyaml.Node) (string, *strictyaml.Node) {
	if usable(n) && n.Kind == strictyaml.Map && len(n.Pairs) == 1 && strings.HasPrefix(n.Pairs[0].Key.Text, "$") {
		return n.Pairs[0].Key.Text, n.Pairs[0].Value
	}
	return "", nil
}

// rightType compares the type of n with those that the schema allows.
func (c *checks) rightType(n, schema *strictyaml.Node, path string) bool {
	allowed := textsOf(schema.Get("type"))
	if len(allowed) == 0 {
		return true
	}
	is := map[strictyaml.Kind]string{
		strictyaml.Null: "null", strictyaml.Bool: "boolean", strictyaml.Number: "number",
		strictyaml.String: "string", strictyaml.List: "array", strictyaml.Map: "object",
	}[n.Kind]
	if slices.Contains(allowed, is) || is == "number" && slices.Contains(allowed, "integer") && !strings.ContainsAny(n.Text, ".eE") {
		return true
	}
	hint := ""
	switch {
	case n.Kind == strictyaml.String && strings.Contains(n.Text, "{{"):
		hint = ": {{ }} always makes a text, {$cel: ...} keeps the type"
	case slices.Contains(allowed, "string") && (n.Kind == strictyaml.Number || n.Kind == strictyaml.Bool):
		hint = ": quote it"
	case n.Kind == strictyaml.String && !n.Plain && (slices.Contains(allowed, "number") || slices.Contains(allowed, "integer") || slices.Contains(allowed, "boolean")):
		hint = ": write it without quotes"
	}
	c.doubt(n, "%s: the schema wants %s, this is %s%s", path, strings.Join(allowed, " or "), n.Describe(), hint)
	return false
}
