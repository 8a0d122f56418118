// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/redact"
)

func TestSplit(t *testing.T) {
	home, user := redact.Mark("home"), redact.Mark("user")
	for text, want := range map[string]struct{ parts, marks []string }{
		"":                               {parts: []string{""}},
		"as it is":                       {parts: []string{"as it is"}},
		"REDACTED-home-1234":             {parts: []string{"REDACTED-home-1234"}},
		home:                             {[]string{"", ""}, []string{home}},
		"REDACTED-" + home:               {[]string{"REDACTED-", ""}, []string{home}},
		home + home:                      {[]string{"", "", ""}, []string{home, home}},
		"ä " + home + "/x " + user + "!": {[]string{"ä ", "/x ", "!"}, []string{home, user}},
	} {
		if parts, marks := redact.Split(text); !slices.Equal(parts, want.parts) || !slices.Equal(marks, want.marks) {
			t.Errorf("%q: %q and %q, want %q and %q", text, parts, marks, want.parts, want.marks)
		}
		var asked []string
		same := redact.Remark(text, func(mark string) string { asked = append(asked, mark); return mark })
		if same != text || !slices.Equal(asked, want.marks) {
			t.Errorf("%q: remarked to %q, asked for %q", text, same, asked)
		}
	}
	if got := redact.Neutral("a " + home + " b"); got != "a REDACTED-home b" {
		t.Errorf("Neutral: %q", got)
	}
}
