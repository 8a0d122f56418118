// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// agentsPage is the page whose scripts and commands the tests of this file
// play, word for word.
const agentsPage = "../docs/agents.md"

// modules is where the agents for the terminal are installed, without the
// scripts that their packages would run.
const modules = "cli/node_modules"

// programs are the commands of the page, where npm does not link them: the
// package of Claude Code has a script that links what another package brings.
var programs = map[string]string{
	"claude": "@anthropic-ai/claude-code-linux-x64/claude",
	"qwen":   ".bin/qwen",
}

// terminalAgents are the agents and what each asks the mock model for.
var terminalAgents = []struct {
	name, script string
	argv         []string // nil plays name.sh of the page
	calls        string
}{
	{"claude-code", "claude-code.yaml", nil, `[{"ToolSearch": {}}, {"weather.get_weather": {"city": "Paris"}}]`},
	{"qwen-code", "qwen-code.yaml", nil, `[{"tool_search": {}}, {"tool_call": {"name": {"$regex": "get_weather$"}, "arguments": {"city": "Paris"}}}]`},
	{"tool-runner-python", "terminal.yaml", []string{".venv/bin/python", "cli/tool_runner.py", "plain"}, `[{"weather.get_weather": {"city": "Paris"}}]`},
	{"tool-runner-python-stream", "terminal.yaml", []string{".venv/bin/python", "cli/tool_runner.py", "stream"}, `[{"weather.get_weather": {"city": "Paris"}}]`},
	{"tool-runner-javascript", "terminal.yaml", []string{node, "cli/tool_runner.mjs", "plain"}, `[{"weather.get_weather": {"city": "Paris"}}]`},
	{"tool-runner-javascript-stream", "terminal.yaml", []string{node, "cli/tool_runner.mjs", "stream"}, `[{"weather.get_weather": {"city": "Paris"}}]`},
}

// TestTerminalAgents plays a conversation with one tool of an MCP server to
// agents as they are installed, and has both mocks judge it. Then it plays the
// same with another argument, which both have to find.
func TestTerminalAgents(t *testing.T) {
	page, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range terminalAgents {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			mcp := serve(t, "mcp", blockFile(t, page, "weather.yaml"))
			llm := serve(t, "llm", blockFile(t, page, a.script))
			claims := map[string]string{llm.Admin: a.calls, mcp.Admin: `[{"get_weather": {"city": "Paris"}}]`}

			out := playTerminal(t, page, a.name, a.argv, llm, mcp)
			if !strings.Contains(out, "It is sunny in Paris.") {
				t.Errorf("the agent said:\n%s", out)
			}
			for admin, calls := range claims {
				if v := verify(t, admin, `{"calls": `+calls+`, "done": true}`); !v.Passed {
					t.Errorf("verify of %s: %s\nthe agent said:\n%s", calls, v.text, out)
				}
				other := strings.ReplaceAll(calls, "Paris", "Rome")
				if v := verify(t, admin, `{"calls": `+other+`}`); v.Passed || !strings.Contains(v.text, "get_weather") {
					t.Errorf("verify of %s, which was not called: %s", other, v.text)
				}
			}
			if t.Failed() {
				return
			}

			// The model asks for Rome, of which the server has no weather.
			post(t, mcp.Admin+"/reset", "")
			script := strings.ReplaceAll(block(t, page, a.script), "city: Paris", "city: Rome")
			script = regexp.MustCompile(`say: "It is .*"`).ReplaceAllString(script, "say: I do not know.")
			post(t, llm.Admin+"/load", script)
			out = playTerminal(t, page, a.name, a.argv, llm, mcp)
			if !strings.Contains(out, "I do not know.") {
				t.Errorf("asked for Rome, the agent said:\n%s", out)
			}
			for admin, calls := range claims {
				if v := verify(t, admin, `{"calls": `+calls+`}`); v.Passed || !strings.Contains(v.text, "Rome") {
					t.Errorf("verify of %s after a call for Rome: %s", calls, v.text)
				}
			}
			if v := verify(t, mcp.Admin, `{"done": true}`); v.Passed {
				t.Errorf("verify of done after a call that the server cannot answer: %s", v.text)
			}
			// What was expected to go wrong is no failure of `serve`.
			post(t, mcp.Admin+"/reset", "")
		})
	}
}

// playTerminal runs an agent in an empty home folder and returns what it
// printed.
func playTerminal(t *testing.T, page []byte, name string, argv []string, llm, mcp ready) string {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	for command, path := range programs {
		if err := os.Symlink(absolute(t, filepath.Join(modules, path)), filepath.Join(bin, command)); err != nil {
			t.Fatal(err)
		}
	}
	root := strings.TrimSuffix(llm.URL, "/v1")
	// An agent that waits for somebody is ended, and the test says what it has
	// printed.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var cmd *exec.Cmd
	if argv == nil {
		cmd = exec.CommandContext(ctx, "bash", "-eu", "-c", block(t, page, name+".sh"))
	} else {
		cmd = exec.CommandContext(ctx, absolute(t, argv[0]), absolute(t, argv[1]), root, mcp.URL, argv[2], "What is the weather in Paris?")
	}
	cmd.Dir = home
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8",
		"LLM=" + root, "MCP=" + mcp.URL,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\nthe journal: %v", name, err, out, journal(t, llm))
	}
	return string(out)
}

// absolute returns a path that holds in any folder. Links are kept: Python
// finds its packages by the one that it was called by.
func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abs); err != nil {
		t.Fatalf("%v; run `make interop`", err)
	}
	return abs
}

// block returns the block of the page that begins with `# name`.
func block(t *testing.T, page []byte, name string) string {
	t.Helper()
	m := regexp.MustCompile("(?ms)^```(?:yaml|sh)\n(# " + regexp.QuoteMeta(name) + "\n.*?)^```$").FindSubmatch(page)
	if m == nil {
		t.Fatalf("%s has no block %q", agentsPage, name)
	}
	return string(m[1])
}

// blockFile writes a block of the page into a file, and returns its name.
func blockFile(t *testing.T, page []byte, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(block(t, page, name)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

type judged struct {
	Passed bool
	text   string
}

func verify(t *testing.T, admin, assertion string) judged {
	t.Helper()
	var v judged
	body := post(t, admin+"/verify", assertion)
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("verify: %q: %v", body, err)
	}
	v.text = string(body)
	return v
}

func post(t *testing.T, url, body string) []byte {
	t.Helper()
	kind := "application/json"
	if strings.HasSuffix(url, "/load") {
		kind = "application/yaml"
	}
	res, err := http.Post(url, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		t.Fatalf("POST %s: status %d: %s", url, res.StatusCode, bytes.TrimSpace(data))
	}
	return data
}
