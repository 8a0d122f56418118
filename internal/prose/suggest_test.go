// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package prose_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/prose"
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
		{"model_stream", "model"},
		{"build", "build_model"},
		{"", ""},
	} {
		if got := prose.Suggest(test.word, known); got != test.want {
			t.Errorf("Suggest(%q) = %q, want %q", test.word, got, test.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"calls", "answer"}
	for _, tc := range []struct{ word, want string }{
		{"cals", ` (did you mean "calls"?)`},
		{"weather", "; there are calls, answer"},
	} {
		if got := prose.MeantOr(tc.word, known, "; there are calls, answer"); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.word, got, tc.want)
		}
	}
	if got := prose.DidYouMean("weather", known); got != "" {
		t.Errorf("got %q", got)
	}
}
