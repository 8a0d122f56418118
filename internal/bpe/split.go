// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package bpe

import (
	"unicode"
	"unicode/utf8"
)

// Next returns the length of the first piece of a text, by the rule of
// cl100k_base; no token goes beyond one:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func Next(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	const mostDigits = 3
	first, size := classOf(s)
	if first == digit {
		return span(s, digit, mostDigits)
	}
	start := 0
	if first != letter && first != newline {
		start = size
	}
	if n := span(s[start:], letter, len(s)); n > 0 {
		return start + n
	}
	start = 0
	if s[0] == ' ' {
		start = 1
	}
	if n := span(s[start:], other, len(s)); n > 0 {
		end := start + n
		return end + span(s[end:], newline, len(s))
	}
	return space(s)
}

// space returns the length of the white space at the beginning of s: up to
// its last newline, or all of it but the last, which goes with what follows.
func space(s string) int {
	end, last, lastNewline := 0, 0, 0
	for end < len(s) {
		c, size := classOf(s[end:])
		if c > newline {
			break
		}
		last, end = end, end+size
		if c == newline {
			lastNewline = end
		}
	}
	switch {
	case lastNewline > 0:
		return lastNewline
	case end < len(s) && last > 0:
		return last
	}
	return end
}

// contraction returns the length of an English one at the beginning of s.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) < 3 {
		return 0
	}
	switch string([]byte{s[1] | 0x20, s[2] | 0x20}) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}

// class is what the rule tells apart. The first two are white space.
type class int

const (
	blank class = iota
	newline
	letter
	digit
	other
)

// classOf returns the class of the first character of s, and its length.
func classOf(s string) (class, int) {
	b := s[0]
	switch {
	case b == '\n' || b == '\r':
		return newline, 1
	case b == ' ' || b >= '\t' && b <= '\r':
		return blank, 1
	case b|0x20 >= 'a' && b|0x20 <= 'z':
		return letter, 1
	case b >= '0' && b <= '9':
		return digit, 1
	case b < utf8.RuneSelf:
		return other, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError:
		return other, size
	case unicode.IsLetter(r):
		return letter, size
	case unicode.IsNumber(r):
		return digit, size
	case unicode.IsSpace(r):
		return blank, size
	}
	return other, size
}

// span returns the length of the characters at the beginning of s that are of
// a class, at most so many of them.
func span(s string, c class, most int) int {
	at := 0
	for n := 0; at < len(s) && n < most; n++ {
		got, size := classOf(s[at:])
		if got != c {
			break
		}
		at += size
	}
	return at
}
