// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package bpe_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/rehearse-dev/rehearse/internal/bpe"
)

func Example() {
	fmt.Println(bpe.Count("It is sunny in Zürich."))
	// Output: 8
}

// differs reports whether the library counts a text in another way than the
// rule says: it cuts white space in which newlines stand apart, for which the
// vocabulary has tokens, takes a long s for the s of 's, and skips DEL.
func differs(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsAny(s, "\u017f\u212a\x7f") || apart.MatchString(s)
}

var apart = regexp.MustCompile(`[\r\n][\s\p{Z}\x{85}\v]*[\t\v\f\x{85}\p{Z}][\s\p{Z}\x{85}\v]*[\r\n]`)

// counter is a library that reads the whole vocabulary.
func counter(t testing.TB) func(s string) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		t.Fatal(err)
	}
	return func(s string) int {
		n, err := codec.Count(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// TestCount compares our counts with the library's for all short texts over an
// alphabet with a character of each kind.
func TestCount(t *testing.T) {
	want := counter(t)
	const alphabet = " a7'sL.\n\ré\u00a0²"
	var check func(s string, left int)
	check = func(s string, left int) {
		if got := bpe.Count(s); !differs(s) && got != want(s) {
			t.Fatalf("Count(%q) = %d, want %d", s, got, want(s))
		}
		for _, r := range alphabet {
			if left > 0 {
				check(s+string(r), left-1)
			}
		}
	}
	check("", 4)
	for _, s := range seeds() {
		if got := bpe.Count(s); !differs(s) && got != want(s) {
			t.Errorf("Count(%q) = %d, want %d", s, got, want(s))
		}
	}
}

func seeds() []string {
	return []string{
		"It's sunny in Paris, and WE'LL see 12345 more days.\n\n  Won't we?",
		`{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}`,
		"a\x00b\v\f  \r\n \t x", "'re 'Ve 'lL 'x '", "café \u2028 \u3000x \u0085", "日本語のテキスト、そして👩‍🚀🌞。", "Ⅷ ½ ٣٤٥٦٧",
		strings.Repeat("ab ", 200), strings.Repeat("xyzzy", 60), "\xff\xfe",
	}
}

// TestPrefix cuts texts after each of their tokens.
func TestPrefix(t *testing.T) {
	for _, s := range seeds() {
		last := 0
		for n := range bpe.Count(s) + 1 {
			at := bpe.Prefix(s, n)
			if n > 0 && at <= last || bpe.Count(s[:at]) > n && utf8.ValidString(s[:at]) {
				t.Errorf("Prefix(%q, %d) = %d after %d: %d tokens", s, n, at, last, bpe.Count(s[:at]))
			}
			last = at
		}
		if last != len(s) {
			t.Errorf("Prefix(%q) ends at %d", s, last)
		}
	}
}

// TestLong counts what would take for ever if it were one word.
func TestLong(t *testing.T) {
	if n := bpe.Count(strings.Repeat("ab", 1<<18)); n < 1000 || n > 1<<18 {
		t.Errorf("%d tokens", n)
	}
}

func FuzzCount(f *testing.F) {
	want := counter(f)
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := bpe.Count(s); len(s) <= 500 && !differs(s) && got != want(s) {
			t.Errorf("Count(%q) = %d, want %d", s, got, want(s))
		}
	})
}
