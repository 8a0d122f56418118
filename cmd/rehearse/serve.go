// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

const listenHelp = "address to listen on; keep it on loopback, because the mocks check no key"

func serveCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve llm|mcp|tools|agent",
		Short: "Serve a mock, tools or an agent to clients in any language",
		Long: `serve starts one server and prints one line of JSON when it is ready:
{"url": "...", "admin": "..."}. It runs until it is interrupted. llm and mcp are mocks;
tools and agent are a tool server and an agent that work.`,
		Example: "  rehearse serve llm assistant.yaml\n  rehearse serve mcp --transport stdio server.yaml\n  rehearse serve tools tool_registry.json\n  rehearse serve agent --model argo:gpt-4o --tools http://127.0.0.1:8001",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown server %q: want llm, mcp, tools or agent", args[0])
			}
			return errors.New("no server: want `rehearse serve llm FILE`, `mcp FILE`, `tools FILE` or `agent`")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(serveLLMCommand(p), serveMCPCommand(p), serveToolsCommand(p), serveAgentCommand(p))
	return cmd
}

// ended is how a mock ends: with an error of its own, or a count of what was
// not as scripted, each of which was printed when it happened.
func ended(err error, unscripted []error, what string) error {
	if err != nil {
		return err
	}
	if len(unscripted) == 0 {
		return nil
	}
	return &codeError{exitFailed, fmt.Errorf("%s not answered as scripted; see above", prose.Count(len(unscripted), what))}
}

// llmScript is the one script that a set holds.
func llmScript(set *scenarios.Set) (mockllm.Script, error) {
	switch {
	case len(set.LLMs) == 1:
		return set.LLMs[0].Script, nil
	case len(set.LLMs) == 0 && len(set.Scenarios) == 1:
		return set.Scenarios[0].ModelScript(), nil
	}
	return mockllm.Script{}, fmt.Errorf("want one llm file or one scenario, found %s and %s%s",
		prose.Count(len(set.LLMs), "llm file"), prose.Count(len(set.Scenarios), "scenario"), servedBy(len(set.Servers), "a server file", "mcp"))
}

// mcpScript is the one server that a set holds.
func mcpScript(set *scenarios.Set) (mockmcp.Script, error) {
	if len(set.Servers) != 1 {
		return mockmcp.Script{}, fmt.Errorf("want one server file, found %d%s", len(set.Servers), servedBy(len(set.LLMs), "an llm file", "llm"))
	}
	return *set.Servers[0].Mock, nil
}

// servedBy says which command is for the n files that were found instead; "" for
// none.
func servedBy(n int, file, command string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; `rehearse serve %s` is for %s", command, file)
}

// ready prints the line that a parent process waits for.
func (p *process) ready(w io.Writer, url, admin string) {
	line, _ := json.Marshal(struct {
		URL   string `json:"url"`
		Admin string `json:"admin,omitempty"`
	}{url, admin})
	fmt.Fprintf(unkept(w), "%s\n", line)
}

func (p *process) logf(format string, args ...any) {
	fmt.Fprintf(p.stderr, format+"\n", args...)
}
