// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// TestExact: equal numbers have one spelling, and it is the same number.
func TestExact(t *testing.T) {
	for spelled, want := range map[string]string{
		"1": "1", "1.0": "1", "1e0": "1", "10e-1": "1", "100": "100", "1e2": "100", "1.00E+2": "100", "0.7": "0.7", "0.70": "0.7", "7e-1": "0.7",
		"0": "0", "-0": "0", "0.000": "0", "-1.50": "-1.5", "9007199254740993": "9007199254740993", "0.30000000000000004": "0.30000000000000004",
		"1e40": "1e40", "12e39": "1.2e40", "1e-40": "1e-40", "123.456": "123.456", "0.001": "0.001", "1e999999999999999999999": "1e999999999999999999999",
	} {
		v := value.NumberOf(spelled)
		if got := v.Exact().Num(); got != want {
			t.Errorf("%s: got %s, want %s", spelled, got, want)
		}
		if !value.Equal(v, v.Exact()) {
			t.Errorf("%s is another number than %s", spelled, v.Exact())
		}
	}
	if v := value.StringOf("1.0"); v.Exact().Str() != "1.0" {
		t.Error("a text has changed")
	}
}
