// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package prose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Suggest returns the known word that somebody who wrote word most likely
// meant, or "" when none is close. Messages about unknown names end with it.
// It looks at the first words alone where there are very many, so that many
// messages about many words take no time that grows with both.
func Suggest(word string, known []string) string {
	const most = 200
	known = known[:min(len(known), most)]
	best, bestCost := "", 1+(len(word)+2)/4 // about one slip in four letters
	for _, k := range known {
		cost := distance(strings.ToLower(word), strings.ToLower(k))
		if cost < bestCost || cost == bestCost && nearer(word, k, best) {
			best, bestCost = k, cost
		}
	}
	if best == "" {
		return ofWords(word, known)
	}
	return best
}

// DidYouMean is the end of a message about an unknown word: ` (did you mean
// "that"?)`, or nothing when no known word is close.
func DidYouMean(word string, known []string) string {
	if meant := Suggest(word, known); meant != "" {
		return fmt.Sprintf(" (did you mean %q?)", meant)
	}
	return ""
}

// MeantOr is [DidYouMean], or the text otherwise: what there is, as a rule.
func MeantOr(word string, known []string, otherwise string) string {
	return cmp.Or(DidYouMean(word, known), otherwise)
}

// ofWords returns the known name that shares whole words with one: all of its
// own are in it, or it has all of its words. Of two that do there is none.
func ofWords(word string, known []string) string {
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == '/' || r == ' ' })
	}
	within := func(a, b []string) bool {
		return len(a) > 0 && !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
	}
	asked := words(word)
	var parts, wholes []string
	for _, k := range known {
		switch own := words(k); {
		case within(own, asked):
			parts = append(parts, k)
		case within(asked, own):
			wholes = append(wholes, k)
		}
	}
	for _, list := range [][]string{parts, wholes} {
		if len(list) == 1 {
			return list[0]
		}
	}
	return ""
}

// nearer reports whether of two words with as many slips a is the better one:
// of versions, the one with the nearer number.
func nearer(word, a, b string) bool {
	if len(a) != len(word) || len(b) != len(word) {
		return false
	}
	apart := func(w string) int {
		sum := 0
		for i := range len(w) {
			if w[i] >= '0' && w[i] <= '9' && word[i] >= '0' && word[i] <= '9' {
				sum += max(int(w[i])-int(word[i]), int(word[i])-int(w[i]))
			} else if w[i] != word[i] {
				return len(w) << 8
			}
		}
		return sum
	}
	return apart(a) < apart(b)
}

// distance counts insertions, deletions, replacements and swaps of
// neighbours that make b of a.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return len(a) + len(b)
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			replace := prev[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			cur[j] = min(replace, prev[j]+1, cur[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
