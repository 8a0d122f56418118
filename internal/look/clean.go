// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package look

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes the text of a model or tool safe to show: what cannot be seen
// but changes how the rest is read (terminal escapes, bidi marks, zero-width
// and tag characters) is spelled out, so that it neither acts nor hides. It
// does not escape for HTML or XML; the writers do.
func Clean(s string) string {
	if plainASCII(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.IndexFunc(s, unseen) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
		case unseen(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainASCII reports whether s has nothing but letters, signs and spaces of
// ASCII, tabs and newlines, as almost every text.
func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// unseen reports whether Clean spells r out. The two joiners stay: emoji and
// several scripts need them.
func unseen(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029', '\u3164', '\u115f', '\u1160':
		return true
	}
	// Private use is here because a font may draw anything for it, and
	// noncharacters because XML has no way to carry them.
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Noncharacter_Code_Point)
}
