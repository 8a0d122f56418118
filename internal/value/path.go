// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strconv"
)

// Path leads from a value to one inside it. Each step is a key (string) or
// an index (int).
type Path []any

// Join returns a new path with more steps. p stays as it is.
func (p Path) Join(steps ...any) Path {
	return append(slices.Clip(p), steps...)
}

// Key is the last step when that is a key; empty for an index and for no path.
func (p Path) Key() string {
	if len(p) == 0 {
		return ""
	}
	key, _ := p[len(p)-1].(string)
	return key
}

// String writes the path as an expression has it: a.b[0]["odd key"].
func (p Path) String() string {
	var b []byte
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(step), 10)
			b = append(b, ']')
		case string:
			if !isIdent(step) {
				b = append(b, '[')
				b = appendString(b, step)
				b = append(b, ']')
				continue
			}
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, step...)
		}
	}
	return string(b)
}

func isIdent(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c == '$' || c == '-' && i > 0 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Lookup follows a path. It returns false when a key or index on the way is
// not there.
func Lookup(v Value, p Path) (Value, bool) {
	for _, step := range p {
		switch step := step.(type) {
		case int:
			if step < 0 || step >= len(v.Items()) {
				return Value{}, false
			}
			v = v.Items()[step]
		case string:
			var ok bool
			if v, ok = v.Get(step); !ok {
				return Value{}, false
			}
		default:
			return Value{}, false
		}
	}
	return v, true
}

// MergePatch applies a JSON merge patch (RFC 7396): objects merge, null
// deletes, anything else replaces. Keys keep their order; new ones follow.
func MergePatch(doc, patch Value) Value {
	if patch.kind != Object {
		return patch
	}
	members := make([]Member, 0, len(doc.Members())+len(patch.Members()))
	for _, m := range doc.Members() {
		if change, ok := patch.Get(m.Key); ok {
			if change.IsNull() {
				continue
			}
			m.Value = MergePatch(m.Value, change)
		}
		members = append(members, m)
	}
	for _, m := range patch.Members() {
		if _, ok := doc.Get(m.Key); !ok && !m.Value.IsNull() {
			members = append(members, Member{m.Key, MergePatch(Value{}, m.Value)})
		}
	}
	return ObjectOf(members...)
}
