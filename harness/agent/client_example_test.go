// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// ExampleNewClient asks one question. The client finds its endpoint, its model and
// its MCP server in the environment.
func ExampleNewClient() {
	defer gemflux(turn{"Build a model for E. coli genome 83333.1.", "build_model", `{"genome": "83333.1"}`, "I have built ecoli with 1478 reactions."})()

	client, err := agent.NewClient(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for event, err := range client.Conversation().Send(context.Background(), "Build a model for E. coli genome 83333.1.") {
		if err != nil {
			log.Fatal(err)
		}
		if answer, ok := event.(agent.Answer); ok {
			fmt.Println(answer.Text)
		}
	}
	// Output: I have built ecoli with 1478 reactions.
}

// ExampleNewClient_streaming prints the answer as it comes, and a line for each
// tool that is called.
func ExampleNewClient_streaming() {
	defer gemflux(turn{"Build a model for E. coli genome 83333.1.", "build_model", `{"genome": "83333.1"}`, "I have built ecoli with 1478 reactions."})()

	client, err := agent.NewClient(&agent.ClientOptions{Agent: agent.Config{Stream: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for event, err := range client.Conversation().Send(context.Background(), "Build a model for E. coli genome 83333.1.") {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case agent.Delta:
			fmt.Print(e.Text)
		case agent.ToolStarted:
			fmt.Printf("[calling %s]\n", e.Call.Name)
		case agent.Answer:
			fmt.Println()
		}
	}
	// Output:
	// [calling build_model]
	// I have built ecoli with 1478 reactions.
}

// ExampleNewClient_workflow has a conversation of three turns, one of them with
// another model, and then lists the tools that were called.
func ExampleNewClient_workflow() {
	defer gemflux(
		turn{"Build a model for E. coli genome 83333.1.", "build_model", `{"genome": "83333.1"}`, "I have built ecoli with 1478 reactions."},
		turn{"Now gapfill it on minimal medium.", "gapfill_model", `{"model": "ecoli", "medium": "minimal"}`, "I have added 5 reactions."},
		turn{"Run FBA and show me the growth rate.", "run_fba", `{"model": "ecoli.gf"}`, "It grows at 0.87 per hour."},
	)()

	client, err := agent.NewClient(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	conversation := client.Conversation()
	ask := func(message string) {
		for event, err := range conversation.Send(context.Background(), message) {
			if err != nil {
				log.Fatal(err)
			}
			if answer, ok := event.(agent.Answer); ok {
				fmt.Println("Assistant:", answer.Text)
			}
		}
	}
	ask("Build a model for E. coli genome 83333.1.")
	ask("Now gapfill it on minimal medium.")
	conversation.SetModel("argo:claude-sonnet-4.5")
	ask("Run FBA and show me the growth rate.")
	fmt.Println("Tools used:")
	for _, call := range conversation.Calls() {
		fmt.Println("-", call.Tool, call.Arguments)
	}
	// Output:
	// Assistant: I have built ecoli with 1478 reactions.
	// Assistant: I have added 5 reactions.
	// Assistant: It grows at 0.87 per hour.
	// Tools used:
	// - build_model {"genome": "83333.1"}
	// - gapfill_model {"model": "ecoli", "medium": "minimal"}
	// - run_fba {"model": "ecoli.gf"}
}

// turn is what the mock model does with a message: a call, and an answer.
type turn struct{ user, tool, args, answer string }

// gemflux serves a mock model and a mock server of metabolic models, and names
// them in the environment until the function is called that it returns.
func gemflux(turns ...turn) (stop func()) {
	script := mockllm.Script{}
	server := mockmcp.Script{Name: "gemflux"}
	for _, t := range turns {
		script.Turns = append(script.Turns, mockllm.Turn{User: t.user, Replies: []mockllm.Reply{
			{Calls: []mockllm.Call{{Tool: t.tool, Args: json.RawMessage(t.args)}}}, {Say: t.answer},
		}})
		server.Tools = append(server.Tools, mockmcp.Tool{Name: t.tool, Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: `{"success": true}`}, nil
		}})
	}
	llm, err := mockllm.New(script, nil)
	if err != nil {
		log.Fatal(err)
	}
	tools, err := mockmcp.New(server, nil)
	if err != nil {
		log.Fatal(err)
	}
	endpoint, remote := httptest.NewServer(llm), httptest.NewServer(tools.Handler())
	home, err := os.MkdirTemp("", "gemflux")
	if err != nil {
		log.Fatal(err)
	}
	undo := setenv(map[string]string{
		"HOME": home, "ARGO_BASE_URL": endpoint.URL + "/v1", "ARGO_DEFAULT_MODEL": "argo:gpt-4o", "MCP_SERVER_URL": remote.URL, "MCP_SERVER_COMMAND": "", "OPENAI_API_KEY": "",
	})
	return func() {
		undo()
		endpoint.Close()
		remote.Close()
		llm.Close()
		if err := tools.Close(); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(home)
	}
}

// setenv sets variables until the function is called that it returns.
func setenv(vars map[string]string) (undo func()) {
	var undos []func()
	for name, value := range vars {
		old, was := os.LookupEnv(name)
		os.Setenv(name, value)
		undos = append(undos, func() {
			if was {
				os.Setenv(name, old)
			} else {
				os.Unsetenv(name)
			}
		})
	}
	return func() {
		for _, f := range undos {
			f()
		}
	}
}

// TestClientPage holds the programs of docs/client.md to the examples.
func TestClientPage(t *testing.T) {
	squeeze := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	code, err := os.ReadFile("client_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := strings.Split(string(page), "```go\n")[1:]
	if len(programs) != 3 {
		t.Errorf("%d programs, want 3", len(programs))
	}
	for _, p := range programs {
		p, _, _ = strings.Cut(p, "```")
		if !strings.Contains(squeeze(string(code)), squeeze(p)) {
			t.Errorf("not in client_example_test.go:\n%s", p)
		}
	}
}
