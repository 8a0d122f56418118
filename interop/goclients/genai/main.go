// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command genai runs the official Google Gen AI client for Go against
// `rehearse serve llm`.
//
//	genai BASE_URL plain|stream MODEL
//	genai BASE_URL refused
//
// BASE_URL is without a version. It runs one tool-calling conversation, kept
// by the client's chat, and prints what it saw as one JSON line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"google.golang.org/genai"
)

type seen struct {
	Models []string         `json:"models"`
	Said   string           `json:"said"`
	Calls  []map[string]any `json:"calls"`
	Answer string           `json:"answer"`
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "unused", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: os.Args[1]},
	})
	if err != nil {
		log.Fatal(err)
	}
	if os.Args[2] == "refused" {
		if err := refused(ctx, client); err != nil {
			log.Fatal(err)
		}
		return
	}
	s, err := run(ctx, client, os.Args[2] == "stream", os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(s) // of texts, to a pipe
}

func run(ctx context.Context, client *genai.Client, stream bool, model string) (*seen, error) {
	var s seen
	for m, err := range client.Models.All(ctx) {
		if err != nil {
			return nil, err
		}
		s.Models = append(s.Models, m.Name)
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "get_weather", Description: "The weather of a city.",
		Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"location": {Type: genai.TypeString}}, Required: []string{"location"}},
	}}}}}
	chat, err := client.Chats.Create(ctx, model, config, nil)
	if err != nil {
		return nil, err
	}
	first, err := send(ctx, chat, stream, genai.NewPartFromText("What is the weather in Paris and in Zürich?"))
	if err != nil {
		return nil, err
	}
	weather := map[string]string{"Paris": "sunny", "Zürich": "foggy"}
	var results []*genai.Part
	for _, p := range first {
		if call := p.FunctionCall; call != nil {
			s.Calls = append(s.Calls, call.Args)
			result := genai.NewPartFromFunctionResponse(call.Name, map[string]any{"output": weather[fmt.Sprint(call.Args["location"])]})
			result.FunctionResponse.ID = call.ID
			results = append(results, result)
		}
	}
	last, err := send(ctx, chat, stream, results...)
	if err != nil {
		return nil, err
	}
	s.Said, s.Answer = said(first), said(last)
	return &s, nil
}

// send returns the parts of a reply, those of a stream one after the other.
func send(ctx context.Context, chat *genai.Chat, stream bool, parts ...*genai.Part) ([]*genai.Part, error) {
	if !stream {
		r, err := chat.Send(ctx, parts...)
		if err != nil {
			return nil, err
		}
		return r.Candidates[0].Content.Parts, nil
	}
	var out []*genai.Part
	for r, err := range chat.SendStream(ctx, parts...) {
		if err != nil {
			return nil, err
		}
		out = append(out, r.Candidates[0].Content.Parts...)
	}
	return out, nil
}

func said(parts []*genai.Part) string {
	var s string
	for _, p := range parts {
		if !p.Thought {
			s += p.Text
		}
	}
	return s
}

// refused asks for what the provider refuses, which comes back as the client's
// own error.
func refused(ctx context.Context, client *genai.Client) error {
	_, err := client.Models.GenerateContent(ctx, "mock", []*genai.Content{{Role: "assistant", Parts: []*genai.Part{{Text: "hi"}}}}, nil)
	var refused genai.APIError
	if !errors.As(err, &refused) || refused.Code != 400 || refused.Status != "INVALID_ARGUMENT" {
		return errors.Join(errors.New("an unknown role was not refused"), err)
	}
	return nil
}
