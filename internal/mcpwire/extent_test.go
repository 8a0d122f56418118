// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

func TestExtent(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []string
		end   int // of which part; -1 for none
	}{
		{"object", []string{`{"a":`, `{}}`, `x`}, 1},
		{"braces in a text", []string{`{"a":"}`, `\"}"`, `}`}, 2},
		{"array", []string{`[{"a":1},`, `{}]`}, 1},
		{"cut off", []string{`{"a":`, `{}`}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x mcpwire.Extent
			end := -1
			for i, p := range test.parts {
				if x.Add([]byte(p)) {
					end = i
					break
				}
			}
			if end != test.end {
				t.Errorf("ends in part %d, want %d", end, test.end)
			}
		})
	}
}
