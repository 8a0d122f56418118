// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package goopenai_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/goopenai"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// A client of go-openai on a mock model, in memory. In a trial, env is what the
// agent is opened with.
func ExampleConfig() {
	mock, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{{Say: "Sunny."}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer mock.Close()
	env := &harness.Env{Endpoint: harness.Endpoint{BaseURL: mock.URL, Model: "gpt-5", Transport: mock.Transport()}}

	client := openai.NewClientWithConfig(goopenai.Config(env))
	reply, err := client.CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{
		Model:    env.Endpoint.Model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "What is the weather in Paris?"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Choices[0].Message.Content)
	fmt.Println(len(mock.Journal()), "request for", mock.Journal()[0].Request.Model)

	// Output:
	// Sunny.
	// 1 request for gpt-5
}

// A conversation with a tool, streamed.
func ExampleComplete() {
	mock, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"city": "Paris"}}}},
		{Say: "It is sunny in Paris."},
	}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer mock.Close()
	env := &harness.Env{
		Endpoint: harness.Endpoint{BaseURL: mock.URL, Model: "gpt-5", Transport: mock.Transport()},
		Settings: harness.Settings{System: "Be brief.", Stream: true},
	}

	client, request := openai.NewClientWithConfig(goopenai.Config(env)), goopenai.Request(env)
	request.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: "get_weather", Parameters: map[string]any{"type": "object", "properties": map[string]any{}},
	}}}
	request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: "What is the weather in Paris?"})
	for {
		message, err := goopenai.Complete(context.Background(), client, request)
		if err != nil {
			log.Fatal(err)
		}
		if len(message.ToolCalls) == 0 {
			fmt.Println(message.Content)
			return
		}
		request.Messages = append(request.Messages, message)
		for _, call := range message.ToolCalls {
			fmt.Println(call.Function.Name, call.Function.Arguments)
			request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: call.ID, Content: "sunny"})
		}
	}

	// Output:
	// get_weather {"city":"Paris"}
	// It is sunny in Paris.
}
