// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// maxDepth bounds the nesting of a request. Schemas of real tools stay far
// below it.
const maxDepth = 200

var (
	errSyntax = errors.New("not valid JSON")
	errDepth  = fmt.Errorf("nested deeper than %d levels", maxDepth)
)

// span is a part of a byte slice: b[span.lo:span.hi].
type span struct{ lo, hi int }

func (s span) of(b []byte) []byte { return b[s.lo:s.hi] }
func (s span) isZero() bool       { return s == span{} }

// skipSpace returns the index of the first byte at or after i that is not
// JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue checks the JSON value at i and returns the index after it.
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, errSyntax
	}
	switch b[i] {
	case '{':
		return eachField(b, i, depth, nil)
	case '[':
		return eachItem(b, i, depth, nil)
	case '"':
		return skipString(b, i)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

// visitor is told a value's place, which is inside the slice, and skips it: it
// returns the index after.
type visitor func(key span, at, depth int) (end int, err error)

// eachField checks the object at i and returns the index after it. visit,
// when not nil, stands in for skipValue; the key is given as written,
// without its quotes.
func eachField(b []byte, i, depth int, visit visitor) (int, error) {
	return each(b, i, depth, '}', visit)
}

// eachItem does for the array at i what eachField does for an object.
func eachItem(b []byte, i, depth int, visit visitor) (int, error) {
	return each(b, i, depth, ']', visit)
}

func each(b []byte, i, depth int, closing byte, visit visitor) (int, error) {
	if depth++; depth > maxDepth {
		return i, errDepth
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == closing {
		return i + 1, nil
	}
	for {
		var key span
		var err error
		if closing == '}' {
			if i >= len(b) || b[i] != '"' {
				return i, errSyntax
			}
			start := i + 1
			if i, err = skipString(b, i); err != nil {
				return i, err
			}
			key = span{start, i - 1}
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return i, errSyntax
			}
			i = skipSpace(b, i+1)
		}
		if i >= len(b) {
			return i, errSyntax
		}
		if visit != nil {
			i, err = visit(key, i, depth)
		} else {
			i, err = skipValue(b, i, depth)
		}
		if err != nil {
			return i, err
		}
		if i = skipSpace(b, i); i >= len(b) {
			return i, errSyntax
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case closing:
			return i + 1, nil
		default:
			return i, errSyntax
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipString checks the string at i and returns the index after it. It looks
// at eight bytes at a time, since histories are mostly long strings.
func skipString(b []byte, i int) (int, error) {
	i++
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote := x ^ ones*'"'
			slash := x ^ ones*'\\'
			// The lowest high bit set is at the first byte that is a quote,
			// a backslash or a control character; bits above it may be wrong.
			m := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return i, errSyntax
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			n := escapeLen(b, i)
			if n == 0 {
				return i, errSyntax
			}
			i += n
		case c < 0x20:
			return i, errSyntax
		default:
			i++
		}
	}
}

// escapeLen returns the length of the escape at i, 0 when it is none.
func escapeLen(b []byte, i int) int {
	if i+1 >= len(b) {
		return 0
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if i+6 > len(b) {
			return 0
		}
		for _, c := range b[i+2 : i+6] {
			if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func skipWord(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, errSyntax
	}
	return i + len(word), nil
}

func skipNumber(b []byte, i int) (int, error) {
	digits := func() bool {
		start := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > start
	}
	if b[i] == '-' {
		i++
	}
	start := i
	if !digits() || b[start] == '0' && i > start+1 {
		return i, errSyntax
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, errSyntax
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, errSyntax
		}
	}
	return i, nil
}

// text decodes the JSON string raw, quotes included. Anything else is empty.
func text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	inner := raw[1 : len(raw)-1]
	for _, c := range inner {
		if c == '\\' {
			var s string
			// raw has been checked: it is a JSON string.
			_ = json.Unmarshal(raw, &s)
			return s
		}
	}
	return string(inner)
}

// kindOf names the kind of the JSON value raw as OpenAI's errors do.
func kindOf(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	for _, c := range raw {
		if c == '.' || c|0x20 == 'e' {
			return "a decimal"
		}
	}
	return "an integer"
}
