// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

func response(c llmwire.Choice, request string) *llmwire.Reply {
	return &llmwire.Reply{
		ID: "resp_1", Created: 1767225600, Model: "gpt-4o", Choices: []llmwire.Choice{c}, Seed: 7, Request: json.RawMessage(request),
		Usage: harness.Usage{PromptTokens: 20, CompletionTokens: 9, TotalTokens: 29, ReasoningTokens: 2, CachedTokens: 4},
	}
}

func responsesCases() []struct {
	name  string
	reply *llmwire.Reply
	style wire.Style
} {
	return []struct {
		name  string
		reply *llmwire.Reply
		style wire.Style
	}{
		{"text", response(llmwire.Choice{Text: "Sunny in \"Zürich\" <1> 🌞.", Finish: "stop"}, ""), wire.Style{}},
		{"calls", response(llmwire.Choice{
			Text: "Let me see.", Reasoning: "Two calls.", Finish: "tool_calls",
			Calls: []llmwire.Call{{ID: "call_1", Name: "f", Arguments: `{"a":1}`}, {ID: "call_2", Name: "get_weather", Arguments: "{}", Extra: json.RawMessage(`{"namespace":"mcp__weather"}`)}},
		}, `{"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},"store":false,"stream_options":{"include_obfuscation":false}}`), wire.Style{}},
		{"custom", response(llmwire.Choice{Finish: "tool_calls", Reasoning: "Hm.", Calls: []llmwire.Call{{ID: "call_1", Name: "patch", Arguments: "*** Begin", Extra: json.RawMessage(llmwire.CustomCall)}}}, ""), wire.Style{}},
		{"refusal", response(llmwire.Choice{Refusal: "I can't.", Finish: "stop"}, ""), wire.Style{}},
		{"length", response(llmwire.Choice{Text: "Sun", Finish: "length"}, `{"max_output_tokens":16}`), wire.Style{}},
		{"empty", response(llmwire.Choice{Finish: "content_filter"}, ""), wire.Style{Done: true}},
	}
}

func TestResponses(t *testing.T) {
	for _, tc := range responsesCases() {
		t.Run(tc.name, func(t *testing.T) {
			plain, stream := llmwire.Responses(tc.reply, &tc.style, false), llmwire.Responses(tc.reply, &tc.style, true)
			golden(t, "responses_"+tc.name+".json", plain)
			golden(t, "responses_"+tc.name+".sse", stream)
			checkResponses(t, plain, stream)
		})
	}
}

// checkResponses holds the rules of the dialect: sequence numbers without a
// gap, deltas that join to what is done, and an end that is the plain body.
func checkResponses(t *testing.T, plain, stream *llmwire.Body) {
	t.Helper()
	said := make(map[string]string)
	var last string
	for i, f := range stream.Frames {
		name, data, ok := strings.Cut(strings.TrimPrefix(string(f.Data), "event: "), "\ndata: ")
		if f.Kind == llmwire.Done {
			continue
		}
		var e struct {
			Type           string          `json:"type"`
			SequenceNumber int             `json:"sequence_number"`
			OutputIndex    int             `json:"output_index"`
			ItemID         string          `json:"item_id"`
			Delta          string          `json:"delta"`
			Text           string          `json:"text"`
			Refusal        string          `json:"refusal"`
			Arguments      string          `json:"arguments"`
			Input          string          `json:"input"`
			Response       json.RawMessage `json:"response"`
		}
		if !ok || json.Unmarshal([]byte(data), &e) != nil {
			t.Fatalf("event %d: %q", i, f.Data)
		}
		if e.Type != name || e.SequenceNumber != i {
			t.Errorf("event %d: name %s, type %s, sequence number %d", i, name, e.Type, e.SequenceNumber)
		}
		key := e.ItemID + strings.TrimSuffix(strings.TrimSuffix(name, ".delta"), ".done")
		if strings.HasSuffix(name, ".delta") {
			said[key] += e.Delta
		} else if whole := e.Text + e.Refusal + e.Arguments + e.Input; whole != "" && whole != said[key] {
			t.Errorf("event %d: %q is done, and %q was said", i, whole, said[key])
		}
		last = string(e.Response)
	}
	if want := string(bytes.TrimSpace(plain.Frames[0].Data)); last != want {
		t.Errorf("the last event has\n%s\nthe plain body is\n%s", last, want)
	}
}

func TestResponsesFailure(t *testing.T) {
	stream := llmwire.Responses(response(llmwire.Choice{Text: "Sunny."}, ""), &wire.Style{}, true)
	f := llmwire.ResponsesFailure(stream.Frames[:3], json.RawMessage(`{"message":"It broke.","type":"server_error"}`))
	for _, part := range []string{"event: response.failed\ndata: ", `"sequence_number":3,`, `"status":"failed"`, `"error":{"code":"server_error","message":"It broke."}`, `"output":[]`} {
		if !strings.Contains(string(f.Data), part) {
			t.Errorf("no %s in %s", part, f.Data)
		}
	}
}
