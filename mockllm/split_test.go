// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"strings"
	"testing"
)

// TestCountText compares our counts with the library's for all short texts
// over an alphabet with a character of each kind.
func TestCountText(t *testing.T) {
	codec, err := vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	const alphabet = " a7'sL.\n\r\t"
	var check func(s string, left int)
	check = func(s string, left int) {
		if want := codec.encode(s); s != "" && countText(s) != want {
			t.Fatalf("countText(%q) = %d, want %d", s, countText(s), want)
		}
		for i := range len(alphabet) {
			if left > 0 {
				check(s+alphabet[i:i+1], left-1)
			}
		}
	}
	check("", 4)
}

func FuzzCountText(f *testing.F) {
	codec, err := vocabulary()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		"It's sunny in Paris, and WE'LL see 12345 more days.\n\n  Won't we?",
		`{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}`,
		"a\x00b\v\f  \r\n \t x", "'re 'Ve 'lL 'x '", "caf\u00e9 \u2028 \u017f", "\xff\xfe", strings.Repeat("ab ", 200),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		if got, want := countText(s), codec.encode(s); got != want {
			t.Errorf("countText(%q) = %d, want %d", s, got, want)
		}
	})
}
