// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	goopenai "github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// question begins each measured conversation: one tool call, then text.
const (
	question = "What is the weather in Paris?"
	answer   = "It is sunny in Paris."
)

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
		{When: lastRole(harness.RoleTool), Reply: mockllm.Reply{Say: answer}},
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

// httpTransport is what each side sends its requests through.
func httpTransport() *http.Transport { return http.DefaultTransport.(*http.Transport).Clone() }

// agentLoop is the agent on both mocks.
func agentLoop(ctx context.Context, m model.Model, server *mockmcp.Server, stream bool) (conversation, func() error, error) {
	session, err := mcppool.Open(ctx, harness.Server{Name: "weather", Dial: server.Dial}, nil)
	if err != nil {
		return nil, nil, err
	}
	router, err := tools.NewRouter(ctx, []*mcppool.Session{session}, nil)
	if err != nil {
		return nil, nil, errors.Join(err, session.Close())
	}
	a := agent.New(agent.Config{Model: m, Name: modelName, Tools: router, Stream: stream, MaxTokens: maxTokens})
	loop := func(ctx context.Context) error {
		answer := ""
		for event, err := range a.Conversation().Send(ctx, question) {
			if err != nil {
				return err
			}
			if a, ok := event.(agent.Answer); ok {
				answer = a.Text
			}
		}
		return checkAnswer(answer)
	}
	return loop, router.Close, nil
}

func checkAnswer(got string) error {
	if got != answer {
		return fmt.Errorf("the answer is %q, not %q", got, answer)
	}
	return nil
}

// rawTools are the tools of a server to a hand-written loop, by mcp-go.
type rawTools struct {
	*client.Client
	listed []mcp.Tool
}

func openTools(ctx context.Context, server *mockmcp.Server) (*rawTools, error) {
	pipe, err := server.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := client.NewClient(transport.NewIO(quiet{pipe}, pipe, io.NopCloser(nil)))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "rehearse", Version: "0"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	return &rawTools{c, listed.Tools}, nil
}

// call runs a tool and returns its text.
func (t *rawTools) call(ctx context.Context, name string, arguments []byte) (string, error) {
	var args map[string]any
	if err := json.Unmarshal(arguments, &args); err != nil {
		return "", err
	}
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = name, args
	res, err := t.CallTool(ctx, req)
	if err != nil {
		return "", err
	}
	text, ok := res.Content[0].(mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("result is %T", res.Content[0])
	}
	return text.Text, nil
}

// rawChat is what somebody would write by hand with go-openai and mcp-go, for
// one server and for an endpoint that does all as it should: it sends the same
// requests over the same kind of connections, and reads all of the replies.
func rawChat(base string, rt http.RoundTripper, tools *rawTools, stream bool) (conversation, error) {
	var offered []goopenai.Tool
	for _, t := range tools.listed {
		offered = append(offered, goopenai.Tool{Type: "function", Function: &goopenai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.InputSchema,
		}})
	}
	cfg := goopenai.DefaultConfig("unused")
	cfg.BaseURL, cfg.HTTPClient = base, &http.Client{Transport: rt}
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
		//lint:ignore SA1019 ours sends max_tokens too
		req := goopenai.ChatCompletionRequest{Model: modelName, MaxTokens: maxTokens, Tools: offered, Messages: []goopenai.ChatCompletionMessage{
			{Role: "user", Content: question},
		}}
		for {
			m, err := ask(ctx, req)
			if err != nil {
				return err
			}
			if len(m.ToolCalls) == 0 {
				return checkAnswer(m.Content)
			}
			req.Messages = append(req.Messages, m)
			for _, call := range m.ToolCalls {
				text, err := tools.call(ctx, call.Function.Name, []byte(call.Function.Arguments))
				if err != nil {
					return err
				}
				req.Messages = append(req.Messages, goopenai.ChatCompletionMessage{Role: "tool", ToolCallID: call.ID, Content: text})
			}
		}
	}, nil
}

// quiet ends in order when it is closed: mcp-go's client logs any other end.
type quiet struct{ io.Reader }

func (q quiet) Read(p []byte) (int, error) {
	n, err := q.Reader.Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

func askStream(ctx context.Context, llm *goopenai.Client, req goopenai.ChatCompletionRequest) (goopenai.ChatCompletionMessage, error) {
	m := goopenai.ChatCompletionMessage{Role: "assistant"}
	req.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
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

// sides are the two loops of a measurement, and what they share.
type sides struct {
	ours, raw conversation
	mock      *mockllm.Mock
	closers   []func() error
}

// open starts both mocks and makes a client of each kind for them.
func open(ctx context.Context, p provider, stream bool) (s *sides, err error) {
	s = &sides{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	host, err := mockllm.NewHost("")
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, host.Close)
	if s.mock, err = mockllm.New(weatherModel(), nil); err != nil {
		return s, err
	}
	s.closers = append(s.closers, func() error { s.mock.Close(); return nil })
	base, _ := host.Mount(s.mock)
	server, err := weatherServer()
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, server.Close)
	rt := httpTransport()
	s.closers = append(s.closers, func() error { rt.CloseIdleConnections(); return nil })
	var end func() error
	if s.ours, end, err = agentLoop(ctx, p.ours(base, rt), server, stream); err != nil {
		return s, err
	}
	s.closers = append(s.closers, end)
	tools, err := openTools(ctx, server)
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, tools.Close)
	raw := httpTransport()
	s.closers = append(s.closers, func() error { raw.CloseIdleConnections(); return nil })
	s.raw, err = p.raw(base, raw, tools, stream)
	return s, err
}

// close ends all that open started.
func (s *sides) close() error {
	var errs []error
	for _, end := range s.closers {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// overhead is what the agent's loop adds to the hand-written one: the median
// of the ratios of rounds so short that a busy machine is busy for both sides
// of most of them. The sides take turns in going first.
func overhead(ctx context.Context, p provider, stream bool, rounds, perRound int) (ratio float64, err error) {
	s, err := open(ctx, p, stream)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	measure := func(name string, c conversation) (time.Duration, error) {
		s.mock.Reset() // the journal
		runtime.GC()   // neither side pays for the other's garbage
		start := time.Now()
		for range perRound {
			if err := c(ctx); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
		return time.Since(start), nil
	}
	var ratios []float64
	for n := range rounds + 2 {
		var took [2]time.Duration
		for i := range took {
			var err error
			if ours := (i + n) % 2; ours == 0 {
				took[0], err = measure("the agent's loop", s.ours)
			} else {
				took[1], err = measure("the hand-written loop", s.raw)
			}
			if err != nil {
				return 0, err
			}
		}
		if n >= 2 { // the first rounds warm up
			ratios = append(ratios, float64(took[0])/float64(took[1]))
		}
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2], nil
}
