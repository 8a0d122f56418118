// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Random returns the random numbers of a reply that belong to label.
func Random(seed uint64, label string) *rand.Rand {
	h := uint64(14695981039346656037)
	for i := range len(label) {
		h = (h ^ uint64(label[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// Pieces cuts a text as the style says, never inside a character. An empty
// text has no pieces. seed tells the cuts of one text from those of another.
func Pieces(s string, style *Style, seed uint64) []string {
	f := &style.Fragments
	switch {
	case s == "":
		return nil
	case f.Unit != "":
		return cut(s, f, seed)
	case style.PieceRunes > 0:
		return group(Runes(s), func() int { return style.PieceRunes })
	}
	return Words(s)
}

// cut cuts s by the units and sizes of f.
func cut(s string, f *Fragments, seed uint64) []string {
	units := unitsOf(s, f.Unit)
	var pieces []string
	if len(f.Cuts) > 0 {
		pieces = cutAt(units, f.Cuts)
	} else {
		lo := max(f.Min, 1)
		hi := max(f.Max, lo)
		r := Random(uint64(f.Seed)^seed, "fragments")
		pieces = group(units, func() int { return lo + r.IntN(hi-lo+1) })
	}
	if f.Unit == UnitByte {
		return wholeRunes(pieces)
	}
	return pieces
}

// wholeRunes moves the cuts within a character to its end.
func wholeRunes(pieces []string) []string {
	var out []string
	for _, p := range pieces {
		n := 0
		for len(out) > 0 && n < len(p) && !utf8.RuneStart(p[n]) {
			n++
		}
		if n > 0 {
			out[len(out)-1] += p[:n]
		}
		if n < len(p) {
			out = append(out, p[n:])
		}
	}
	return out
}

// unitsOf returns the units of s, which make it up.
func unitsOf(s string, unit Unit) []string {
	switch unit {
	case UnitByte:
		out := make([]string, len(s))
		for i := range len(s) {
			out[i] = s[i : i+1]
		}
		return out
	case UnitRune:
		return Runes(s)
	case UnitToken:
		return Tokens(s)
	case UnitWhole:
		return []string{s}
	}
	return Words(s)
}

// group joins units to pieces of size() units, of which the last may be
// shorter.
func group(units []string, size func() int) []string {
	var pieces []string
	for len(units) > 0 {
		n := min(max(size(), 1), len(units))
		pieces = append(pieces, strings.Join(units[:n], ""))
		units = units[n:]
	}
	return pieces
}

// cutAt joins units to pieces that end after so many units. Places beyond the
// end, and those that do not go up, cut nothing.
func cutAt(units []string, places []int) []string {
	var pieces []string
	at := 0
	for _, n := range places {
		if at < n && n < len(units) {
			pieces = append(pieces, strings.Join(units[at:n], ""))
			at = n
		}
	}
	return append(pieces, strings.Join(units[at:], ""))
}

// Units returns the number of units of s.
func Units(s string, unit Unit) int { return len(unitsOf(s, unit)) }

// Runes returns the characters of s. A byte that belongs to none is one.
func Runes(s string) []string { return strings.Split(s, "") }

// Tokens returns the tokens of JSON, white space with the one before it.
// Anything that is not JSON is cut in words.
func Tokens(s string) []string {
	if !json.Valid([]byte(s)) {
		return Words(s)
	}
	var out []string
	for s != "" {
		n := tokenEnd(s)
		for n < len(s) && strings.IndexByte(" \t\r\n", s[n]) >= 0 {
			n++
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// tokenEnd returns where the token at the start of s ends, in valid JSON.
func tokenEnd(s string) int {
	const punctuation = "{}[]:,"
	switch {
	case s[0] == '"':
		for i := 1; i < len(s); i++ {
			if s[i] == '\\' {
				i++
			} else if s[i] == '"' {
				return i + 1
			}
		}
		return len(s)
	case strings.IndexByte(punctuation, s[0]) >= 0:
		return 1
	}
	if n := strings.IndexAny(s[1:], punctuation+"\" \t\r\n"); n >= 0 {
		return 1 + n
	}
	return len(s)
}

// Escape writes the characters beyond ASCII of a JSON text as \u escapes.
// Anything that is not JSON is left alone.
func Escape(s string) string {
	if !json.Valid([]byte(s)) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// wordLen is the longest piece of a word, in runes.
const wordLen = 8

// Words cuts s into pieces of about a token, never inside a character: a space
// belongs to the word after it.
func Words(s string) []string {
	var pieces []string
	for s != "" {
		n := wordEnd(s)
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}

// CountWords is the number of pieces that [Words] cuts s into.
func CountWords(s string) int {
	n := 0
	for ; s != ""; n++ {
		s = s[wordEnd(s):]
	}
	return n
}

func wordEnd(s string) int {
	class, runes := -1, 0
	for i, r := range s {
		c := runeClass(r)
		if runes == wordLen || class >= 0 && c != class {
			return i
		}
		if i > 0 || c != classSpace {
			class = c
		}
		runes++
	}
	return len(s)
}

const (
	classSpace = iota
	classWord
	classOther
)

func runeClass(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return classSpace
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return classWord
	}
	return classOther
}
