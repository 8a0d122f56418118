// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command openai runs the official OpenAI client for Go against
// `rehearse serve llm`.
//
//	openai BASE_URL plain|stream [responses]
//	openai BASE_URL refused
//
// BASE_URL is without /v1. It runs one tool-calling conversation, over chat
// completions or over responses whose history the endpoint keeps, and prints
// what it saw as one JSON line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type seen struct {
	Models []string          `json:"models"`
	Said   string            `json:"said"`
	Calls  []json.RawMessage `json:"calls"`
	Answer string            `json:"answer"`
}

const question = "What is the weather in Paris and in Zürich?"

var parameters = map[string]any{
	"type":       "object",
	"properties": map[string]any{"location": map[string]any{"type": "string"}},
	"required":   []string{"location"}, "additionalProperties": false,
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	client := openai.NewClient(option.WithBaseURL(os.Args[1]+"/v1/"), option.WithAPIKey("unused"), option.WithMaxRetries(0))
	if os.Args[2] == "refused" {
		if err := refused(ctx, &client); err != nil {
			log.Fatal(err)
		}
		return
	}
	var s seen
	models := client.Models.ListAutoPaging(ctx)
	for models.Next() {
		s.Models = append(s.Models, models.Current().ID)
	}
	converse := chat
	if len(os.Args) > 3 {
		converse = respond
	}
	if err := errors.Join(models.Err(), converse(ctx, &client, os.Args[2] == "stream", &s)); err != nil {
		log.Fatal(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(s) // of texts, to a pipe
}

// weather is the tool.
func weather(arguments string) (string, error) {
	var args struct{ Location string }
	err := json.Unmarshal([]byte(arguments), &args)
	return map[string]string{"Paris": "sunny", "Zürich": "foggy"}[args.Location], err
}

// refused asks for what the provider refuses, which comes back as the client's
// own error.
func refused(ctx context.Context, client *openai.Client) error {
	_, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: "mock", Messages: []openai.ChatCompletionMessageParamUnion{openai.ToolMessage("sunny", "call_0")},
	})
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != 400 || refused.Type != "invalid_request_error" {
		return errors.Join(errors.New("an answer to no call was not refused"), err)
	}
	return nil
}
