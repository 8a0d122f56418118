// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package prose fits values into sentences that people read: a number with its
// noun, a long text cut to the room there is for it.
package prose

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Count is a number with its noun: "1 call", "3 calls".
func Count(n int, noun string) string { return CountOf(n, noun, noun+"s") }

// CountOf is [Count] for nouns whose plural takes more than an s.
func CountOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// And lists words: "a", "a and b", "a, b and c".
func And(words []string) string { return listed(words, " and ") }

// Or is [And] for choices: "a, b or c".
func Or(words []string) string { return listed(words, " or ") }

func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + last + words[n]
}

// Head is the beginning of s in at most most bytes and whole characters, and
// how many bytes are left.
func Head(s string, most int) (head string, left int) {
	most = max(0, most)
	if len(s) <= most {
		return s, 0
	}
	most -= inside(s, most)
	return s[:most], len(s) - most
}

// inside is how many bytes of a character stand before the byte at an offset; 0
// where it begins one, or where the bytes are no text.
func inside(s string, at int) int {
	for n := range min(at+1, utf8.UTFMax) {
		if utf8.RuneStart(s[at-n]) {
			return n
		}
	}
	return 0
}

// Tail is the end of s, as [Head] is its beginning.
func Tail(s string, most int) (tail string, left int) {
	at := max(0, len(s)-max(0, most))
	if at == 0 {
		return s, 0
	}
	for at < len(s) && inside(s, at) > 0 {
		at++
	}
	return s[at:], at
}

// Ends are the first and the last bytes of s, where it is longer than both, and
// how many are left out between them. Else it is all in the head.
func Ends(s string, first, last int) (head, tail string, left int) {
	first, last = max(0, first), max(0, last)
	if len(s) <= first+last {
		return s, "", 0
	}
	head, _ = Head(s, first)
	tail, _ = Tail(s, last)
	return head, tail, len(s) - len(head) - len(tail)
}

// Middle is s, or its ends with a mark between them.
func Middle(s string, first, last int) string {
	head, tail, left := Ends(s, first, last)
	if left == 0 {
		return s
	}
	return head + "…" + tail
}

// Around is the part of s around the byte at offset at, so many bytes before
// and after it, with a mark at an end that was cut; and where in it that byte is.
func Around(s string, at, before, after int) (part string, offset int) {
	at = max(0, min(at, len(s)))
	if at < len(s) {
		at -= inside(s, at)
	}
	tail, left := Tail(s[:at], before)
	head, more := Head(s[at:], after)
	if left > 0 {
		tail = "…" + tail
	}
	if more > 0 {
		head += "…"
	}
	return tail + head, len(tail)
}

// OneLine is s on one line, as [Shorten] has it.
func OneLine(s string, most int) string { return Shorten(strings.Join(strings.Fields(s), " "), most) }

// Shorten is s, or its head and how much is missing.
func Shorten(s string, most int) string {
	head, left := Head(s, most)
	if left == 0 {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", head, left)
}

// Excerpt is s, or its head and three dots, where it does not matter how much
// is missing.
func Excerpt[T ~string | ~[]byte](s T, most int) string {
	if len(s) <= most {
		return string(s)
	}
	head, _ := Head(string(s[:max(0, most)+1]), most) // of many bytes a copy would be long
	return head + "..."
}

// List is the texts of errors in a row.
func List(errs []error, sep string) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, sep)
}
