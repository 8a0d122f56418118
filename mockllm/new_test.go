// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestNewErrors has scripts that cannot be played.
func TestNewErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script mockllm.Script
		want   string
	}{
		{"two lists of replies", mockllm.Script{Replies: []mockllm.Reply{{Say: "a"}}, Turns: []mockllm.Turn{{}}}, "Turns"},
		{"unknown profile", mockllm.Script{Profile: "opena"}, `did you mean "openai"?`},
		{"arguments that are no JSON", mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: "x", Args: map[string]any{"f": func() {}}}}}}}, "func()"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if m, err := mockllm.New(tt.script, nil); err == nil || m != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New = %v, %v, want an error with %q", m, err, tt.want)
			}
		})
	}
}
