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
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most], len(s) - most
}

// Shorten is s, or its head and how much is missing.
func Shorten(s string, most int) string {
	head, left := Head(s, most)
	if left == 0 {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", head, left)
}

// Excerpt is s, or its head and three dots, where it does not matter how much
// is missing. Bytes of the head that are no characters are left out.
func Excerpt(s string, most int) string {
	head, left := Head(s, most)
	if left == 0 {
		return s
	}
	return strings.ToValidUTF8(head, "") + "..."
}

// List is the texts of errors in a row.
func List(errs []error, sep string) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, sep)
}
