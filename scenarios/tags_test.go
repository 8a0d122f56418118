// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/scenarios"
)

func TestTagged(t *testing.T) {
	list := []*scenarios.Scenario{
		{Name: "a", Tags: []string{"smoke"}},
		{Name: "b", Tags: []string{"smoke", "slow"}},
		{Name: "c", Tags: []string{"slow", "well-known"}},
		{Name: "d"},
	}
	for _, tt := range []struct{ tags, want, err string }{
		{"smoke", "a b", ""},
		{"smoke,slow", "a b c", ""},
		{"smoke,!slow", "a", ""},
		{"-slow, smoke", "a", ""},
		{"!slow", "a d", ""},
		{"- slow", "a d", ""},
		{"!slow,-smoke", "d", ""},
		{"well-known", "c", ""},
		{"smok", "", `no scenario has the tag "smok" (did you mean "smoke"?); the tags are slow, smoke, well-known`},
		{"!smok", "", `no scenario has the tag "smok"`},
		{"smoke,x", "", `no scenario has the tag "x"; the tags are slow, smoke, well-known`},
		{"well-known,!slow", "", "the tags well-known,!slow leave no scenario to play"},
		{"smoke,", "", "an empty tag"},
		{"!", "", "an empty tag"},
	} {
		t.Run(tt.tags, func(t *testing.T) {
			got, err := scenarios.Tagged(list, strings.Split(tt.tags, ","))
			var names []string
			for _, s := range got {
				names = append(names, s.Name)
			}
			if strings.Join(names, " ") != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Tagged() = %q, %v, want %q, %q", names, err, tt.want, tt.err)
			}
		})
	}
	if got, err := scenarios.Tagged(list, nil); err != nil || len(got) != 4 {
		t.Errorf("without tags: %v, %v", got, err)
	}
	if _, err := scenarios.Tagged(list[3:], []string{"x"}); err == nil || err.Error() != `no scenario has the tag "x"; no scenario has any tag` {
		t.Errorf("where there are none: %v", err)
	}
}
