// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package value holds JSON values that keep what encoding/json drops: the
// order of keys and the spelling of numbers. Scenario files, mock servers and
// journals hand values on in it, so that 1.10 stays 1.10 and a 20-digit id
// stays itself.
//
//	v, err := value.Parse([]byte(`{"id": 83333.10, "tags": ["a"]}`))
//	id, ok := v.Get("id")      // id.Num() == "83333.10"
//	fmt.Println(v)             // {"id":83333.10,"tags":["a"]}
//
// Values are compared by [Equal], which goes by the exact value of numbers
// (5 is 5.0) and ignores the order of keys.
package value

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the JSON type of a [Value].
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the name that JSON Schema has for the kind.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// Value is a JSON value. It never changes; the zero Value is null.
type Value struct {
	kind Kind
	text string // the string, the spelling of the number, or true or false
	node *node  // of arrays and objects that are not empty
}

type node struct {
	items   []Value
	members []Member
	index   map[string]int // into members; nil when they are few
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

// indexFrom is the number of members from which an index is worth its memory.
const indexFrom = 16

// BoolOf returns a boolean.
func BoolOf(b bool) Value { return Value{kind: Bool, text: strconv.FormatBool(b)} }

// StringOf returns a string. Bytes that are not UTF-8 become U+FFFD.
func StringOf(s string) Value {
	if !utf8.ValidString(s) {
		s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	}
	return Value{kind: String, text: s}
}

// NumberOf returns the number with this spelling. It panics when that is not
// a JSON number; ask [ValidNumber] first where it comes from a file.
func NumberOf(spelling string) Value {
	if !ValidNumber(spelling) {
		panic(fmt.Sprintf("value: NumberOf(%q): not a JSON number; check with ValidNumber", spelling))
	}
	return Value{kind: Number, text: spelling}
}

// IntOf returns a number without fraction.
func IntOf(n int64) Value { return Value{kind: Number, text: strconv.FormatInt(n, 10)} }

// ArrayOf returns an array. The caller must not change items afterwards.
func ArrayOf(items ...Value) Value {
	if len(items) == 0 {
		return Value{kind: Array}
	}
	return Value{kind: Array, node: &node{items: items}}
}

// ObjectOf returns an object. Of members with the same key the last one
// counts, at the place of the first.
func ObjectOf(members ...Member) Value {
	if len(members) == 0 {
		return Value{kind: Object}
	}
	n := &node{members: make([]Member, 0, len(members))}
	if len(members) >= indexFrom {
		n.index = make(map[string]int, len(members))
	}
	for _, m := range members {
		if i := n.find(m.Key); i >= 0 {
			n.members[i].Value = m.Value
			continue
		}
		if n.index != nil {
			n.index[m.Key] = len(n.members)
		}
		n.members = append(n.members, m)
	}
	return Value{kind: Object, node: n}
}

func (n *node) find(key string) int {
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range n.members {
		if n.members[i].Key == key {
			return i
		}
	}
	return -1
}

// Kind returns the JSON type.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == Null }

// Bool returns the boolean; false when v is none.
func (v Value) Bool() bool { return v.kind == Bool && v.text == "true" }

// Str returns the string; empty when v is none.
func (v Value) Str() string {
	if v.kind != String {
		return ""
	}
	return v.text
}

// Num returns the number as it is spelled; empty when v is none.
func (v Value) Num() string {
	if v.kind != Number {
		return ""
	}
	return v.text
}

// Text returns the string itself, or any other value as compact JSON. It is
// what {{ }} prints.
func (v Value) Text() string {
	if v.kind == String {
		return v.text
	}
	return v.String()
}

// Len returns the number of items or members; 0 when v has none.
func (v Value) Len() int {
	if v.node == nil {
		return 0
	}
	return len(v.node.items) + len(v.node.members)
}

// Items returns the items of an array, which the caller must not change.
func (v Value) Items() []Value {
	if v.node == nil {
		return nil
	}
	return v.node.items
}

// Members returns the members of an object in their order, which the caller
// must not change.
func (v Value) Members() []Member {
	if v.node == nil {
		return nil
	}
	return v.node.members
}

// Get returns the member with this key. It returns false when there is none
// or v is no object.
func (v Value) Get(key string) (Value, bool) {
	if v.node == nil {
		return Value{}, false
	}
	if i := v.node.find(key); i >= 0 {
		return v.node.members[i].Value, true
	}
	return Value{}, false
}

// String returns v as compact JSON.
func (v Value) String() string {
	if v.kind == Number || v.kind == Bool {
		return v.text
	}
	return string(v.Append(nil))
}

// MarshalJSON returns v as compact JSON.
func (v Value) MarshalJSON() ([]byte, error) { return v.Append(nil), nil }

// Append appends v as compact JSON to b. Nothing but what JSON asks for is
// escaped: & and < stay as they are.
func (v Value) Append(b []byte) []byte { return v.append(b, false) }

// AppendCanonical appends v in the one way in which all equal values are
// written: keys in order, numbers in the spelling of [Value.Exact].
func (v Value) AppendCanonical(b []byte) []byte { return v.append(b, true) }

func (v Value) append(b []byte, canonical bool) []byte {
	switch v.kind {
	case Null:
		return append(b, "null"...)
	case String:
		return appendString(b, v.text)
	case Array:
		b = append(b, '[')
		for i, item := range v.Items() {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.append(b, canonical)
		}
		return append(b, ']')
	case Object:
		members := v.Members()
		if canonical {
			members = slices.SortedFunc(slices.Values(members), func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
		}
		b = append(b, '{')
		for i, m := range members {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.Value.append(append(appendString(b, m.Key), ':'), canonical)
		}
		return append(b, '}')
	case Number:
		if canonical {
			v = v.Exact()
		}
	}
	return append(b, v.text...)
}

func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}

// Any returns v as encoding/json's maps and slices, for libraries that want
// them: integers that fit as int64, other numbers as float64.
func (v Value) Any() any {
	switch v.kind {
	case Bool:
		return v.Bool()
	case String:
		return v.text
	case Number:
		if n, ok := v.Int(); ok {
			return n
		}
		f, _ := v.Float()
		return min(max(f, -math.MaxFloat64), math.MaxFloat64)
	case Array:
		items := make([]any, v.Len())
		for i, item := range v.Items() {
			items[i] = item.Any()
		}
		return items
	case Object:
		members := make(map[string]any, v.Len())
		for _, m := range v.Members() {
			members[m.Key] = m.Value.Any()
		}
		return members
	default:
		return nil
	}
}
