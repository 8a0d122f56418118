// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// filesServer is another server beside weather.
func filesServer(t *testing.T) *mockmcp.HTTPServer {
	return mockmcp.NewServer(t, mockmcp.Script{Name: "files", Tools: []mockmcp.Tool{{
		Name: "read", Description: "Reads a file.", Input: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`),
		Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "hello"}, nil
		},
	}}})
}

// The settings of a scenario reach the router, and the prompt.
func TestToolSettings(t *testing.T) {
	env, llm := mockEnv(t, mockllm.Reply{Calls: []mockllm.Call{{Tool: "mcp_files_read", Args: json.RawMessage(`{"path": 1}`)}}}, mockllm.Reply{Say: "hi"})
	env.Servers = []harness.Server{{Name: "files", Dial: filesServer(t).Dial}}
	env.Settings.System = "Be brief."
	env.Settings.Extra = map[string]any{"tool_names": "mcp", "tool_prompt": true, "check_arguments": true}
	report, err := send(t, env, nil, "hi")
	if err != nil {
		t.Fatal(err)
	}
	request := llm.Journal()[0].Request
	if diff := cmp.Diff("[MCP:files] Reads a file.", request.Tools[0].Description); request.Tools[0].Name != "mcp_files_read" || diff != "" {
		t.Errorf("offered %+v", request.Tools)
	}
	want := "Be brief.\n\nTool: mcp_files_read\nDescription: [MCP:files] Reads a file.\nProvided by the MCP server \"files\".\nParameters: {"
	if got := request.Messages[0].Text; !strings.HasPrefix(got, want) {
		t.Errorf("the system message is %q, want it to begin with %q", got, want)
	}
	if got := report.Calls[0].Error; !strings.HasPrefix(got, "the arguments do not fit the schema of mcp_files_read: ") {
		t.Errorf("the call came to %q", got)
	}
	for setting, value := range map[string]any{"tool_names": "loud", "as": 1} {
		env.Settings.Extra = map[string]any{setting: value}
		if _, err := Subject(nil).Open(t.Context(), env); err == nil || !strings.HasPrefix(err.Error(), `subject setting "`+setting+`" is `) {
			t.Errorf("%s: %v: %v", setting, value, err)
		}
	}
}

// A refusal is a result, an event, and in the report; the server is not even
// opened.
func TestRefusal(t *testing.T) {
	for _, byFile := range []bool{false, true} {
		env, llm := mockEnv(t, mockllm.Reply{Calls: []mockllm.Call{{Tool: "mcp_secret_read", Unoffered: true}}}, mockllm.Reply{Say: "no"})
		files := filesServer(t)
		env.Servers = []harness.Server{
			{Name: "files", URL: files.URL},
			{Name: "secret", Dial: func(context.Context) (io.ReadWriteCloser, error) {
				t.Error("a server that the agent may not use is opened")
				return nil, errors.New("no")
			}},
		}
		env.Grants = map[string][]string{"alice": {"files"}, "bob": {"secret"}}
		if byFile {
			env.Grants = nil
			env.ConfigFile = filepath.Join(t.TempDir(), "mcp.yaml")
			file := `mcp: {client: {servers: [{name: files, transport: http, url: "` + files.URL + `"}, {name: secret, command: [no-such-program]}],
				agent_permissions: {alice: {allowed_servers: [files]}}}}`
			if err := os.WriteFile(env.ConfigFile, []byte(strings.ReplaceAll(file, "\t", " ")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		env.Settings.Extra = map[string]any{"as": "alice", "tool_names": "mcp"}
		report, err := send(t, env, nil, "hi")
		if err != nil {
			t.Fatal(err)
		}
		const why = `there is no tool "mcp_secret_read": agent "alice" has no permission for server "secret"`
		if c := report.Calls[0]; c.Result != "Error: "+why || c.Error != why || c.Server != "" {
			t.Errorf("the call came to %+v", c)
		}
		if diff := cmp.Diff([]string{"refused: " + why}, report.Notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		if offered := llm.Journal()[0].Request.Tools; len(offered) != 1 || offered[0].Name != "mcp_files_read" {
			t.Errorf("offered %+v", offered)
		}
	}
}

// A server that may be missing costs a note.
func TestServerThatMayBeMissing(t *testing.T) {
	env, _ := mockEnv(t, mockllm.Reply{Say: "hi"})
	gone := harness.Server{Name: "gone", Command: []string{filepath.Join(t.TempDir(), "no-such-program")}, Optional: true}
	env.Servers = append(env.Servers, gone)
	report, err := send(t, env, nil, "hi")
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Notes) != 1 || !strings.HasPrefix(report.Notes[0], `connecting to server "gone": `) || !strings.HasSuffix(report.Notes[0], "; its tools are offered once it can be reached") {
		t.Errorf("notes %q", report.Notes)
	}
}
