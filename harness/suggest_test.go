// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
)

func TestSuggest(t *testing.T) {
	known := []string{"$regex", "$any_of", "result", "build_model", "model", "ok"}
	for _, test := range []struct{ word, want string }{
		{"$regx", "$regex"},
		{"$anyof", "$any_of"},
		{"reslut", "result"},
		{"Model", "model"},
		{"buildmodel", "build_model"},
		{"on", "ok"},
		{"temperature", ""},
		{"", ""},
	} {
		if got := harness.Suggest(test.word, known); got != test.want {
			t.Errorf("Suggest(%q) = %q, want %q", test.word, got, test.want)
		}
	}
}
