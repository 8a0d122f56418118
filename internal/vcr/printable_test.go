// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"testing"
)

// TestPrintable has every byte at every place of a text that is looked at in
// words, beside a neighbour that is just inside of what is printable.
func TestPrintable(t *testing.T) {
	for _, beside := range []string{" ", "~", "a"} {
		for c := range 256 {
			for at := range 20 {
				text := bytes.Repeat([]byte(beside), 20)
				text[at] = byte(c)
				// That it is not UTF-8 is for others to say.
				want := c == '\n' || c == '\t' || c >= ' ' && c != 0x7F
				if got := printable(text); got != want {
					t.Fatalf("byte %#x at %d beside %q: printable %v, want %v", c, at, beside, got, want)
				}
			}
		}
	}
	for text, want := range map[string]bool{"": true, "Zürich, 12 °C ☀": true, "a line separator\u2028 in it": false, "a byte order mark\ufeff in it": false, "next line\u0085 in it": false} {
		if got := printable([]byte(text)); got != want {
			t.Errorf("%q: printable %v, want %v", text, got, want)
		}
	}
}
