// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCapture captures a session of openai-agents with the filesystem and memory
// servers of npm, at an endpoint that is not rehearse. Then all of these are gone,
// and the scenario passes ten times of ten; each change of what was captured is
// found by its name; and no secret was written.
func TestCapture(t *testing.T) {
	dir := t.TempDir()
	secrets := map[string]string{
		"the API key":                "Zq7Xv2Lm9Rt4Kp8Ws3Nd6Yb1",
		"a token of the file":        "gh" + "p_Hs8dK2mQ9vXz4Lr7Tn1Wc5Yb3Gf6Jp0Ae2Du",
		"a password of the file":     "Tr4ubadour-Blue-77",
		"a variable of the server's": "Jx5Pn8Qw2Vb7Lk4Zr9Tm3Hc6",
	}
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes := put("data/notes.txt", "Buy milk.\ntoken: "+secrets["a token of the file"]+"\nThe password is "+secrets["a password of the file"]+"\nkey "+secrets["the API key"]+" and "+secrets["a variable of the server's"]+"\n")
	type entry struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}
	modules := os.Getenv("REHEARSE_NODE_MODULES") + "/@modelcontextprotocol/"
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]entry{
		"filesystem": {"node", []string{modules + "server-filesystem/dist/index.js", filepath.Dir(notes)}, nil},
		"memory": {"node", []string{modules + "server-memory/dist/index.js"}, map[string]string{
			"MEMORY_FILE_PATH": filepath.Join(dir, "data", "memory.json"), "SERVICE_TOKEN": secrets["a variable of the server's"],
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	mcpFile := put("data/mcp.json", string(config))

	endpoint := command(t, ".venv/bin/python", "clients/endpoint.py", notes)
	stdout, err := endpoint.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := endpoint.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	captured := filepath.Join(dir, "session")
	cmd := command(t, binary, "capture", "--out", captured, "--upstream", strings.TrimSpace(url), "--mcp-file", mcpFile, "--",
		".venv/bin/python", "clients/captured_agent.py", mcpFile, "You are a clerk.", "What do my notes say?")
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY="+secrets["the API key"], "OPENAI_MODEL=clerk-1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || string(out) != "Buy milk: 1 note.\n" || !strings.Contains(stderr.String(), "is written, and reproduces") {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	endpoint.Process.Kill()
	endpoint.Wait()
	if err := os.RemoveAll(filepath.Dir(notes)); err != nil {
		t.Fatal(err)
	}

	play := func(mode string, more ...string) (int, string) {
		t.Helper()
		return rehearse(t, append([]string{"run", captured, "--offline", "--mode", mode, "--timeout", "5m", "--out", t.TempDir()}, more...)...)
	}
	if code, out := play("mock", "--trials", "10", "--parallel", "1"); code != 0 || !strings.Contains(out, "10 passed of 10 trials") {
		t.Errorf("mode mock: exit code %d\n%s", code, out)
	}
	for n := range 10 {
		if code, out := play("replay"); code != 0 {
			t.Fatalf("mode replay, time %d: exit code %d\n%s", n+1, code, out)
		}
	}

	for _, tc := range []struct{ name, file, was, is, mode, found string }{
		{"the system prompt", "session.yaml", "You are a clerk.", "You are a cook.", "replay", `messages[0].content: recorded "You are a clerk.", now "You are a cook."`},
		{"a tool's description", "servers/memory.yaml", "description: Read the entire", "description: Read none of the", "replay", ".function.description: recorded"},
		{"an argument", "session.yaml", "entityType: errand", "entityType: duty", "mock", "memory.create_entities"},
		{"a result", "servers/filesystem.yaml", "Buy milk.", "Buy eggs.", "mock", `results("filesystem.read_text_file")[0]`},
		{"the answer", "session.yaml", "say: 'Buy milk: 1 note.'", "say: Nothing.", "mock", "answer (turn 1)"},
	} {
		path := filepath.Join(captured, tc.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 1 // the first alone, which for an argument is that of the reply
		if tc.name == "a result" {
			n = -1 // in all of its forms
		}
		changed := strings.Replace(string(text), tc.was, tc.is, n)
		if changed == string(text) {
			t.Errorf("%s: there is no %q in %s:\n%s", tc.name, tc.was, tc.file, text)
		}
		put(filepath.Join("session", tc.file), changed)
		if code, out := play(tc.mode); code != 1 || !strings.Contains(out, tc.found) {
			t.Errorf("%s: exit code %d, and want %q in\n%s", tc.name, code, tc.found, out)
		}
		put(filepath.Join("session", tc.file), string(text))
	}

	err = filepath.WalkDir(captured, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for what, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s is in %s", what, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
