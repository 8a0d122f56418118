// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	vendor "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/rehearse-dev/rehearse/harness/model"
)

// What both sides of each measurement ask with.
const (
	modelName = "mock"
	maxTokens = 1024
)

// provider is one of our providers and a loop written by hand with the SDK of
// its vendor. base ends in /v1.
type provider struct {
	name string // of the SDK
	ours func(base string, rt http.RoundTripper) model.Model
	raw  func(base string, rt http.RoundTripper, tools *rawTools, stream bool) (conversation, error)
}

func providers() []provider {
	return []provider{
		{"go-openai and mcp-go", func(base string, rt http.RoundTripper) model.Model {
			return model.NewOpenAI(model.Config{BaseURL: base, APIKey: "unused", Transport: rt})
		}, rawChat},
		{"openai-go (responses)", func(base string, rt http.RoundTripper) model.Model {
			return model.NewResponses(model.Config{BaseURL: base, APIKey: "unused", Transport: rt})
		}, rawResponses},
		{"anthropic-sdk-go", func(base string, rt http.RoundTripper) model.Model {
			return model.NewAnthropic(model.Config{BaseURL: rootOf(base), APIKey: "unused", Transport: rt})
		}, rawMessages},
		{"genai", func(base string, rt http.RoundTripper) model.Model {
			return model.NewGemini(model.Config{BaseURL: rootOf(base), APIKey: "unused", Transport: rt})
		}, rawGemini},
	}
}

func rootOf(base string) string { return strings.TrimSuffix(base, "/v1") }

// rawResponses is the loop written with OpenAI's SDK and mcp-go. The client
// keeps the conversation, as ours does.
func rawResponses(base string, rt http.RoundTripper, tools *rawTools, stream bool) (conversation, error) {
	llm := vendor.NewClient(openaioption.WithBaseURL(base), openaioption.WithAPIKey("unused"),
		openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(&http.Client{Transport: rt}))
	var offered []responses.ToolUnionParam
	for _, t := range tools.listed {
		offered = append(offered, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: param.NewOpt(t.Description), Strict: param.NewOpt(false),
			Parameters: map[string]any{"type": t.InputSchema.Type, "properties": t.InputSchema.Properties, "required": t.InputSchema.Required},
		}})
	}
	ask := func(ctx context.Context, params responses.ResponseNewParams) (*responses.Response, error) {
		if !stream {
			return llm.Responses.New(ctx, params)
		}
		events := llm.Responses.NewStreaming(ctx, params)
		var last *responses.Response
		for events.Next() {
			if done, ok := events.Current().AsAny().(responses.ResponseCompletedEvent); ok {
				last = &done.Response
			}
		}
		if last == nil {
			return nil, errors.Join(errors.New("the stream did not complete"), events.Err())
		}
		return last, events.Err()
	}
	return func(ctx context.Context) error {
		input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser)}
		for {
			res, err := ask(ctx, responses.ResponseNewParams{
				Model: modelName, MaxOutputTokens: param.NewOpt[int64](maxTokens), Store: param.NewOpt(false), Tools: offered,
				Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
			})
			if err != nil {
				return err
			}
			called := false
			for _, item := range res.Output {
				call, ok := item.AsAny().(responses.ResponseFunctionToolCall)
				if !ok {
					continue
				}
				called = true
				text, err := tools.call(ctx, call.Name, []byte(call.Arguments))
				if err != nil {
					return err
				}
				result := responses.ResponseInputItemParamOfFunctionCallOutput(text)
				result.OfFunctionCallOutput.CallID = param.NewOpt(call.CallID)
				input = append(input, responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name), result)
			}
			if !called {
				return checkAnswer(res.OutputText())
			}
		}
	}, nil
}

// rawMessages is the loop written with Anthropic's SDK and mcp-go.
func rawMessages(base string, rt http.RoundTripper, tools *rawTools, stream bool) (conversation, error) {
	llm := anthropic.NewClient(option.WithBaseURL(rootOf(base)), option.WithAPIKey("unused"),
		option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: rt}))
	var offered []anthropic.ToolUnionParam
	for _, t := range tools.listed {
		offered = append(offered, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: t.InputSchema.Properties, Required: t.InputSchema.Required},
		}})
	}
	ask := func(ctx context.Context, params anthropic.MessageNewParams) (*anthropic.Message, error) {
		if !stream {
			return llm.Messages.New(ctx, params)
		}
		var m anthropic.Message
		events := llm.Messages.NewStreaming(ctx, params)
		for events.Next() {
			if err := m.Accumulate(events.Current()); err != nil {
				return nil, err
			}
		}
		return &m, events.Err()
	}
	return func(ctx context.Context) error {
		params := anthropic.MessageNewParams{
			Model: modelName, MaxTokens: maxTokens, Tools: offered,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
		}
		for {
			m, err := ask(ctx, params)
			if err != nil {
				return err
			}
			said := ""
			var results []anthropic.ContentBlockParamUnion
			for _, b := range m.Content {
				switch b := b.AsAny().(type) {
				case anthropic.TextBlock:
					said += b.Text
				case anthropic.ToolUseBlock:
					text, err := tools.call(ctx, b.Name, b.Input)
					if err != nil {
						return err
					}
					results = append(results, anthropic.NewToolResultBlock(b.ID, text, false))
				}
			}
			if results == nil {
				return checkAnswer(said)
			}
			params.Messages = append(params.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
		}
	}, nil
}

// rawGemini is the loop written with Google's SDK and mcp-go.
func rawGemini(base string, rt http.RoundTripper, tools *rawTools, stream bool) (conversation, error) {
	llm, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "unused", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: rt}, HTTPOptions: genai.HTTPOptions{BaseURL: rootOf(base)},
	})
	if err != nil {
		return nil, err
	}
	var offered []*genai.FunctionDeclaration
	for _, t := range tools.listed {
		offered = append(offered, &genai.FunctionDeclaration{Name: t.Name, Description: t.Description, ParametersJsonSchema: t.InputSchema})
	}
	config := &genai.GenerateContentConfig{MaxOutputTokens: maxTokens, Tools: []*genai.Tool{{FunctionDeclarations: offered}}}
	ask := func(ctx context.Context, history []*genai.Content) (*genai.Content, error) {
		if !stream {
			r, err := llm.Models.GenerateContent(ctx, modelName, history, config)
			if err != nil {
				return nil, err
			}
			return r.Candidates[0].Content, nil
		}
		out := &genai.Content{Role: "model"}
		for r, err := range llm.Models.GenerateContentStream(ctx, modelName, history, config) {
			if err != nil {
				return nil, err
			}
			for _, c := range r.Candidates {
				if c.Content == nil {
					continue
				}
				for _, p := range c.Content.Parts {
					if p.Text != "" || p.FunctionCall != nil { // the last part may be empty, and is refused
						out.Parts = append(out.Parts, p)
					}
				}
			}
		}
		return out, nil
	}
	return func(ctx context.Context) error {
		history := []*genai.Content{genai.NewContentFromText(question, genai.RoleUser)}
		for {
			reply, err := ask(ctx, history)
			if err != nil {
				return err
			}
			said := ""
			var results []*genai.Part
			for _, p := range reply.Parts {
				said += p.Text
				if call := p.FunctionCall; call != nil {
					args, err := json.Marshal(call.Args)
					if err != nil {
						return err
					}
					text, err := tools.call(ctx, call.Name, args)
					if err != nil {
						return err
					}
					part := genai.NewPartFromFunctionResponse(call.Name, map[string]any{"output": text})
					part.FunctionResponse.ID = call.ID
					results = append(results, part)
				}
			}
			if results == nil {
				return checkAnswer(said)
			}
			history = append(history, reply, genai.NewContentFromParts(results, genai.RoleUser))
		}
	}, nil
}
