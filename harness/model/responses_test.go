// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// TestResponsesRequest has what goes into a request to responses, and what the
// reader of the mock says of it: nothing.
func TestResponsesRequest(t *testing.T) {
	user := harness.Message{Role: harness.RoleUser, Text: "hi"}
	weather := harness.Tool{Name: "weather", Description: "The weather.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	for _, tc := range []struct {
		name string
		req  Request
		want string
	}{
		{
			name: "a turn with calls, results and instructions",
			req: Request{Model: "gpt-4o", Tools: []harness.Tool{weather, {Name: "time"}}, MaxTokens: 100, Stream: true, Temperature: ptr(0.0), Seed: ptr(int64(1)), Messages: []harness.Message{
				{Role: harness.RoleSystem, Text: "be brief"},
				user,
				{Role: harness.RoleAssistant, Text: "let me see", Reasoning: "hm", Calls: []harness.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city": "Zürich"}`}, {ID: "b", Name: "no such tool"}}},
				{Role: harness.RoleTool, CallID: "a", Text: "sunny"},
				{Role: harness.RoleTool, CallID: "b"},
				{Role: harness.RoleAssistant, Refusal: "no"},
				user,
			}},
			want: `{"model":"gpt-4o","input":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},{"role":"assistant","content":"let me see"},` +
				`{"type":"function_call","call_id":"a","name":"weather","arguments":"{\"city\": \"Zürich\"}"},{"type":"function_call","call_id":"b","name":"no_such_tool","arguments":"{}"},` +
				`{"type":"function_call_output","call_id":"a","output":"sunny"},{"type":"function_call_output","call_id":"b","output":""},{"role":"assistant","content":"no"},{"role":"user","content":"hi"}],` +
				`"tools":[{"type":"function","name":"weather","description":"The weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}}},"strict":false},` +
				`{"type":"function","name":"time","parameters":{"type":"object","properties":{}},"strict":false}],"temperature":0,"max_output_tokens":100,"store":false,"stream":true}`,
		},
		{
			name: "sealed reasoning, and an effort",
			req: Request{Model: "gpt-5", Reasoning: "low", Tools: []harness.Tool{weather}, ToolChoice: "weather", Extra: map[string]json.RawMessage{"user": json.RawMessage(`"me"`)}, Messages: []harness.Message{
				user,
				{
					Role: harness.RoleAssistant, Text: "so", Calls: []harness.ToolCall{{ID: "a", Name: "weather"}},
					Extra: `{"output_items":[{"id":"rs_1","type":"reasoning","encrypted_content":"zzz","summary":[]},{"type":"message","text":"so"},{"type":"function_call"}]}`,
				},
				{Role: harness.RoleTool, CallID: "a", Text: "sunny"},
				{Role: harness.RoleAssistant, Text: "changed", Extra: `{"output_items":[{"id":"rs_2","type":"reasoning","encrypted_content":"zzz","summary":[]},{"type":"message","text":"so"}]}`},
				user,
			}},
			want: `{"model":"gpt-5","input":[{"role":"user","content":"hi"},{"id":"rs_1","type":"reasoning","encrypted_content":"zzz","summary":[]},{"role":"assistant","content":"so"},` +
				`{"type":"function_call","call_id":"a","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"sunny"},{"role":"assistant","content":"changed"},{"role":"user","content":"hi"}],` +
				`"tools":[{"type":"function","name":"weather","description":"The weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}}},"strict":false}],` +
				`"tool_choice":{"name":"weather","type":"function"},"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"user":"me"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := writeResponses(&tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(out.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if _, refusal := responses.Dialect.Read(out.Body, &dialect.Query{}); refusal != nil {
				t.Errorf("the API refuses it: %s", refusal.Message)
			}
		})
	}
	for name, req := range map[string]Request{
		"schema":  {Tools: []harness.Tool{{Name: "f", Schema: json.RawMessage("{")}}},
		"extra":   {Extra: map[string]json.RawMessage{"previous_response_id": json.RawMessage(`"r"`)}},
		"no text": {Messages: []harness.Message{{Text: "\xff"}}},
	} {
		var e *Error
		if _, err := writeResponses(&req); err == nil || !errors.As(err, &e) || e.Kind != KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
