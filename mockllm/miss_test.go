// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"strings"
	"testing"
)

func TestClip(t *testing.T) {
	long := "user: " + strings.Repeat("a", 400)
	for _, tc := range []struct {
		name, s string
		from    int
		want    string
	}{
		{"short", "user: a\nb", 7, `user: a\nb`},
		{"the beginning", long, 0, long[:200] + "… (406 bytes)"},
		{"near the beginning", long, 80, long[:200] + "… (406 bytes)"},
		{"within", long, 200, long[:30] + "…" + long[150:350] + "… (406 bytes)"},
		{"the end", long, 400, long[:30] + "…" + long[350:] + " (406 bytes)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := clip(tc.s, tc.from); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
