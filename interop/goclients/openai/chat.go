// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
)

func chat(ctx context.Context, client *openai.Client, stream bool, s *seen) error {
	params := openai.ChatCompletionNewParams{
		Model:    "mock",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "get_weather", Description: openai.String("The weather of a city."), Parameters: parameters,
		})},
	}
	if stream {
		params.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	first, err := complete(ctx, client, params, stream)
	if err != nil {
		return err
	}
	reply := first.Choices[0]
	if reply.FinishReason != "tool_calls" || first.Usage.CompletionTokens == 0 || first.Usage.PromptTokens == 0 {
		return errors.New("the first reply: " + first.RawJSON())
	}
	s.Said = reply.Message.Content
	params.Messages = append(params.Messages, reply.Message.ToParam())
	for _, call := range reply.Message.ToolCalls {
		result, err := weather(call.Function.Arguments)
		if err != nil {
			return err
		}
		s.Calls = append(s.Calls, json.RawMessage(call.Function.Arguments))
		params.Messages = append(params.Messages, openai.ToolMessage(result, call.ID))
	}
	last, err := complete(ctx, client, params, stream)
	if err != nil {
		return err
	}
	s.Answer = last.Choices[0].Message.Content
	return nil
}

func complete(ctx context.Context, client *openai.Client, params openai.ChatCompletionNewParams, stream bool) (*openai.ChatCompletion, error) {
	if !stream {
		return client.Chat.Completions.New(ctx, params)
	}
	var all openai.ChatCompletionAccumulator
	chunks := client.Chat.Completions.NewStreaming(ctx, params)
	for chunks.Next() {
		if !all.AddChunk(chunks.Current()) {
			return nil, errors.New("the client's accumulator does not take " + chunks.Current().RawJSON())
		}
	}
	return &all.ChatCompletion, chunks.Err()
}
