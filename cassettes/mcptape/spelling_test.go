// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestSpellingOfIDs: an answer has the id of the client's request as the server
// spelled that of the recorded one.
func TestSpellingOfIDs(t *testing.T) {
	for _, tt := range []struct{ asked, answered, now, want string }{
		{"1", "1", "7", "7"},
		{"1", `"1"`, "7", `"7"`},
		{"1", "1.0", "7", "7.0"},
		{`"a"`, `"a"`, `"b"`, `"b"`},
		{`"a"`, `"a"`, "7", "7"},
		{"1", "1.0", `"b"`, `"b"`},
		{"1", "null", "7", "7"},
		{"1", "", "7", "7"},
		{"", "null", "", ""},
		{"", "1", "7", "7"},
	} {
		g, s := &group{msg: mcpwire.Message{ID: []byte(tt.asked)}}, &step{msg: mcpwire.Message{ID: []byte(tt.answered)}}
		if got := s.id(g, mcpwire.Message{ID: []byte(tt.now)}); string(got) != tt.want {
			t.Errorf("%s answered as %s, and now %s: %s, want %s", tt.asked, tt.answered, tt.now, got, tt.want)
		}
	}
}
