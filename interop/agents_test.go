// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"path/filepath"
	"testing"
)

// TestPresetAgents has every preset and the clients without one play a call and
// its answer, and two agents the suite utilities and six kinds of faults. What
// comes of it is what docs/agent-table.md says; `make agents` plays the rest.
func TestPresetAgents(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agents")
	if out, err := command(t, "go", "build", "-o", program, "./agents").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, args := range map[string][]string{
		"a call":           {"-suites", "rows"},
		"suite and faults": {"-only", "codex,openai-agents", "-suites", "utilities,faults", "-faults", "rate_limit,cut,bad_arguments,is_error,rpc_error,abort_connection"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := command(t, program, append([]string{"-root", "..", "-rehearse", absolute(t, binary), "-compare"}, args...)...).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
