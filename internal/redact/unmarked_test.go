// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/redact"
)

func TestUnmarked(t *testing.T) {
	for text, want := range map[string][]string{
		"":                   {""},
		"as it is":           {"as it is"},
		"REDACTED-home-1234": {"REDACTED-home-1234"},
		redact.Mark("home"):  {"", ""},
		"ä " + redact.Mark("home") + "/x " + redact.Mark("user") + "!": {"ä ", "/x ", "!"},
	} {
		if got := redact.Unmarked(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
