// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

// shape is what the keys of one issuer look like: a prefix and the characters
// after it.
type shape struct {
	prefix, rule string
	min          int   // characters after the prefix
	class        class // of these
	hex          bool  // it has exactly min of these, all hexadecimal digits
}

// class is a set of bytes as bits.
type class uint8

const (
	isLower class = 1 << iota
	isUpper
	isDigit
	isDash // - _
	isDot  // .
	isBase // + / = ~

	isAlnum = isLower | isUpper | isDigit
	isWord  = isAlnum | isDash
	isRun   = isWord | isDot | isBase
)

func classOf(c byte) class {
	switch {
	case c >= 'a' && c <= 'z':
		return isLower
	case c >= 'A' && c <= 'Z':
		return isUpper
	case c >= '0' && c <= '9':
		return isDigit
	case c == '-' || c == '_':
		return isDash
	case c == '.':
		return isDot
	case c == '+' || c == '/' || c == '=' || c == '~':
		return isBase
	}
	return 0
}

// shaped appends the edits for known shapes in the run b[start:end].
func (p *pass) shaped(b []byte, start, end int, out []edit) []edit {
	for i := start; i < end; i++ {
		list := p.r.shapes[b[i]]
		if list == nil || i > 0 && classOf(b[i-1])&isAlnum != 0 {
			continue
		}
		for _, s := range list {
			if n := s.length(b[i:end]); n > 0 && !opaque(b[start:i]) && !(s.rule == "mailgun" && i > start && classOf(b[i-1])&(isDash|isDot) != 0) { // cache-key-
				out = append(out, p.edit(s.rule, b, i, i+n))
				i += n - 1
				break
			}
		}
	}
	return out
}

// opaque reports whether what stands before a shape, in one piece with it, is
// base64 in which the shape has come about by chance.
func opaque(before []byte) bool {
	const least = 64
	if n := bytes.LastIndexByte(before, '.'); n >= 0 {
		before = before[n+1:]
	}
	if len(before) < least || bytes.Contains(before, []byte(markStart)) {
		return false
	}
	tail := before[len(before)-least:]
	return mixed(tail) && random(tail)
}

// farEnough is where a text that might be a key is given up: a text of many
// beginnings of keys must not be read to its end from each of them.
const farEnough = 1024

// maxSquare is the longest key of Square, whose beginning is that of many a
// binary format in base64 too.
const maxSquare = 64

// length returns the length of the key that b begins with, or 0.
func (s *shape) length(b []byte) int {
	if len(b) < len(s.prefix)+s.min || string(b[:len(s.prefix)]) != s.prefix {
		return 0
	}
	n := len(s.prefix)
	digits := 0
	dots := 0
	for n < len(b) && s.class&classOf(b[n]) != 0 {
		switch classOf(b[n]) {
		case isDigit:
			digits++
		case isDot:
			dots++
		}
		if n++; n == farEnough && (s.rule == "jwt" && dots == 0 || digits == 0 || wordy(b[len(s.prefix):n])) || n > maxSquare && s.rule == "square" {
			return 0
		}
	}
	for n > 0 && b[n-1] == '.' {
		n--
	}
	if n-len(s.prefix) < s.min {
		return 0
	}
	if s.hex {
		for _, c := range b[len(s.prefix):n] {
			if _, ok := hexDigit(c); !ok {
				return 0
			}
		}
		if n != len(s.prefix)+s.min || n < len(b) && classOf(b[n])&isAlnum != 0 {
			return 0
		}
	}
	if chance(s.rule) && !varied(b[len(s.prefix):n]) {
		return 0
	}
	if s.rule == "jwt" {
		if bytes.Count(b[:n], []byte{'.'}) != 2 || bytes.Contains(b[:n], []byte("..")) {
			return 0
		}
	} else if wordy(b[len(s.prefix):n]) {
		return 0
	} else if digits == 0 && !jumbled(longest(b[len(s.prefix):n])) { // sk-your-key-goes-here
		return 0
	}
	return n
}

// wordy reports whether a text is words and numbers with dashes between, as the
// anchor of a page.
func wordy(v []byte) bool {
	words := 0
	for piece := range bytes.FieldsFuncSeq(v, func(r rune) bool { return r == '-' || r == '_' }) {
		var all class
		for _, c := range piece {
			all |= classOf(c)
		}
		if all != isLower && all != isUpper && !(all == isDigit && len(piece) <= 4) || len(piece) > 14 {
			return false
		}
		words++
	}
	return words >= 3
}

// jumbled reports whether letters, 28 at least, are upper and lower case as chance
// has it.
func jumbled(v []byte) bool {
	if len(v) < 28 {
		return false
	}
	changes := 0
	for i := 1; i < len(v); i++ {
		if classOf(v[i])&isAlnum == 0 {
			return false
		}
		if classOf(v[i]) != classOf(v[i-1]) {
			changes++
		}
	}
	return changes*100 >= 30*len(v)
}

// strong reports whether a value after a name of a secret is likely one,
// where the name stands in prose or code.
func strong(v []byte) bool { return len(v) >= 8 && mixes(v) }

// mixes reports whether a word has both letters and digits.
func mixes(v []byte) bool {
	var all class
	for _, c := range v {
		switch c {
		case '(', ')', '[', ']', '{', '}', '<', '>', '$', ' ', '\t', '\n', ',':
			return false
		}
		all |= classOf(c)
	}
	return all&isDigit != 0 && all&(isLower|isUpper) != 0
}

// trivial reports whether a value says yes or no, or nothing: no secret does.
func trivial(v []byte) bool {
	switch string(bytes.ToLower(bytes.TrimSpace(v))) {
	case "", "true", "false", "yes", "no", "on", "off", "null", "none", "nil", "0", "1", "optional", "required", "disabled", "enabled":
		return true
	}
	return false
}

// masked reports whether a value is what people put in place of a secret.
func masked(v []byte) bool {
	if placeholder(v) == len(v) {
		return true
	}
	v = bytes.Trim(v, " \t\r\n<>[](){}*#\"'`.…-_=:%$")
	if len(v) == 0 {
		return true
	}
	if len(v) > 24 {
		return false
	}
	same := true
	for _, c := range v {
		same = same && c|0x20 == v[0]|0x20
	}
	switch string(bytes.ToLower(v)) {
	case "redacted", "masked", "hidden", "filtered", "placeholder", "removed", "censored", "sanitized", "scrubbed", "none", "null", "undefined":
		return true
	}
	return same && (v[0]|0x20 == 'x' || v[0] == '0') && len(v) > 2
}
