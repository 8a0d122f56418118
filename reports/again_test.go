// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
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

// TestAsScenarioWithoutCalls: a trial whose calls are not loaded makes no scenario
// that expects none.
func TestAsScenarioWithoutCalls(t *testing.T) {
	tr := trial("s", "s/s.yaml", 1, "a", 1)
	tr.Counts.ToolCalls, tr.Trajectory = 0, nil
	tr.Witness = &trials.Detail{Transcript: &harness.Transcript{Turns: []harness.TurnReport{{User: "Go."}}}}
	if text := AsScenario(&tr); !strings.Contains(text, "calls: []") {
		t.Errorf("without calls:\n%s", text)
	}
	tr.Counts.ToolCalls = 1
	if text := AsScenario(&tr); text != "" {
		t.Errorf("with a call that is not loaded:\n%s", text)
	}
}
