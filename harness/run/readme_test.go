// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/goopenai"
	"github.com/rehearse-dev/rehearse/harness/mcpgo"
	"github.com/rehearse-dev/rehearse/harness/run"
)

func TestAgent(t *testing.T) { // one subtest per scenario; a failure names file:line of the expectation
	run.Test(t, "testdata/scenarios", &run.Options{Subject: harness.SubjectFunc(open)})
}

// myAgent is an agent written with go-openai and mcp-go.
type myAgent struct {
	model    *openai.Client
	request  openai.ChatCompletionRequest // with the conversation so far
	servers  []*client.Client
	tools    map[string]*client.Client // by the name that is offered
	maxCalls int
}

// open builds the agent for one trial, on the endpoint and the MCP servers of that trial.
func open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	set := env.Settings // what the scenario asks of the agent
	if set.TokenLimit > 0 || set.TimeLimit > 0 || len(set.Extra) > 0 {
		return nil, fmt.Errorf("of settings this agent takes max_model_calls alone, and the scenario has token_limit %d, time_limit %v, others %v",
			set.TokenLimit, set.TimeLimit, set.Extra)
	}
	a := &myAgent{
		model:   openai.NewClientWithConfig(goopenai.Config(env)),
		request: goopenai.Request(env), tools: map[string]*client.Client{}, maxCalls: cmp.Or(set.MaxModelCalls, 10),
	}
	for _, s := range env.Servers {
		server, err := mcpgo.Client(ctx, s)
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		a.servers = append(a.servers, server)
		list, err := server.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		for _, tool := range list.Tools {
			a.tools[tool.Name] = server
			a.request.Tools = append(a.request.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
				Name: tool.Name, Description: tool.Description, Parameters: tool.InputSchema,
			}})
		}
	}
	return a, nil
}

// Send is one turn: it asks the model until that has an answer, and calls the tools that it asks for.
func (a *myAgent) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	a.add(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text})
	for range a.maxCalls {
		message, err := goopenai.Complete(ctx, a.model, a.request)
		if err != nil {
			return nil, err
		}
		a.add(message)
		if len(message.ToolCalls) == 0 {
			return &harness.TurnReport{Answer: message.Content}, nil
		}
		for _, call := range message.ToolCalls {
			a.add(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: call.ID, Content: a.call(ctx, call.Function)})
		}
	}
	return nil, &harness.StopError{Reason: harness.StopModelCalls}
}

func (a *myAgent) add(m openai.ChatCompletionMessage) {
	a.request.Messages = append(a.request.Messages, m)
}

// call returns what the model is told of a call: its result, or what went wrong.
func (a *myAgent) call(ctx context.Context, f openai.FunctionCall) (told string) {
	server, ok := a.tools[f.Name]
	if !ok {
		return "there is no tool " + f.Name
	}
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = f.Name, json.RawMessage(f.Arguments)
	result, err := server.CallTool(ctx, request)
	if err != nil {
		return err.Error()
	}
	for _, content := range result.Content {
		told += mcp.GetTextFromContent(content)
	}
	return cmp.Or(told, "(empty)") // go-openai cannot send a result without text
}

func (a *myAgent) Close() (err error) {
	for _, server := range a.servers {
		err = errors.Join(err, server.Close())
	}
	return err
}
