// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package prose

import "testing"

func TestRate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		p    float64
		want string
	}{
		{"none", 0, "0 %"},
		{"all", 1, "100 %"},
		{"one of very many", 0.0001, "below 0.1 %"},
		{"all but one of very many", 0.9999, "above 99.9 %"},
		{"a whole number", 0.75, "75.0 %"},
		{"29 of 40", 29. / 40, "72.5 %"},
		{"a third", 1. / 3, "33.3 %"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Rate(test.p); got != test.want {
				t.Errorf("%v is %q, want %q", test.p, got, test.want)
			}
		})
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		share float64
		want  string
	}{
		{"whole", 0.95, "95 %"},
		{"a fraction", 0.625, "62.5 %"},
		{"as it was written", 0.07, "7 %"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Percent(test.share); got != test.want {
				t.Errorf("%v is %q, want %q", test.share, got, test.want)
			}
		})
	}
}
