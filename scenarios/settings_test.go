// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/subjects"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestSettingsOfSubjects: where it is known who may play, a setting that nobody
// knows, or that has a value which the agent refuses, is told when the file is
// read, at its own place.
func TestSettingsOfSubjects(t *testing.T) {
	for _, tt := range []struct{ name, subject, want string }{
		{"a slip in one that has a field", "{max_modle_calls: 2}", `s.yaml:2:11: no subject knows the setting "max_modle_calls" (did you mean "max_model_calls"?)`},
		{"a slip in one of rehearse's agent", "{tool_concurency: 1}", `s.yaml:2:11: no subject knows the setting "tool_concurency" (did you mean "tool_concurrency"?)`},
		{"a slip in one of a project's subject", "{tonne: dry}", `s.yaml:2:11: no subject knows the setting "tonne" (did you mean "tone"?)`},
		{"another", "{speed: 1}", "s.yaml:2:11: no subject knows the setting \"speed\": rehearse's agent has as, breaker, "},
		{"beside a command", "{command: [a], speed: 1}", "s.yaml:2:25: no subject knows the setting \"speed\": rehearse's agent"},
		{"a slip beside a command", "{command: [a], tool_concurency: 1}", `s.yaml:2:25: no subject knows the setting "tool_concurency" (did you mean "tool_concurrency"?)`},
		{"a slip of the agent that is named", "{agent: rehearse, speed: 1}", `s.yaml:2:28: no subject knows the setting "speed": rehearse's agent`},
		{"known to the command", "{command: [a], speed: 1, knows: [speed]}", ""},
		{"of a project's subject", "{tone: dry}", ""},
		{"of rehearse's agent", "{" + strings.Join([]string{"as: alice", "breaker: true", "max_repeats: 2", "tool_names: mcp", "tool_timeout: 3s"}, ", ") + "}", ""},
		{"a number for a time", "{tool_timeout: 5}", `s.yaml:2:25: "tool_timeout" needs a duration with its unit, got the number 5`},
		{"a word for a number", "{tool_concurrency: one}", `s.yaml:2:29: "tool_concurrency" needs a whole number, got the text "one"`},
		{"one to a command that knows it otherwise", "{command: [a], tool_timeout: 5, knows: [tool_timeout]}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			for name, text := range map[string]string{
				"s.yaml":        "scenario: s\nsubject: " + tt.subject + "\nturns: [{user: hi, replies: [{say: a}], expect: [{answer: {contains: [a]}}]}]\n",
				"rehearse.yaml": "subjects: {ours: {command: [x], knows: [tone]}}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if _, err := scenarios.Load([]string{"s.yaml"}, &scenarios.Options{Settings: subjects.AgentSettings()}); err != nil {
				got = err.Error()
			}
			if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if _, err := scenarios.Load([]string{"s.yaml"}, nil); err != nil {
				t.Errorf("where anybody may play: %v", err)
			}
		})
	}
}
