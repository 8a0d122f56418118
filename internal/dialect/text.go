// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// Text is a string of a reply, read leniently: endpoints send null, numbers,
// lists of parts, and objects where a string belongs. What it holds need not
// be valid UTF-8. A stream may be cut inside a character, as bytes or between
// the two escapes of a surrogate pair, and the next piece completes it; see
// [joiner].
type Text string

// UnmarshalJSON takes any JSON value.
func (t *Text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case 'n':
		*t = ""
	case '"':
		*t = Text(unquote(b))
	case '[':
		*t = Text(joinParts(b))
	default:
		var buf bytes.Buffer
		if err := json.Compact(&buf, b); err != nil {
			return err
		}
		*t = Text(buf.String())
	}
	return nil
}

// joinParts joins the text parts of a multi-part content.
func joinParts(b []byte) string {
	var parts []json.RawMessage
	if json.Unmarshal(b, &parts) != nil {
		return string(b)
	}
	var sb strings.Builder
	for _, raw := range parts {
		if raw[0] == '"' {
			sb.WriteString(unquote(raw))
			continue
		}
		var part struct {
			Type string `json:"type"`
			Text Text   `json:"text"`
		}
		if exactjson.Unmarshal(raw, &part) != nil {
			continue
		}
		switch part.Type {
		case "", "text", "output_text":
			sb.WriteString(string(part.Text))
		}
	}
	return sb.String()
}

// unquote decodes a JSON string, which the decoder has found well formed. It
// keeps invalid bytes as they are and writes half a surrogate pair as three
// bytes (WTF-8), where encoding/json would put U+FFFD for either.
func unquote(b []byte) string {
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			n, _ := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
			out = appendUnit(out, rune(n))
			i += 4
		default:
			out = append(out, b[i])
		}
	}
	return string(out)
}

// appendUnit appends a UTF-16 code unit, completing a pair where out ends
// with the first half of one.
func appendUnit(out []byte, unit rune) []byte {
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(out, unit)
	}
	if high, ok := endsInHigh(string(out[max(0, len(out)-3):])); ok && unit >= 0xdc00 {
		return utf8.AppendRune(out[:len(out)-3], utf16.DecodeRune(high, unit))
	}
	return append(out, 0xe0|byte(unit>>12), 0x80|byte(unit>>6)&0x3f, 0x80|byte(unit)&0x3f)
}

// endsInHigh reports whether s ends with the three bytes of a first half.
func endsInHigh(s string) (rune, bool) {
	if len(s) < 3 {
		return 0, false
	}
	t := s[len(s)-3:]
	if t[0] != 0xed || t[1] < 0xa0 || t[1] > 0xaf || t[2] < 0x80 || t[2] > 0xbf {
		return 0, false
	}
	return 0xd000 | rune(t[1]&0x3f)<<6 | rune(t[2]&0x3f), true
}

// joiner puts pieces of text together so that only whole characters leave it.
type joiner struct{ tail string }

// add returns the whole characters that s completes, and keeps the rest.
func (j *joiner) add(s string) string {
	if j.tail == "" && utf8.ValidString(s) {
		return s
	}
	s = joinSurrogates(j.tail + s)
	cut := len(s)
	if _, ok := endsInHigh(s); ok {
		cut -= 3
	} else {
		for n := 1; n <= min(3, len(s)); n++ {
			if c := s[len(s)-n]; utf8.RuneStart(c) {
				if !utf8.FullRuneInString(s[len(s)-n:]) {
					cut -= n
				}
				break
			}
		}
	}
	j.tail = s[cut:]
	return ToValid(s[:cut])
}

// flush returns what is left, with U+FFFD for the part of a character.
func (j *joiner) flush() string {
	s := ToValid(j.tail)
	j.tail = ""
	return s
}

// ToValid replaces anything that is not UTF-8 as encoding/json does: each byte,
// and each half of a pair as a whole.
func ToValid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 && isHalf(s[i:]) {
			size = 3
		}
		out = utf8.AppendRune(out, r)
		i += size
	}
	return string(out)
}

// isHalf reports whether s begins with the three bytes of half a pair.
func isHalf(s string) bool {
	return len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && s[2] >= 0x80 && s[2] <= 0xbf
}

// joinSurrogates replaces pairs of halves, three bytes each, by their
// character.
func joinSurrogates(s string) string {
	if strings.IndexByte(s, 0xed) < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		out = append(out, s[i])
		if n := len(out); n >= 6 && out[n-3] == 0xed && out[n-2] >= 0xb0 && out[n-2] <= 0xbf && out[n-1]&0xc0 == 0x80 {
			low := 0xd000 | rune(out[n-2]&0x3f)<<6 | rune(out[n-1]&0x3f)
			if high, ok := endsInHigh(string(out[n-6 : n-3])); ok {
				out = utf8.AppendRune(out[:n-6], utf16.DecodeRune(high, low))
			}
		}
	}
	return string(out)
}

// Number is a whole number of a reply, read leniently: null, a float, or a
// string of digits.
type Number struct {
	N   int
	Set bool
}

// UnmarshalJSON takes any JSON value; anything that is not a number counts as
// absent.
func (v *Number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && f >= -1<<31 && f < 1<<31 {
		*v = Number{N: int(f), Set: true}
	}
	return nil
}

// Count is a number of tokens. A negative one counts nothing, and one that is
// out of all bounds counts as much as is counted.
type Count int

// UnmarshalJSON takes any JSON value; anything that is not a number counts
// nothing.
func (c *Count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	*c = 0
	if f > 0 && (err == nil && !math.IsInf(f, 0) || errors.Is(err, strconv.ErrRange)) {
		*c = Count(min(f, math.MaxInt32))
	}
	return nil
}

// Members is a JSON object whose values are not read yet.
type Members map[string]json.RawMessage

// UnmarshalJSON takes any JSON value. Anything that is not an object has no
// members.
func (o *Members) UnmarshalJSON(b []byte) error {
	return OfObject(b, (*map[string]json.RawMessage)(o))
}

// Get returns the first member of these names that is there and not null.
func (o Members) Get(names ...string) json.RawMessage {
	for _, name := range names {
		if raw := o[name]; len(raw) > 0 && string(raw) != "null" {
			return raw
		}
	}
	return nil
}

// Text returns a member as a text.
func (o Members) Text(names ...string) Text {
	var t Text
	if raw := o.Get(names...); raw != nil {
		_ = t.UnmarshalJSON(raw) // the value was decoded before
	}
	return t
}

// Number returns a member as a whole number.
func (o Members) Number(names ...string) Number {
	var n Number
	if raw := o.Get(names...); raw != nil {
		_ = n.UnmarshalJSON(raw) // any value will do
	}
	return n
}

// Count returns a member as a number of tokens.
func (o Members) Count(names ...string) int {
	var c Count
	if raw := o.Get(names...); raw != nil {
		_ = c.UnmarshalJSON(raw) // any value will do
	}
	return int(c)
}

// Object returns a member as an object; nil when it is none.
func (o Members) Object(names ...string) Members {
	var v Members
	_ = json.Unmarshal(o.Get(names...), &v)
	return v
}

// List returns a member as a list; a value that is no list is one of itself.
func (o Members) List(names ...string) []json.RawMessage {
	raw := o.Get(names...)
	if raw == nil {
		return nil
	}
	if raw[0] != '[' {
		return []json.RawMessage{raw}
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list)
	return list
}

// Objects returns the objects of a list.
func (o Members) Objects(names ...string) []Members {
	var out []Members
	for _, raw := range o.List(names...) {
		var v Members
		if json.Unmarshal(raw, &v) == nil && v != nil {
			out = append(out, v)
		}
	}
	return out
}

// IsTrue reports whether a member is true.
func (o Members) IsTrue(name string) bool { return string(o[name]) == "true" }

// OfObject decodes an object, and nothing from other values.
func OfObject(b []byte, v any) error {
	if b[0] != '{' {
		return nil
	}
	return exactjson.Unmarshal(b, v)
}
