// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgentServerClients gives our agent server, with our tool server and a mock
// model behind it, goals by curl and by Python's requests.
func TestAgentServerClients(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	program, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	capitals := write("capitals.yaml", `server: capitals
tools:
  - name: capital_of
    description: Names the capital of a country.
    input: {type: object, properties: {country: {type: string}}, required: [country]}
    results: [{args: {country: Peru}, text: Lima}]
`)
	registry, err := json.Marshal(map[string]any{"toolsets": []any{map[string]any{
		"id": "geography", "description": "Countries and capitals.",
		"server": map[string]any{"command": []string{program, "serve", "mcp", "--transport", "stdio", capitals}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	llm := serve(t, "llm", write("llm.yaml", `llm: agent
rules: # as often as somebody asks
  - when: user.contains("Peru") && request.messages.size() == 1
    reply: {calls: [{manage_toolsets: {action: ACTIVATE, toolset_ids: [geography]}}]}
  - when: user.contains("Peru") && request.messages.size() == 3
    reply: {calls: [{capital_of: {country: Peru}}]}
  - when: user.contains("Peru") && message.text.contains("Lima")
    reply: {say: The capital is Lima.}
  - when: user.contains("Chile") && request.messages.size() == 1
    reply: {calls: [{capital_of: {country: Chile}}], unoffered: true}
  - when: user.contains("Chile")
    reply: {say: I cannot look it up.}
  - when: user.contains("for ever")
    reply: {hold: {until: never}, say: Never said.}
`))
	t.Setenv("REHEARSE_ADMIN_TOKEN", "token-of-this-test")
	tools := serve(t, "tools", "--listen", "127.0.0.1:0", write("tool_registry.json", string(registry)))
	root := serve(t, "agent", "--listen", "127.0.0.1:0", "--tools", tools.URL, "--base-url", llm.URL, "--model", "any").URL
	root = strings.TrimSuffix(root, "/agent/execute_task")

	const peru = `"calls": [["manage_toolsets", {"action": "ACTIVATE", "toolset_ids": ["geography"]}, false], ["capital_of", {"country": "Peru"}, false]]`
	out, err := command(t, ".venv/bin/python", "clients/agent_server.py", root).Output()
	if err != nil {
		t.Fatalf("agent_server.py: %v\n%s", err, told(err))
	}
	want := `{
		"at once": {
			"activates": {"status": "completed", "answer": "The capital is Lima.", ` + peru + `},
			"does not": {"status": "completed", "answer": "I cannot look it up.", "calls": [["capital_of", {"country": "Chile"}, true]]}
		},
		"stream": {
			"events": ["task", "tool_started", "tool_finished", "tool_started", "tool_finished", "text", "result"],
			"text": "The capital is Lima.", "status": "completed", "answer": "The capital is Lima.", ` + peru + `
		},
		"same id": 409,
		"cancel": 204,
		"cancelled": {"status": "cancelled", "answer": "", "calls": []},
		"cancel again": 404,
		"no goal": 422,
		"no JSON": 415
	}`
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, out)); diff != "" {
		t.Errorf("what requests saw (-want +got):\n%s", diff)
	}

	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{"goal", `"final_answer":"The capital is Lima."`, []string{"-H", "Content-Type: application/json", "-d", `{"goal": "What is the capital of Peru?"}`, root + "/agent/execute_task"}},
		{"stream", "event: result\ndata: {", []string{"-N", "-H", "Content-Type: application/json", "-d", `{"goal": "What is the capital of Peru?", "stream": true}`, root + "/agent/execute_task"}},
		{"form", `"error"`, []string{"-d", `{"goal": "x"}`, root + "/agent/execute_task"}},
		{"tools", `"tools":[]`, []string{tools.URL + "/tools"}},
		{"no token", "401", []string{"-o", os.DevNull, "-w", "%{http_code}", "-H", "Content-Type: application/json", "-d", `{"action": "ACTIVATE", "toolset_ids": ["geography"]}`, tools.URL + "/mcp/admin/toolsets"}},
		{"token", `"changed":["geography"]`, []string{"-H", "Authorization: Bearer token-of-this-test", "-H", "Content-Type: application/json", "-d", `{"action": "ACTIVATE", "toolset_ids": ["geography"]}`, tools.URL + "/mcp/admin/toolsets"}},
		{"call", `{"result":"Lima"}`, []string{"-H", "Content-Type: application/json", "-d", `{"country": "Peru"}`, tools.URL + "/tools/capital_of"}},
	} {
		t.Run("curl/"+tt.name, func(t *testing.T) {
			out, err := command(t, "curl", append([]string{"-sS"}, tt.args...)...).Output()
			if err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("curl %q (%v): no %q in\n%s", tt.args, err, tt.want, out)
			}
		})
	}
}
