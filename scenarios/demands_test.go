// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDemands reads what a model wants of a history, and the rarer parts of a
// reply.
func TestDemands(t *testing.T) {
	set := load(t, "m.yaml", `llm: m
context_window: 1000
requires: {echo: [reasoning_content]}
replies:
  - {say: Hi., logprobs: {content: [{token: Hi., logprob: -0.50}]}, choices: [Ho., He.], hold: {until: go}}
`, "s.yaml", `scenario: s
model: {context_window: 2000, requires: {echo: [reasoning_content]}}
turns: [{user: hi, replies: [{say: ok}]}]
conduct_only: true
`)
	llm := set.LLMs[0].Script
	if llm.ContextWindow != 1000 || cmp.Diff([]string{"reasoning_content"}, llm.Echo) != "" {
		t.Errorf("window %d, echo %q", llm.ContextWindow, llm.Echo)
	}
	if hold := llm.Replies[0].Hold; hold != "go" {
		t.Errorf("held until %q", hold)
	}
	if r := llm.Replies[0]; string(r.Logprobs) != `{"content":[{"token":"Hi.","logprob":-0.50}]}` || cmp.Diff([]string{"Ho.", "He."}, r.Choices) != "" {
		t.Errorf("logprobs %s, choices %q", r.Logprobs, r.Choices)
	}
	if s := set.Scenarios[0].ModelScript(); s.ContextWindow != 2000 || len(s.Echo) != 1 {
		t.Errorf("window %d, echo %q", s.ContextWindow, s.Echo)
	}
}
