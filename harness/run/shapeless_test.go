// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
)

// TestShapeless takes the same texts out again and again: what has no key is
// known by then, and little of it is kept.
func TestShapeless(t *testing.T) {
	s, err := newShapeless()
	if err != nil {
		t.Fatal(err)
	}
	const plain = "The weather in Paris is sunny."
	secret := "use sk-" + "ant-api03-Zq8vT2mXw5Rk9LpB3nHs7YcD1fGjA4eU6iOo0-9aBcDeFgHiJkLmNoPqRsTuVwXyZ"
	for range 3 {
		if got := s.Replace(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
		if got := s.Replace(secret); strings.Contains(got, "Zq8vT2mX") {
			t.Errorf("the key stays in %q", got)
		}
	}
	if !s.isClean(plain) || s.isClean(secret) {
		t.Errorf("known as clean: the text %v, the key %v", s.isClean(plain), s.isClean(secret))
	}
	for n := range 3 * maxClean / longestClean {
		s.keep(strings.Repeat(string(rune('a'+n%26)), longestClean-n))
	}
	s.keep(strings.Repeat("long ", longestClean))
	held := 0
	for text := range s.clean {
		held += len(text)
	}
	if held > maxClean || held != s.bytes {
		t.Errorf("%d bytes are kept, counted as %d, want at most %d", held, s.bytes, maxClean)
	}
}
