// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package prose_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

func Example() {
	fmt.Println(prose.Count(1, "call"), prose.Count(0, "call"), prose.CountOf(2, "reply", "replies"))
	fmt.Println(prose.Shorten("a long story", 6))
	fmt.Println(prose.Excerpt("a long story", 6))
	// Output:
	// 1 call 0 calls 2 replies
	// a long… (6 bytes more)
	// a long...
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		s       string
		most    int
		shorten string
		excerpt string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc… (1 bytes more)", "abc..."},
		{"aéb", 2, "a… (3 bytes more)", "a..."},
		{"aéb", 3, "aé… (1 bytes more)", "aé..."},
		{"aé", 3, "aé", "aé"},
		{"日本", 2, "… (6 bytes more)", "..."},
		{"abc", 0, "… (3 bytes more)", "..."},
		{"abc", -1, "… (3 bytes more)", "..."},
		{"a\xffbcd", 3, "a\xffb… (2 bytes more)", "a\xffb..."},
		{"a\xff", 3, "a\xff", "a\xff"},
	} {
		if got := prose.Shorten(tc.s, tc.most); got != tc.shorten {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tc.s, tc.most, got, tc.shorten)
		}
		if got := prose.Excerpt(tc.s, tc.most); got != tc.excerpt {
			t.Errorf("Excerpt(%q, %d) = %q, want %q", tc.s, tc.most, got, tc.excerpt)
		}
	}
}

func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		name        string
		s           string
		first, last int
		want        string
	}{
		{"fits", "abcd", 2, 2, "abcd"},
		{"one too many", "abcde", 2, 2, "ab…de"},
		{"whole characters", "éééé", 3, 3, "é…é"},
		{"no head", "abcd", 0, 3, "…bcd"},
		{"no tail", "abcd", 3, 0, "abc…"},
		{"neither", "abcd", -1, -1, "…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := prose.Middle(tc.s, tc.first, tc.last); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			head, tail, left := prose.Ends(tc.s, tc.first, tc.last)
			if got := len(head) + left + len(tail); got != len(tc.s) {
				t.Errorf("%q, %q and %d are %d bytes, want %d", head, tail, left, got, len(tc.s))
			}
		})
	}
}

func TestAround(t *testing.T) {
	for _, tc := range []struct {
		name              string
		s                 string
		at, before, after int
		want              string
		offset            int
	}{
		{"fits", "abcdef", 3, 3, 3, "abcdef", 3},
		{"both ends", "abcdefgh", 4, 2, 2, "…cdef…", 5},
		{"the beginning", "abcdef", 0, 2, 2, "ab…", 0},
		{"the end", "abcdef", 6, 2, 2, "…ef", 5},
		{"whole characters", "éaébé", 3, 2, 3, "…aéb…", 4},
		{"inside a character", "aéb", 2, 5, 5, "aéb", 1},
		{"outside", "abc", 9, 2, 2, "…bc", 5},
		{"before it", "abc", -1, 2, 2, "ab…", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, offset := prose.Around(tc.s, tc.at, tc.before, tc.after); got != tc.want || offset != tc.offset {
				t.Errorf("got %q, %d, want %q, %d", got, offset, tc.want, tc.offset)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	for _, tc := range []struct{ name, s, want string }{
		{"one line", "a b", "a b"},
		{"several", " a\n\tb ", "a b"},
		{"long", "a\nbcdefgh", "a bcdefg… (1 bytes more)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := prose.OneLine(tc.s, 8); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestListed(t *testing.T) {
	for _, tc := range []struct {
		name, and, or string
		words         []string
	}{
		{"none", "", "", nil},
		{"one", "a", "a", []string{"a"}},
		{"two", "a and b", "a or b", []string{"a", "b"}},
		{"three", "a, b and c", "a, b or c", []string{"a", "b", "c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if and, or := prose.And(tc.words), prose.Or(tc.words); and != tc.and || or != tc.or {
				t.Errorf("got %q and %q, want %q and %q", and, or, tc.and, tc.or)
			}
		})
	}
}

func FuzzHead(f *testing.F) {
	f.Add("日本", 4)
	f.Add("\x80\x80\x80", 2)
	f.Fuzz(func(t *testing.T, s string, most int) {
		head, left := prose.Head(s, most)
		if len(head)+left != len(s) || !strings.HasPrefix(s, head) || len(head) > max(0, most) {
			t.Errorf("Head(%q, %d) = %q, %d", s, most, head, left)
		}
		if utf8.ValidString(s) && !utf8.ValidString(head) {
			t.Errorf("Head(%q, %d) = %q, which ends in a character", s, most, head)
		}
	})
}

func TestWholeURL(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://h": true, "https://h:1/v1?a=b": true, "HTTP://[::1]:80/": true,
		"": false, "h:1": false, "http://": false, "http:///v1": false, "http://:80/v1": false, "http://me@:80": false, "ws://h": false, "//h/v1": false, "http://h/%zz": false,
	} {
		if _, ok := prose.WholeURL(raw); ok != want {
			t.Errorf("%q: %v, want %v", raw, ok, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, tc := range []struct{ name, raw, want string }{
		{"plain", "http://h:1/mcp", "http://h:1/mcp"},
		{"user and query", "https://me:secret@h/a%2Fb?token=secret&x=&secret#secret", "https://h/a%2Fb?token=...&x=...&..."},
		{"a user alone", "ws://secret@h/", "ws://h/"},
		{"IPv6", "http://[::1]:8000/v1", "http://[::1]:8000/v1"},
		{"no scheme", "h:1/mcp?token=secret", "h:1/mcp?..."},
		{"no scheme, with a user", "me:secret@h/mcp", "...@h/mcp"},
		{"no URL", "http://h/%zz?token=secret", "http://h/%zz?..."},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := prose.Address(tc.raw); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestCutsBytes: what is no text is cut all the same, and not to nothing.
func TestCutsBytes(t *testing.T) {
	junk := strings.Repeat("\x80", 100)
	if head, left := prose.Head(junk, 10); len(head) != 10 || left != 90 {
		t.Errorf("Head: %q, %d", head, left)
	}
	if tail, left := prose.Tail(junk, 10); len(tail) != 10 || left != 90 {
		t.Errorf("Tail: %q, %d", tail, left)
	}
	if got := prose.Excerpt(junk, 10); got != junk[:10]+"..." {
		t.Errorf("Excerpt: %q", got)
	}
	if part, at := prose.Around(junk, 50, 5, 5); part != "…"+junk[:10]+"…" || at != len("…")+5 {
		t.Errorf("Around: %q, %d", part, at)
	}
}
