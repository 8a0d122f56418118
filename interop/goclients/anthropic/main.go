// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command anthropic runs the official Anthropic client for Go against
// `rehearse serve llm`.
//
//	anthropic BASE_URL plain|stream [thinking]
//	anthropic BASE_URL refused
//
// BASE_URL is without /v1. It runs one tool-calling conversation and prints
// what it saw as one JSON line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

type seen struct {
	Models []string          `json:"models"`
	Said   string            `json:"said"`
	Calls  []json.RawMessage `json:"calls"`
	Answer string            `json:"answer"`
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	client := anthropic.NewClient(option.WithBaseURL(os.Args[1]), option.WithAPIKey("unused"), option.WithMaxRetries(0))
	if os.Args[2] == "refused" {
		if err := refused(ctx, &client); err != nil {
			log.Fatal(err)
		}
		return
	}
	s, err := run(ctx, &client, os.Args[2] == "stream", len(os.Args) > 3)
	if err != nil {
		log.Fatal(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(s) // of texts, to a pipe
}

func run(ctx context.Context, client *anthropic.Client, stream, thinking bool) (*seen, error) {
	var s seen
	models := client.Models.ListAutoPaging(ctx, anthropic.ModelListParams{})
	for models.Next() {
		s.Models = append(s.Models, models.Current().ID)
	}
	if err := models.Err(); err != nil {
		return nil, err
	}
	params := anthropic.MessageNewParams{
		Model: "mock", MaxTokens: 2048,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("What is the weather in Paris and in Zürich?"))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "get_weather", Description: anthropic.String("The weather of a city."),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"location": map[string]any{"type": "string"}}, Required: []string{"location"}},
		}}},
	}
	if thinking {
		params.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	}
	first, err := complete(ctx, client, params, stream)
	if err != nil {
		return nil, err
	}
	if first.StopReason != anthropic.StopReasonToolUse || first.Usage.OutputTokens == 0 {
		return nil, errors.New("the first reply: " + first.RawJSON())
	}
	s.Said = said(first)
	weather := map[string]string{"Paris": "sunny", "Zürich": "foggy"}
	var results []anthropic.ContentBlockParamUnion
	for _, b := range first.Content {
		if call, ok := b.AsAny().(anthropic.ToolUseBlock); ok {
			var args struct{ Location string }
			if err := json.Unmarshal(call.Input, &args); err != nil {
				return nil, err
			}
			s.Calls = append(s.Calls, json.RawMessage(call.Input))
			results = append(results, anthropic.NewToolResultBlock(call.ID, weather[args.Location], false))
		}
	}
	params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(results...))
	last, err := complete(ctx, client, params, stream)
	if err != nil {
		return nil, err
	}
	s.Answer = said(last)
	return &s, nil
}

func complete(ctx context.Context, client *anthropic.Client, params anthropic.MessageNewParams, stream bool) (*anthropic.Message, error) {
	if !stream {
		return client.Messages.New(ctx, params)
	}
	var m anthropic.Message
	events := client.Messages.NewStreaming(ctx, params)
	for events.Next() {
		if err := m.Accumulate(events.Current()); err != nil {
			return nil, err
		}
	}
	return &m, events.Err()
}

func said(m *anthropic.Message) string {
	var s string
	for _, b := range m.Content {
		if text, ok := b.AsAny().(anthropic.TextBlock); ok {
			s += text.Text
		}
	}
	return s
}

// refused asks for what the provider refuses, which comes back as the client's
// own error.
func refused(ctx context.Context, client *anthropic.Client) error {
	_, err := client.Messages.New(ctx, anthropic.MessageNewParams{
		Model: "mock", MaxTokens: 5,
		Messages: []anthropic.MessageParam{anthropic.NewAssistantMessage(anthropic.NewTextBlock("hi"))},
	})
	var refused *anthropic.Error
	if !errors.As(err, &refused) || refused.StatusCode != 400 || refused.RequestID == "" {
		return errors.Join(errors.New("an assistant message came first, and was not refused"), err)
	}
	return nil
}
