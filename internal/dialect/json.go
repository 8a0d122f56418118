// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// maxDepth bounds the nesting of a request. Schemas of real tools stay far
// below it.
const maxDepth = 200

var (
	ErrSyntax = errors.New("not valid JSON")
	errDepth  = fmt.Errorf("nested deeper than %d levels", maxDepth)
)

// Span is a part of a byte slice: b[span.lo:span.hi].
type Span struct{ Lo, Hi int }

func (s Span) Of(b []byte) []byte { return b[s.Lo:s.Hi] }

func (s Span) IsZero() bool { return s == Span{} }

// SkipSpace returns the index of the first byte at or after i that is not
// JSON white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// SkipValue checks the JSON value at i and returns the index after it.
func SkipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, ErrSyntax
	}
	switch b[i] {
	case '{':
		return EachField(b, i, depth, nil)
	case '[':
		return EachItem(b, i, depth, nil)
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
type visitor func(key Span, at, depth int) (end int, err error)

// EachField checks the object at i and returns the index after it. visit,
// when not nil, stands in for skipValue; the key is given as written,
// without its quotes.
func EachField(b []byte, i, depth int, visit visitor) (int, error) {
	return eachIn(b, i, depth, '}', visit)
}

// EachItem does for the array at i what eachField does for an object.
func EachItem(b []byte, i, depth int, visit visitor) (int, error) {
	return eachIn(b, i, depth, ']', visit)
}

func eachIn(b []byte, i, depth int, closing byte, visit visitor) (int, error) {
	if depth++; depth > maxDepth {
		return i, errDepth
	}
	if i = SkipSpace(b, i+1); i < len(b) && b[i] == closing {
		return i + 1, nil
	}
	for {
		var key Span
		var err error
		if closing == '}' {
			if i >= len(b) || b[i] != '"' {
				return i, ErrSyntax
			}
			start := i + 1
			if i, err = skipString(b, i); err != nil {
				return i, err
			}
			key = Span{start, i - 1}
			if i = SkipSpace(b, i); i >= len(b) || b[i] != ':' {
				return i, ErrSyntax
			}
			i = SkipSpace(b, i+1)
		}
		if i >= len(b) {
			return i, ErrSyntax
		}
		if visit != nil {
			i, err = visit(key, i, depth)
		} else {
			i, err = SkipValue(b, i, depth)
		}
		if err != nil {
			return i, err
		}
		if i = SkipSpace(b, i); i >= len(b) {
			return i, ErrSyntax
		}
		switch b[i] {
		case ',':
			i = SkipSpace(b, i+1)
		case closing:
			return i + 1, nil
		default:
			return i, ErrSyntax
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
			return i, ErrSyntax
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			n := escapeLen(b, i)
			if n == 0 {
				return i, ErrSyntax
			}
			i += n
		case c < 0x20:
			return i, ErrSyntax
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
		return i, ErrSyntax
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
		return i, ErrSyntax
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, ErrSyntax
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, ErrSyntax
		}
	}
	return i, nil
}

// IDOf is the id that stands in raw, as a reply with it is read: some endpoints
// send numbers, and clients send them back. What should be there is a text.
func IDOf(raw []byte) string {
	if len(raw) == 0 || raw[0] == '"' {
		return TextOf(raw)
	}
	var t Text
	_ = t.UnmarshalJSON(raw) // it has been checked: it is JSON
	return string(t)
}

// TextOf decodes the JSON string raw, quotes included. Anything else is empty.
func TextOf(raw []byte) string {
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

// Object is a JSON object whose values are not read yet. Unlike a struct, it
// tells keys apart by their case.
type Object map[string]json.RawMessage

// ReadObject reads raw, whose syntax has been checked. Anything that is not an
// object has no keys.
func ReadObject(raw []byte) Object {
	var o Object
	_ = json.Unmarshal(raw, &o)
	return o
}

func Absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// SortedKeys are the members of an object, so that what is said of them does
// not depend on luck.
func SortedKeys(o Object) []string { return slices.Sorted(maps.Keys(o)) }

// CheckJSON says what is wrong with a body that must be a JSON object.
func CheckJSON(body []byte) error {
	i := SkipSpace(body, 0)
	end, err := SkipValue(body, i, 0)
	switch {
	case err != nil:
		return err
	case SkipSpace(body, end) != len(body):
		return ErrSyntax
	case body[i] != '{':
		return errors.New("not an object")
	case !utf8.Valid(body):
		return errors.New("not valid UTF-8")
	}
	return nil
}

// IsWord reports whether s has 1 to limit letters, digits and bytes of extra.
func IsWord(s, extra string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

// Snake spells a field of the request as errors do.
func Snake(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			b.WriteByte(c | 0x20)
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Field returns the value of a field, in either spelling.
func (o Object) Field(camel string) json.RawMessage {
	if raw, ok := o[camel]; ok {
		return raw
	}
	return o[Snake(camel)]
}

// Append appends a JSON object with the members that keys name. add appends the
// JSON of a member; where it appends nothing there is nothing to say.
func Append(b []byte, keys Keys, add func(b []byte, name string) []byte) []byte {
	start := len(b)
	for _, key := range keys {
		m, from := memberOf(key), len(b)
		b = append(append(append(b, `,"`...), m.name...), `":`...)
		b = m.value(b, from, add)
	}
	return closed(b, start)
}

// AppendMembers is [Append] with keys that were taken apart.
func AppendMembers(b []byte, members []Member, add func(b []byte, name string) []byte) []byte {
	start := len(b)
	for i := range members {
		m, from := &members[i], len(b)
		b = m.value(append(b, m.lead...), from, add)
	}
	return closed(b, start)
}

// Member is an entry of [Keys] taken apart, for what is written with each reply.
type Member struct {
	name             string
	lead             string // what stands before the value: a comma, the name, a colon
	fixed            string // its value, if it is always there
	always, optional bool
}

// MembersOf takes keys apart.
func MembersOf(keys Keys) []Member {
	members := make([]Member, len(keys))
	for i, key := range keys {
		members[i] = memberOf(key)
		members[i].lead = `,"` + members[i].name + `":`
	}
	return members
}

// memberOf is a member without its lead.
func memberOf(key string) (m Member) {
	m.name, m.fixed, m.always = strings.Cut(key, "=")
	if m.optional = !m.always && m.name[len(m.name)-1] == '?'; m.optional {
		m.name = m.name[:len(m.name)-1]
	}
	return m
}

// value appends the value of a member. Its name stands at from, before it.
func (m *Member) value(b []byte, from int, add func(b []byte, name string) []byte) []byte {
	if m.always {
		return append(b, m.fixed...)
	}
	n := len(b)
	if b = add(b, m.name); len(b) > n {
		return b
	}
	if m.optional {
		return b[:from]
	}
	return append(b, "null"...)
}

// closed makes an object of members that begin with a comma each.
func closed(b []byte, start int) []byte {
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

// AppendObject is [Append] where value returns the JSON of a member; nil is
// nothing to say.
func AppendObject(b []byte, keys Keys, value func(name string) []byte) []byte {
	return Append(b, keys, func(b []byte, name string) []byte { return append(b, value(name)...) })
}

// Quote encodes s as JSON without escaping HTML, as the real endpoints do.
func Quote(s string) []byte { return AppendQuote(make([]byte, 0, len(s)+len(`""`)), s) }

// AppendQuote appends what [Quote] returns.
func AppendQuote(b []byte, s string) []byte {
	from, done := len(b), 0
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			return append(b[:from], exactjson.Quote(s)...)
		case c == '"' || c == '\\':
			b = append(append(append(b, s[done:i]...), '\\'), c)
			done = i + 1
		}
	}
	return append(append(b, s[done:]...), '"')
}

// Digits encodes a number.
func Digits[T int | int64](n T) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// QuoteIf encodes s, unless it is empty.
func QuoteIf(s string) []byte {
	if s == "" {
		return nil
	}
	return Quote(s)
}

// Array encodes a list of values.
func Array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// Encode encodes what always can be, without escaping HTML.
func Encode(v any) json.RawMessage {
	b, _ := exactjson.Marshal(v)
	return b
}

// WithDefault puts a member at the end of a JSON object that lacks it.
func WithDefault(object json.RawMessage, key, value string) json.RawMessage {
	members := ReadObject(object)
	if _, ok := members[key]; ok || members == nil {
		return object
	}
	b := bytes.Clone(bytes.TrimSpace(object))
	b = bytes.TrimRight(b[:len(b)-1], " \t\r\n")
	if len(members) > 0 {
		b = append(b, ',')
	}
	return fmt.Appendf(b, `"%s":%s}`, key, value)
}
