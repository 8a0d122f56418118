// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func respond(ctx context.Context, client *openai.Client, stream bool, s *seen) error {
	params := responses.ResponseNewParams{
		Model: "mock",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(question)},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "get_weather", Description: openai.String("The weather of a city."), Parameters: parameters, Strict: openai.Bool(true),
		}}},
	}
	first, err := response(ctx, client, params, stream)
	if err != nil {
		return err
	}
	if first.Status != "completed" || first.Usage.OutputTokens == 0 || first.Usage.InputTokens == 0 {
		return errors.New("the first response: " + first.RawJSON())
	}
	s.Said = first.OutputText()
	var results responses.ResponseInputParam
	for _, item := range first.Output {
		if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
			result, err := weather(call.Arguments)
			if err != nil {
				return err
			}
			s.Calls = append(s.Calls, json.RawMessage(call.Arguments))
			output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
			output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
			results = append(results, output)
		}
	}
	params.PreviousResponseID = openai.String(first.ID)
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: results}
	last, err := response(ctx, client, params, stream)
	if err != nil {
		return err
	}
	if last.PreviousResponseID != first.ID {
		return errors.New("the last response follows another: " + last.RawJSON())
	}
	s.Answer = last.OutputText()
	return nil
}

func response(ctx context.Context, client *openai.Client, params responses.ResponseNewParams, stream bool) (*responses.Response, error) {
	if !stream {
		return client.Responses.New(ctx, params)
	}
	var out *responses.Response
	events := client.Responses.NewStreaming(ctx, params)
	for events.Next() {
		if done, ok := events.Current().AsAny().(responses.ResponseCompletedEvent); ok {
			out = &done.Response
		}
	}
	if out == nil {
		return nil, errors.Join(errors.New("the stream did not complete"), events.Err())
	}
	return out, events.Err()
}
