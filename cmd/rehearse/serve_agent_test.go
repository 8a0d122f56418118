// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestServeAgent has an agent switch its toolsets, with every part a server of
// its own: the model, the tool server, a tool behind it, an MCP server behind it.
func TestServeAgent(t *testing.T) {
	dir := t.TempDir()
	search := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"hits":["Lima"],"for":%s}`, body)
	}))
	defer search.Close()
	write(t, filepath.Join(dir, "files.yaml"), "server: files\ntools: [{name: write_file, description: Writes., results: [{text: written}]}]\n")
	files := serveArgs(t, &process{}, "serve", "mcp", filepath.Join(dir, "files.yaml"))
	defer files.end()

	registry := filepath.Join(dir, "tool_registry.json")
	write(t, registry, `{"toolsets": [
  {"id": "web_tools", "description": "The web.", "active": true, "tools": [{"name": "web_search", "url": "${SEARCH_URL:-`+search.URL+`}",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}]},
  {"id": "file_system_tools", "server": {"url": "`+files.URL+`"}}
]}`)
	env := map[string]string{"REHEARSE_ADMIN_TOKEN": "sesame"}
	getenv := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	tools := serveArgs(t, &process{getenv: getenv}, "serve", "tools", registry)
	defer tools.end()
	root := strings.TrimSuffix(tools.Admin, "/mcp/admin/toolsets")
	tools.expect(`"tools":["write_file"]`, "GET", root+"/tools", "")
	tools.expect(`200 {"hits":["Lima"],"for":{"q":"Peru"}}`, "POST", root+"/tools/web_search", `{"q":"Peru"}`)
	tools.expect("422 ", "POST", root+"/tools/web_search", `{"query":"Peru"}`)
	tools.expect("409 ", "POST", root+"/tools/write_file", `{}`)
	tools.expect("401 ", "POST", tools.Admin, `{"action":"ACTIVATE","toolset_ids":["file_system_tools"]}`)

	write(t, filepath.Join(dir, "llm.yaml"), `llm: peru
replies:
  - calls: [{web_search: {q: Peru}}]
  - calls: [{manage_toolsets: {action: DEACTIVATE, toolset_ids: [web_tools]}}, {manage_toolsets: {action: ACTIVATE, toolset_ids: [file_system_tools]}}]
  - calls: [{write_file: {}}]
  - say: The capital is Lima.
`)
	llm := serveArgs(t, &process{}, "serve", "llm", filepath.Join(dir, "llm.yaml"))
	env["MCP_SERVER_URL"], env["ARGO_BASE_URL"], env["ARGO_DEFAULT_MODEL"] = root, llm.URL, "gpt-5"
	agent := serveArgs(t, &process{getenv: getenv}, "serve", "agent", "--system", "Be brief.")
	answer := agent.ask("POST", agent.URL, `{"goal":"Write down the capital of Peru."}`)
	if !strings.HasPrefix(answer, "200 ") || !strings.Contains(answer, `"status":"completed","final_answer":"The capital is Lima."`) {
		t.Errorf("the task came to %s", answer)
	}
	llm.expect("- file_system_tools (write_file)", "GET", llm.Admin+"/journal", "")
	llm.expect("", "POST", llm.Admin+"/reset", "")
	var said, steps strings.Builder
	talk := &process{args: []string{"chat", "--agent", strings.TrimSuffix(agent.URL, "/agent/execute_task")}, stdin: strings.NewReader("Write down the capital of Peru.\nquit\n"), stdout: &said, stderr: &steps, getenv: getenv}
	if code := command(t.Context(), talk); code != exitPassed || said.String() != "The capital is Lima.\n" || !strings.Contains(steps.String(), "write_file {} -> written\n") {
		t.Errorf("a chat with the agent server ended with %d: %s%s", code, said.String(), steps.String())
	}
	http.DefaultClient.CloseIdleConnections()
	if code, stderr := agent.end(); code != exitPassed {
		t.Errorf("the agent server ended with %d: %s", code, stderr)
	}
	if code, stderr := llm.end(); code != exitPassed {
		t.Errorf("the model was asked what it was not to be: %s", stderr)
	}
	tools.expect(`"web_tools","description":"The web.","active":true`, "GET", root+"/tools", "") // the default view
}

// TestServeAgentStops: a task that outlasts the grace is cancelled, and its client told.
func TestServeAgentStops(t *testing.T) {
	asked := make(chan struct{})
	llm := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer llm.Close()
	for name, goal := range map[string]string{"whole": `{"goal":"x"}`, "stream": `{"goal":"x","stream":true}`} {
		agent := serveArgs(t, &process{}, "serve", "agent", "--model=m", "--base-url="+llm.URL+"/v1", "--grace=1ms")
		answer := make(chan string, 1)
		go func() {
			res, err := agent.client.Post(agent.URL, "application/json", strings.NewReader(goal))
			if err != nil {
				answer <- err.Error()
				return
			}
			defer res.Body.Close()
			said, err := io.ReadAll(res.Body)
			answer <- fmt.Sprintf("%d %s%v", res.StatusCode, said, err)
		}()
		<-asked
		if code, stderr := agent.end(); code != exitPassed {
			t.Errorf("%s: the server ended with %d: %s", name, code, stderr)
		}
		if got := <-answer; !strings.HasPrefix(got, "200 ") || !strings.Contains(got, `"status":"cancelled"`) || !strings.Contains(got, "the server is stopping") {
			t.Errorf("%s: answered %s", name, got)
		}
	}
}

// TestDeploy holds the compose file to the flags, and its registry to the reader.
func TestDeploy(t *testing.T) {
	const folder = "../../docs/deploy/"
	data, err := os.ReadFile(folder + "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
		}
	}
	if err := yaml.Unmarshal(data, &compose); err != nil || len(compose.Services) != 2 {
		t.Fatalf("%d services (%v), want 2", len(compose.Services), err)
	}
	for name, service := range compose.Services {
		args := service.Command
		for i, arg := range args {
			if strings.HasPrefix(arg, "0.0.0.0:") {
				args[i] = "127.0.0.1:0"
			}
			if file, ok := strings.CutPrefix(arg, "/config/"); ok {
				args[i] = folder + file
			}
		}
		s := serveArgs(t, &process{getenv: func(key string) (string, bool) { v, ok := service.Environment[key]; return v, ok }}, args...)
		if code, stderr := s.end(); code != exitPassed {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
	}
}

// fenced are the blocks of code of a page in a language, in their order.
func fenced(t *testing.T, page, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// TestAgentServerPage plays what docs/agent-server.md begins with.
func TestAgentServerPage(t *testing.T) {
	files, texts := fenced(t, "agent-server.md", "yaml"), fenced(t, "agent-server.md", "json")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "capitals.yaml"), files[0])
	write(t, filepath.Join(dir, "assistant.yaml"), files[1])
	capitals := serveArgs(t, &process{}, "serve", "mcp", filepath.Join(dir, "capitals.yaml"))
	defer capitals.end()
	command := `"command": ["rehearse", "serve", "mcp", "--transport", "stdio", "capitals.yaml"]`
	if !strings.Contains(texts[0], command) {
		t.Fatalf("the registry starts another server:\n%s", texts[0])
	}
	registry := filepath.Join(dir, "tool_registry.json")
	write(t, registry, strings.Replace(texts[0], command, `"url": "`+capitals.URL+`"`, 1))
	getenv := func(name string) (string, bool) { return "sesame", name == "REHEARSE_ADMIN_TOKEN" }
	llm := serveArgs(t, &process{}, "serve", "llm", filepath.Join(dir, "assistant.yaml"))
	defer llm.end()
	tools := serveArgs(t, &process{getenv: getenv}, "serve", "tools", registry)
	defer tools.end()
	agent := serveArgs(t, &process{getenv: getenv}, "serve", "agent", "--tools", strings.TrimSuffix(tools.Admin, "/mcp/admin/toolsets"), "--base-url", llm.URL, "--model", "any")
	defer agent.end()
	goal := regexp.MustCompile(`-d '(\{"goal".*\})'`).FindStringSubmatch(fenced(t, "agent-server.md", "sh")[0])
	var want, got struct {
		Status      string
		FinalAnswer string `json:"final_answer"`
	}
	_, body, _ := strings.Cut(agent.ask("POST", agent.URL, goal[1]), " ")
	if err := errors.Join(json.Unmarshal([]byte(texts[1]), &want), json.Unmarshal([]byte(body), &got)); err != nil || got != want {
		t.Errorf("%v: the page says %+v, and it is %s", err, want, body)
	}
}

// TestServingPage sends what docs/serving.md sends to a test's conversation.
func TestServingPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "assistant.yaml")
	write(t, file, fenced(t, "serving.md", "yaml")[0])
	s := serveArgs(t, &process{}, "serve", "llm", file)
	defer s.end()
	text, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSuffix(s.URL, "/v1")
	sent := regexp.MustCompile(`curl http://127\.0\.0\.1:8080(/t/test-42/\S+) .*\\\n +-d '(.*)'\n`).FindAllStringSubmatch(string(text), 2)
	for i, want := range []string{`"name":"get_weather"`, `{"passed":true,"checks":[{"check":"that","passed":true},{"check":"done","passed":true}]}`} {
		s.expect(want, "POST", root+sent[i][1], sent[i][2])
	}
}
