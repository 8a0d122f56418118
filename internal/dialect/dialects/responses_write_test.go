// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

func response(c dialect.Choice, request string) *dialect.Reply {
	return &dialect.Reply{
		ID: "resp_1", Created: 1767225600, Model: "gpt-4o", Choices: []dialect.Choice{c}, Seed: 7, Request: json.RawMessage(request),
		Usage: harness.Usage{PromptTokens: 20, CompletionTokens: 9, TotalTokens: 29, ReasoningTokens: 2, CachedTokens: 4},
	}
}

func responsesCases() []struct {
	name  string
	reply *dialect.Reply
	style dialect.Style
} {
	return []struct {
		name  string
		reply *dialect.Reply
		style dialect.Style
	}{
		{"text", response(dialect.Choice{Text: "Sunny in \"Zürich\" <1> 🌞.", Finish: "stop"}, ""), dialect.Style{}},
		{"calls", response(dialect.Choice{
			Text: "Let me see.", Reasoning: "Two calls.", Finish: "tool_calls",
			Calls: []dialect.Call{{ID: "call_1", Name: "f", Arguments: `{"a":1}`}, {ID: "call_2", Name: "get_weather", Arguments: "{}", Extra: json.RawMessage(`{"namespace":"mcp__weather"}`)}},
		}, `{"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},"store":false,"stream_options":{"include_obfuscation":false}}`), dialect.Style{}},
		{"custom", response(dialect.Choice{Finish: "tool_calls", Reasoning: "Hm.", Calls: []dialect.Call{{ID: "call_1", Name: "patch", Arguments: "*** Begin", Extra: json.RawMessage(responses.CustomCall)}}}, ""), dialect.Style{}},
		{"refusal", response(dialect.Choice{Refusal: "I can't.", Finish: "stop"}, ""), dialect.Style{}},
		{"length", response(dialect.Choice{Text: "Sun", Finish: "length"}, `{"max_output_tokens":16}`), dialect.Style{}},
		{"empty", response(dialect.Choice{Finish: "content_filter"}, ""), dialect.Style{Done: true}},
	}
}

func TestResponses(t *testing.T) {
	for _, tc := range responsesCases() {
		t.Run(tc.name, func(t *testing.T) {
			plain, stream := responses.Write(tc.reply, &tc.style, false), responses.Write(tc.reply, &tc.style, true)
			golden(t, "responses_"+tc.name+".json", plain)
			golden(t, "responses_"+tc.name+".sse", stream)
			checkResponses(t, plain, stream)
		})
	}
}

// checkResponses holds the rules of the dialect: sequence numbers without a
// gap, deltas that join to what is done, and an end that is the plain body.
func checkResponses(t *testing.T, plain, stream *dialect.Body) {
	t.Helper()
	said := make(map[string]string)
	var last string
	for i, f := range stream.Frames {
		name, data, ok := strings.Cut(strings.TrimPrefix(string(f.Data), "event: "), "\ndata: ")
		if f.Kind == dialect.KindDone {
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
	stream := responses.Write(response(dialect.Choice{Text: "Sunny."}, ""), &dialect.Style{}, true)
	f := responses.Failure(stream.Frames[:3], json.RawMessage(`{"message":"It broke.","type":"server_error"}`))
	for _, part := range []string{"event: response.failed\ndata: ", `"sequence_number":3,`, `"status":"failed"`, `"error":{"code":"server_error","message":"It broke."}`, `"output":[]`} {
		if !strings.Contains(string(f.Data), part) {
			t.Errorf("no %s in %s", part, f.Data)
		}
	}
}
