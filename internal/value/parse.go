// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxDepth bounds how deep arrays and objects may nest in [Parse].
	MaxDepth = 1000
	// MaxBytes bounds the size of a text for [Parse].
	MaxBytes = 32 << 20
)

// Parse reads one JSON value. Of a repeated key the last value counts. Text
// larger than [MaxBytes] or nested deeper than [MaxDepth] is an error.
func Parse(data []byte) (Value, error) {
	if len(data) > MaxBytes {
		return Value{}, fmt.Errorf("JSON of %d bytes is larger than %d", len(data), MaxBytes)
	}
	// The syntax is encoding/json's to check, so the reader below meets
	// nothing but well-formed text.
	if !json.Valid(data) {
		var raw json.RawMessage
		return Value{}, syntaxError(data, json.Unmarshal(data, &raw))
	}
	r := reader{Scanner: Scanner{Data: data}}
	return r.value(0)
}

// UnmarshalJSON sets v to the value that [Parse] reads.
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

func syntaxError(data []byte, err error) error {
	if nesting(data) > MaxDepth {
		return errDepth
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("invalid JSON at byte %d: %w", syntax.Offset, err)
	}
	return fmt.Errorf("invalid JSON: %w", err)
}

// nesting is how deep arrays and objects nest in what need not be JSON.
func nesting(data []byte) (most int) {
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

var errDepth = fmt.Errorf("JSON nests deeper than %d levels", MaxDepth)

// reader builds values from JSON that is known to be well formed.
type reader struct {
	Scanner
	// items and members are stacks of what the arrays and objects being read
	// hold so far.
	items   []Value
	members []Member
}

func (r *reader) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, errDepth
	}
	switch c := r.Next(); c {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		s, err := r.str()
		return Value{kind: String, text: s}, err
	default:
		start := r.At
		r.Word()
		switch c {
		case 'n':
			return Value{}, nil
		case 't', 'f':
			return BoolOf(c == 't'), nil
		}
		return Value{kind: Number, text: string(r.Data[start:r.At])}, nil
	}
}

func (r *reader) array(depth int) (Value, error) {
	base := len(r.items)
	for more := r.Open(']'); more; more, _ = r.More(']') {
		item, err := r.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		r.items = append(r.items, item)
	}
	items := slices.Clone(r.items[base:])
	r.items = r.items[:base]
	return ArrayOf(items...), nil
}

func (r *reader) object(depth int) (Value, error) {
	base := len(r.members)
	for more := r.Open('}'); more; more, _ = r.More('}') {
		r.Next()
		key, err := r.str()
		if err != nil {
			return Value{}, err
		}
		r.Next()
		r.At++ // the colon
		v, err := r.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		r.members = append(r.members, Member{key, v})
	}
	object := ObjectOf(r.members[base:]...) // a copy
	r.members = r.members[:base]
	return object, nil
}

func (r *reader) str() (string, error) {
	start, end, _ := r.Text()
	for _, c := range r.Data[start:end] {
		if c == '\\' || c >= utf8.RuneSelf {
			var s string
			if err := json.Unmarshal(r.Data[start-1:end+1], &s); err != nil {
				return "", fmt.Errorf("invalid JSON string: %w", err)
			}
			return s, nil
		}
	}
	return string(r.Data[start:end]), nil
}

// From returns the JSON value of a Go value: that of encoding/json, except
// that numbers in a [json.RawMessage], [json.Number] or [Value] keep their
// spelling, and the keys of Go maps are sorted.
func From(x any) (Value, error) {
	switch x := x.(type) {
	case nil:
		return Value{}, nil
	case Value:
		return x, nil
	case bool:
		return BoolOf(x), nil
	case string:
		return StringOf(x), nil
	case int:
		return IntOf(int64(x)), nil
	case int64:
		return IntOf(x), nil
	case []any:
		items := make([]Value, len(x))
		for i := range x {
			var err error
			if items[i], err = From(x[i]); err != nil {
				return Value{}, err
			}
		}
		return ArrayOf(items...), nil
	case map[string]any:
		members := make([]Member, 0, len(x))
		for k, e := range x {
			v, err := From(e)
			if err != nil {
				return Value{}, err
			}
			members = append(members, Member{k, v})
		}
		slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
		return ObjectOf(members...), nil
	case json.RawMessage:
		if len(x) == 0 {
			return Value{}, nil
		}
		return Parse(x)
	}
	data, err := json.Marshal(x)
	if err != nil {
		return Value{}, fmt.Errorf("converting a %T to JSON: %w", x, err)
	}
	return Parse(data)
}
