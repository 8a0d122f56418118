// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/subjects"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestSettingsAsInFiles: what a scenario may say of a setting is what the agent
// takes, of each setting and of values of every kind.
func TestSettingsAsInFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	for _, name := range subjects.AgentSettings() {
		taken := 0
		for _, value := range []string{"true", "3", "0", "1.5", "-1", "3s", "0s", "mcp", "''", "[]"} {
			text := fmt.Sprintf("scenario: s\nsubject: {%s: %s}\nturns: [{user: hi, replies: [{say: a}], expect: [{answer: {contains: [a]}}]}]\n", name, value)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, told := scenarios.Load([]string{path}, &scenarios.Options{Settings: subjects.AgentSettings()})
			set, err := scenarios.Load([]string{path}, nil)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, value, err)
			}
			env, _ := mockEnv(t)
			env.Settings = set.Scenarios[0].Settings
			session, refused := Subject(nil).Open(t.Context(), env)
			if refused == nil {
				taken++
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			}
			if (told == nil) != (refused == nil) {
				t.Errorf("%s: %s: the file says %v, the agent %v", name, value, told, refused)
			}
		}
		if taken == 0 {
			t.Errorf("%s: no value is taken", name)
		}
	}
}
