// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{"30d": 30 * day, "1.5d": 36 * time.Hour, "36h": 36 * time.Hour, "0": 0} {
		var a age
		if err := a.Set(text); err != nil || time.Duration(a) != want {
			t.Errorf("%s: got %v, %v, want %v", text, time.Duration(a), err, want)
		}
	}
	for _, text := range []string{"", "d", "30", "-1d", "-1h", "soon", "NaNd", "1e300d"} {
		var a age
		if err := a.Set(text); err == nil {
			t.Errorf("%q is taken, as %v", text, time.Duration(a))
		}
	}
}
