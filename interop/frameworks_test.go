// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgentFrameworks lets agents run a conversation with two tools, over both
// endpoints, streaming and not. The AI SDK checks the most of all clients;
// openai-agents keeps all items and sends them back.
func TestAgentFrameworks(t *testing.T) {
	const want = `{
		"ran": [{"get_weather": "Paris"}, {"get_time": "Europe/Paris"}],
		"answer": "Sunny ☀, and it is noon."
	}`
	for _, framework := range []struct{ name, command, script string }{
		{"openai-agents", ".venv/bin/python", "clients/agent.py"},
		{"ai-sdk", node, "clients/agent.mjs"},
	} {
		for _, endpoint := range []string{"chat", "responses"} {
			for _, mode := range []string{"plain", "stream"} {
				t.Run(framework.name+"/"+endpoint+"/"+mode, func(t *testing.T) {
					r := serve(t, "llm", "clients/agent.yaml")
					cmd := command(t, framework.command, framework.script, r.URL, mode, endpoint)
					cmd.Env = append(os.Environ(), "NODE_PATH="+os.Getenv("REHEARSE_NODE_MODULES"))
					var stderr bytes.Buffer
					cmd.Stderr = &stderr
					out, err := cmd.Output()
					if err != nil {
						t.Fatalf("%v\n%s\n%v", err, stderr.String(), journal(t, r))
					}
					if diff := cmp.Diff(decode(t, []byte(want)), decode(t, out)); diff != "" {
						t.Errorf("what the agent did (-want +got):\n%s", diff)
					}
					if n := len(journal(t, r)); n != 3 {
						t.Errorf("the journal has %d exchanges, want 3", n)
					}
				})
			}
		}
	}
}
