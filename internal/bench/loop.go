// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	goopenai "github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model/openai"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// question begins each measured conversation: one tool call, then text.
const question = "What is the weather in Paris?"

// weatherModel answers every conversation alike, however many there are.
func weatherModel() mockllm.Script {
	lastRole := func(role harness.Role) func(*mockllm.Ask) (bool, error) {
		return func(a *mockllm.Ask) (bool, error) {
			m := a.Request.Messages
			return len(m) > 0 && m[len(m)-1].Role == role, nil
		}
	}
	return mockllm.Script{Rules: []mockllm.Rule{
		{When: lastRole(harness.RoleUser), Reply: mockllm.Reply{Calls: []mockllm.Call{
			{Tool: "get_weather", Args: map[string]any{"location": "Paris"}},
		}}},
		{When: lastRole(harness.RoleTool), Reply: mockllm.Reply{Say: "It is sunny in Paris."}},
	}}
}

func weatherServer() (*mockmcp.Server, error) {
	return mockmcp.New(mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name: "get_weather", Description: "The weather of a city.",
		Input: json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}`),
		Results: []mockmcp.Result{{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "sunny"}, nil
		}}},
	}}}, nil)
}

// conversation is one measured unit of work.
type conversation func(ctx context.Context) error

// loops returns the same conversation three times: by the agent, and by hand
// with the libraries under it, streaming or not.
func loops(ctx context.Context, base string, server *mockmcp.Server, stream bool) (ours, raw conversation, closeAll func() error, err error) {
	session, err := mcppool.Open(ctx, harness.Server{Name: "weather", Dial: server.Dial}, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	router, err := tools.NewRouter(ctx, []*mcppool.Session{session}, nil)
	if err != nil {
		return nil, nil, nil, errors.Join(err, session.Close())
	}
	a := agent.New(agent.Config{Model: openai.New(openai.Config{BaseURL: base}), Name: "mock", Tools: router, Stream: stream})
	ours = func(ctx context.Context) error {
		answered := false
		for event, err := range a.Conversation().Send(ctx, question) {
			if err != nil {
				return err
			}
			_, isAnswer := event.(agent.Answer)
			answered = answered || isAnswer
		}
		if !answered {
			return errors.New("the agent gave no answer")
		}
		return nil
	}
	raw, closeRaw, err := rawLoop(ctx, base, server, stream)
	if err != nil {
		return nil, nil, nil, errors.Join(err, router.Close())
	}
	return ours, raw, func() error { return errors.Join(router.Close(), closeRaw()) }, nil
}

// rawLoop is what somebody would write by hand with go-openai and mcp-go.
func rawLoop(ctx context.Context, base string, server *mockmcp.Server, stream bool) (conversation, func() error, error) {
	pipe, err := server.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	c := client.NewClient(transport.NewIO(pipe, pipe, io.NopCloser(nil)))
	if err := c.Start(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		return nil, nil, err
	}
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, nil, err
	}
	var offered []goopenai.Tool
	for _, t := range listed.Tools {
		offered = append(offered, goopenai.Tool{Type: "function", Function: &goopenai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.InputSchema,
		}})
	}
	cfg := goopenai.DefaultConfig("unused")
	cfg.BaseURL = base
	llm := goopenai.NewClientWithConfig(cfg)
	ask := func(ctx context.Context, req goopenai.ChatCompletionRequest) (goopenai.ChatCompletionMessage, error) {
		if stream {
			return askStream(ctx, llm, req)
		}
		res, err := llm.CreateChatCompletion(ctx, req)
		if err != nil {
			return goopenai.ChatCompletionMessage{}, err
		}
		return res.Choices[0].Message, nil
	}
	return func(ctx context.Context) error {
		req := goopenai.ChatCompletionRequest{Model: "mock", Tools: offered, Messages: []goopenai.ChatCompletionMessage{
			{Role: "user", Content: question},
		}}
		for {
			m, err := ask(ctx, req)
			if err != nil || len(m.ToolCalls) == 0 {
				return err
			}
			req.Messages = append(req.Messages, m)
			for _, call := range m.ToolCalls {
				var args map[string]any
				if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil {
					return err
				}
				var call1 mcp.CallToolRequest
				call1.Params.Name, call1.Params.Arguments = call.Function.Name, args
				res, err := c.CallTool(ctx, call1)
				if err != nil {
					return err
				}
				text, ok := res.Content[0].(mcp.TextContent)
				if !ok {
					return fmt.Errorf("result is %T", res.Content[0])
				}
				req.Messages = append(req.Messages, goopenai.ChatCompletionMessage{
					Role: "tool", ToolCallID: call.ID, Content: text.Text,
				})
			}
		}
	}, c.Close, nil
}

func askStream(ctx context.Context, llm *goopenai.Client, req goopenai.ChatCompletionRequest) (goopenai.ChatCompletionMessage, error) {
	m := goopenai.ChatCompletionMessage{Role: "assistant"}
	s, err := llm.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return m, err
	}
	defer s.Close()
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		for _, choice := range chunk.Choices {
			m.Content += choice.Delta.Content
			for _, d := range choice.Delta.ToolCalls {
				for len(m.ToolCalls) <= *d.Index {
					m.ToolCalls = append(m.ToolCalls, goopenai.ToolCall{Type: "function"})
				}
				call := &m.ToolCalls[*d.Index]
				call.ID += d.ID
				call.Function.Name += d.Function.Name
				call.Function.Arguments += d.Function.Arguments
			}
		}
	}
}

// overhead is what the agent's loop adds to the hand-written one, as the
// ratio of the medians of rounds that take turns.
func overhead(ctx context.Context, stream bool, rounds, perRound int) (ratio float64, err error) {
	host, err := mockllm.NewHost("")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	mock := mockllm.New(weatherModel(), nil)
	defer mock.Close()
	base, _ := host.Mount(mock)
	server, err := weatherServer()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	ours, raw, closeAll, err := loops(ctx, base, server, stream)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()

	var a, b []time.Duration
	for n := range rounds + 1 {
		x, err := timed(ctx, ours, perRound)
		if err != nil {
			return 0, fmt.Errorf("the agent's loop: %w", err)
		}
		y, err := timed(ctx, raw, perRound)
		if err != nil {
			return 0, fmt.Errorf("the hand-written loop: %w", err)
		}
		if n > 0 { // the first round warms up
			a, b = append(a, x), append(b, y)
		}
		mock.Reset() // the journal
	}
	return float64(median(a)) / float64(median(b)), nil
}

func timed(ctx context.Context, c conversation, n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		if err := c(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
