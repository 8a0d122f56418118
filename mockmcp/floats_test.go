// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"strings"
	"testing"
)

// TestFits: a look at its digits tells of arguments that floats are enough for
// them.
func TestFits(t *testing.T) {
	for _, tt := range []struct {
		schema, args string
		want         bool
	}{
		{`{"type":"object"}`, `{"a":1,"b":"x. 2"}`, true},
		{`{"type":"object","maxProperties":9}`, `{"a":999999999999999}`, true},
		{`{"type":"object"}`, `{"a":9999999999999999}`, false},
		{`{"type":"object"}`, `{"a":1.5}`, false},
		{`{"type":"object"}`, `{"a":1e2}`, false},
		{`{"type":"object"}`, `{"a":1E2}`, false},
		{`{"type":"object","properties":{"a":{"maximum":0.5}}}`, `{"a":0}`, false},
		{`{"type":"object","required":["b"]}`, `{"a":1}`, false},
		{`{"type":"object"}`, `{"a"`, false},
		{`{"type":"object"}`, strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001), false},
	} {
		s, err := compileSchema([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.fits([]byte(tt.args)); got != tt.want {
			t.Errorf("%s: %.40s fits at a look: %t", tt.schema, tt.args, got)
		}
	}
}
