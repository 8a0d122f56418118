// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package yamlnode makes YAML of texts, JSON and structs whose content nobody has
// chosen: what a model, a tool or a user said. A reader gets the same texts back.
//
//	var b bytes.Buffer
//	enc := yaml.NewEncoder(&b)
//	err := enc.Encode(yamlnode.Of(scenario))
//
// yaml.v3 writes texts that it does not read again: it puts a text that begins with a
// tab into a block, for one, and a value that passes through [yaml.Node.Encode] or a
// [yaml.Marshaler] is written and read on the way, so that such a text is an error
// there. It also leaves texts bare that internal/strictyaml refuses, such as one in
// curly quotes. Here a text is bare or a block only where both agree on it, and
// between double quotes otherwise.
package yamlnode

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// Text is a text. Bytes that are not UTF-8 become U+FFFD.
func Text(text string) *yaml.Node {
	text = strings.ToValidUTF8(text, "\ufffd")
	if unquoted(text) {
		n := new(yaml.Node)
		if n.Encode(text) == nil && n.Kind == yaml.ScalarNode && n.Tag == "!!str" && n.Value == text {
			return n
		}
	}
	return quoted(text)
}

// bareKey matches keys that need no quotes, unless they are also other values.
var bareKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_.$/-]*$`)

// Key is a text as the key of a map.
func Key(text string) *yaml.Node {
	if bareKey.MatchString(text) {
		return Text(text)
	}
	return quoted(strings.ToValidUTF8(text, "\ufffd"))
}

func quoted(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}

// unquoted reports whether a text may stand without double quotes, bare or in a
// block.
func unquoted(text string) bool {
	if text == "" || value.ValidNumber(text) { // also one that no float holds, such as 1e400
		return false
	}
	// A block takes its indentation from its first line, and its end is white space.
	if strings.ContainsAny(text[:1], " \t\n") || strings.HasSuffix(text, "\n\n") || strings.HasSuffix(text, " ") || strings.HasSuffix(text, "\t") {
		return false
	}
	lines := strings.Contains(text, "\n")
	for i, r := range text {
		switch {
		case r == '\n', r >= ' ' && r <= '~':
		case r == '\t' && lines && i > 0:
		case !unicode.IsPrint(r): // control characters, marks of byte order, odd spaces
			return false
		}
	}
	// Quotes of print at an end look like a mistake in writing YAML.
	const print = "“”„‘’‚«"
	return lines || strings.Trim(text, print) == text
}

// JSON is a value, with numbers as they are spelled: short maps and lists on one
// line.
func JSON(v value.Value) *yaml.Node {
	n := nodeOf(v)
	tidy(n)
	return n
}

// nodeOf is a value as YAML. A parser of YAML does not read all of JSON: it refuses
// the halves in which JSON escapes a character, and keys that stand twice.
func nodeOf(v value.Value) *yaml.Node {
	n := new(yaml.Node)
	switch v.Kind() {
	case value.Object:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for _, m := range v.Members() {
			n.Content = append(n.Content, Key(m.Key), nodeOf(m.Value))
		}
	case value.Array:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range v.Items() {
			n.Content = append(n.Content, nodeOf(item))
		}
	case value.String:
		return Text(v.Str())
	default:
		n.Kind, n.Value = yaml.ScalarNode, v.String()
	}
	return n
}

// oneLine is the longest map or list that stands on one line.
const oneLine = 100

// tidy has what is long in lines of its own.
func tidy(n *yaml.Node) {
	size, lines := 0, false
	for _, c := range n.Content {
		tidy(c)
		size += sizeOf(c)
		lines = lines || strings.Contains(c.Value, "\n") || c.Kind != yaml.ScalarNode && c.Style&yaml.FlowStyle == 0
	}
	if n.Kind != yaml.ScalarNode && (len(n.Content) == 0 || size <= oneLine && !lines) {
		n.Style = yaml.FlowStyle
	}
}

func sizeOf(n *yaml.Node) int {
	size := len(n.Value) + 2
	for _, c := range n.Content {
		size += sizeOf(c)
	}
	return size
}

// Of is a value of structs with the tags of yaml.v3 (a name, omitempty, flow), maps
// with texts as keys, lists, texts, whole numbers, booleans and nodes. It panics for
// anything else.
func Of(v any) *yaml.Node { return of(reflect.ValueOf(v)) }

func of(v reflect.Value) *yaml.Node {
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	switch from := v.Interface().(type) {
	case *yaml.Node:
		return from
	case Commented:
		n := of(v.Elem())
		if comment := from.Comment(); comment != "" && len(n.Content) > 0 {
			n.Content[0].HeadComment = "# " + comment
		}
		return n
	}
	n := new(yaml.Node)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return of(v.Elem())
	case reflect.String:
		return Text(v.String())
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	case reflect.Slice:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for i := range v.Len() {
			n.Content = append(n.Content, of(v.Index(i)))
		}
	case reflect.Map:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			n.Content = append(n.Content, Key(k.String()), of(v.MapIndex(k)))
		}
	case reflect.Struct:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for i := range v.NumField() {
			tag := strings.Split(v.Type().Field(i).Tag.Get("yaml"), ",")
			if tag[0] == "-" || slices.Contains(tag, "omitempty") && empty(v.Field(i)) {
				continue
			}
			item := of(v.Field(i))
			if slices.Contains(tag, "flow") {
				item.Style |= yaml.FlowStyle
			}
			n.Content = append(n.Content, Key(tag[0]), item)
		}
	default:
		panic(fmt.Sprintf("yamlnode: %v is not made YAML of: add a case to of", v.Type()))
	}
	return n
}

// Commented is a pointer to a struct that stands below a comment.
type Commented interface {
	// Comment is a line; empty for none.
	Comment() string
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
