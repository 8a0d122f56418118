// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text is a string of a reply, read leniently: endpoints send null, numbers,
// lists of parts, and objects where a string belongs. What it holds need not
// be valid UTF-8. A stream may be cut inside a character, as bytes or between
// the two escapes of a surrogate pair, and the next piece completes it; see
// [joiner].
type text string

// UnmarshalJSON takes any JSON value.
func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case 'n':
		*t = ""
	case '"':
		*t = text(unquote(b))
	case '[':
		*t = text(joinParts(b))
	default:
		var buf bytes.Buffer
		if err := json.Compact(&buf, b); err != nil {
			return err
		}
		*t = text(buf.String())
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
			Text text   `json:"text"`
		}
		if json.Unmarshal(raw, &part) != nil {
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
	return toValid(s[:cut])
}

// flush returns what is left, with U+FFFD for the part of a character.
func (j *joiner) flush() string {
	s := toValid(j.tail)
	j.tail = ""
	return s
}

// toValid replaces what is no UTF-8 as encoding/json does: each byte, and
// each half of a pair as a whole.
func toValid(s string) string {
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

// number is a whole number of a reply, read leniently: null, a float, or a
// string of digits.
type number struct {
	n   int
	set bool
}

// UnmarshalJSON takes any JSON value; what is no number counts as absent.
func (v *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && f >= -1<<31 && f < 1<<31 {
		*v = number{n: int(f), set: true}
	}
	return nil
}
