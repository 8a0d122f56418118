// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestJSONNode: arguments stand in the YAML of a trial as they were, whatever
// JSON can hold.
func TestJSONNode(t *testing.T) {
	for _, tt := range []struct{ name, json, want string }{
		{"order and spelling", `{"b": 1.10, "a": 12345678901234567890, "c": 1e400}`, `{"b": 1.10, "a": 12345678901234567890, "c": 1e400}`},
		{"words of YAML", `{"no": "yes", "null": null, "1": "1", "t": true}`, `{"no": "yes", "null": null, "1": "1", "t": true}`},
		{"empty", `{"o": {}, "a": [], "s": ""}`, `{"o": {}, "a": [], "s": ""}`},
		{"nested", `[{"a": [1, [2]]}]`, `[{"a": [1, [2]]}]`},
		{"escapes", `["a\nb\t\"\\\/", "\ud83d\ude00"]`, `["a\nb\t\"\\/", "\U0001F600"]`},
		{"what cannot be seen", `["\u202e"]`, `["⟨U+202E⟩"]`},
		{"an operator", `{"$gt": 1}`, `$literal: {"$gt": 1}`},
		{"a template", `["{{x}}"]`, `$literal: ["{{x}}"]`},
		{"no arguments", ``, `{}`},
		{"no JSON", `{"a":`, `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := yaml.Marshal(jsonNode([]byte(tt.json)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want+"\n", string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
