// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package goopenai connects agents that are written with go-openai to the
// endpoint of a trial: a mock model, a recording or a real endpoint.
//
//	func open(ctx context.Context, env *harness.Env) (harness.Session, error) {
//		client := openai.NewClientWithConfig(goopenai.Config(env))
//		...
//	}
//
// A mock model of a test needs no trial:
//
//	mock := mockllm.NewServer(t, script)
//	config := goopenai.Config(&harness.Env{Endpoint: harness.Endpoint{BaseURL: mock.URL}})
package goopenai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
)

// Config returns a configuration for [openai.NewClientWithConfig] whose client
// talks to the endpoint of a trial, in memory where the endpoint has a
// Transport. All else is as in [openai.DefaultConfig]: set what your agent sets.
func Config(env *harness.Env) openai.ClientConfig {
	config := openai.DefaultConfig(env.Endpoint.APIKey)
	config.BaseURL = env.Endpoint.BaseURL
	config.HTTPClient = &http.Client{Transport: env.Endpoint.Transport}
	return config
}

// Request returns the request that a conversation of a trial begins with: the
// model, the system prompt, and what scenario and model entry say of temperature,
// top_p, max_tokens, seed, reasoning and stream. go-openai leaves out a temperature or top_p of zero;
// the smallest number above it stands for it. It refuses max_tokens for
// reasoning models of OpenAI: an agent for these moves it to
// MaxCompletionTokens.
func Request(env *harness.Env) openai.ChatCompletionRequest {
	set := env.Settings
	request := openai.ChatCompletionRequest{
		Model:       env.Endpoint.Model,
		Temperature: number(set.Temperature),
		TopP:        number(set.TopP),
		//lint:ignore SA1019 compatible endpoints know max_tokens, not all its successor
		MaxTokens:       set.MaxTokens,
		Stream:          set.Stream,
		ReasoningEffort: set.Reasoning,
	}
	if set.Seed != nil {
		seed := int(*set.Seed)
		request.Seed = &seed
	}
	if set.System != "" {
		request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: set.System})
	}
	return request
}

func number(f *float64) float32 {
	switch {
	case f == nil:
		return 0
	case *f == 0:
		return math.SmallestNonzeroFloat32
	}
	return float32(*f)
}

// Complete sends a request and returns the message that answers it. It reads a
// stream when the request has Stream set, for agents that have no use for the
// pieces. A reply without a message, and a stream that ends before its
// finish_reason, are a [*harness.EndpointError]; go-openai by itself takes them
// for an empty and a whole reply.
func Complete(ctx context.Context, client *openai.Client, request openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
	if request.Stream {
		return stream(ctx, client, request)
	}
	reply, err := client.CreateChatCompletion(ctx, request)
	if err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	if len(reply.Choices) == 0 {
		return openai.ChatCompletionMessage{}, &harness.EndpointError{Err: errors.New("the reply has no choices")}
	}
	return reply.Choices[0].Message, nil
}

func stream(ctx context.Context, client *openai.Client, request openai.ChatCompletionRequest) (m openai.ChatCompletionMessage, err error) {
	read, err := client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return m, err
	}
	defer read.Close()
	m.Role = openai.ChatMessageRoleAssistant
	calls := make(map[int]int) // the places of calls in m, by their index in the stream
	for finished := false; ; {
		chunk, err := read.Recv()
		if errors.Is(err, io.EOF) && finished {
			return m, nil
		}
		if errors.Is(err, io.EOF) {
			err = &harness.EndpointError{Err: fmt.Errorf("the stream ends without a finish_reason: %w", io.ErrUnexpectedEOF)}
		}
		if err != nil {
			return m, err
		}
		for _, choice := range chunk.Choices {
			if choice.Index != 0 {
				continue
			}
			finished = finished || choice.FinishReason != ""
			m.Content += choice.Delta.Content
			m.Refusal += choice.Delta.Refusal
			m.ReasoningContent += choice.Delta.ReasoningContent
			for _, delta := range choice.Delta.ToolCalls {
				index := len(m.ToolCalls)
				if delta.Index != nil {
					index = *delta.Index
				}
				at, ok := calls[index]
				if !ok {
					at = len(m.ToolCalls)
					calls[index] = at
					m.ToolCalls = append(m.ToolCalls, openai.ToolCall{Type: openai.ToolTypeFunction})
				}
				call := &m.ToolCalls[at]
				call.ID += delta.ID
				call.Function.Name += delta.Function.Name
				call.Function.Arguments += delta.Function.Arguments
			}
		}
	}
}
