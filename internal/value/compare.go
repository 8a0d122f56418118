// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value

import (
	"bytes"
	"encoding/json"
)

// Equal reports whether two values are the same: numbers by exact value,
// objects whatever the order of their keys.
func Equal(a, b Value) bool { return EqualFunc(a, b, sameScalar) }

func sameScalar(a, b Value) bool {
	if a.text == b.text {
		return true
	}
	return a.kind == Number && decimalOf(a.text) == decimalOf(b.text)
}

// EqualFunc is [Equal] with another comparison of what is neither an array nor
// an object; scalar is given two values of the same kind.
func EqualFunc(a, b Value, scalar func(a, b Value) bool) bool {
	if a.kind != b.kind || a.Len() != b.Len() {
		return false
	}
	switch a.kind {
	case Array:
		for i, item := range a.Items() {
			if !EqualFunc(item, b.node.items[i], scalar) {
				return false
			}
		}
		return true
	case Object:
		for _, m := range a.Members() {
			other, ok := b.Get(m.Key)
			if !ok || !EqualFunc(m.Value, other, scalar) {
				return false
			}
		}
		return true
	default:
		return scalar(a, b)
	}
}

// Floats compares scalars as most clients keep them: numbers are the same when
// they are the same float64. It is for [EqualFunc].
func Floats(a, b Value) bool {
	x, okX := a.Float()
	y, okY := b.Float()
	return okX && okY && x == y || sameScalar(a, b)
}

// Same reports whether two texts hold the same JSON value. Texts that [Parse]
// does not take are the same when they differ in white space alone.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := Parse(a)
	y, errY := Parse(b)
	if errX != nil || errY != nil {
		return bytes.Equal(Compact(a), Compact(b))
	}
	return Equal(x, y)
}

// Compact is JSON without white space between its tokens. Anything that is not
// JSON stays as it is.
func Compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}

// Walk calls visit for v and for what is in it, in the order of the text; visit
// says whether to go on below. The path is visit's until it returns.
func Walk(v Value, visit func(at Path, v Value) (below bool)) { walk(nil, v, visit) }

func walk(at Path, v Value, visit func(Path, Value) bool) {
	if !visit(at, v) {
		return
	}
	for i, item := range v.Items() {
		walk(append(at, i), item, visit)
	}
	for _, m := range v.Members() {
		walk(append(at, m.Key), m.Value, visit)
	}
}

// Map returns v with changes. change is called for v, and for what is in the
// value that it returns as long as it says to go on below; the path is that in
// v and is change's until it returns.
func Map(v Value, change func(at Path, v Value) (to Value, below bool)) Value {
	return changed(nil, v, change)
}

func changed(at Path, v Value, change func(Path, Value) (Value, bool)) Value {
	v, below := change(at, v)
	if !below || v.node == nil {
		return v
	}
	if v.kind == Array {
		items := make([]Value, v.Len())
		for i, item := range v.Items() {
			items[i] = changed(append(at, i), item, change)
		}
		return ArrayOf(items...)
	}
	members := make([]Member, v.Len())
	for i, m := range v.Members() {
		members[i] = Member{m.Key, changed(append(at, m.Key), m.Value, change)}
	}
	return ObjectOf(members...)
}
