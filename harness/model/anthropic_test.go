// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
)

// TestMessagesRequest has what goes into a request, and what the reader of the mock
// says of it: nothing.
func TestMessagesRequest(t *testing.T) {
	user := harness.Message{Role: harness.RoleUser, Text: "hi"}
	weather := harness.Tool{Name: "weather", Description: "The weather.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	for _, tc := range []struct {
		name  string
		req   Request
		want  string
		notes int
	}{
		{
			name: "a turn with calls, results and instructions",
			req: Request{Model: "claude-sonnet-4-5", Tools: []harness.Tool{weather, {Name: "time"}}, MaxTokens: 100, Stream: true, Messages: []harness.Message{
				{Role: harness.RoleSystem, Text: "be brief"},
				user,
				{Role: harness.RoleAssistant, Text: "let me see", Reasoning: "hm", Calls: []harness.ToolCall{
					{ID: "a", Name: "weather", Arguments: `{"city": "Zürich"}`}, {ID: "b.1", Name: "no such tool", Arguments: "Nice"},
				}},
				{Role: harness.RoleTool, CallID: "a", Text: "sunny"},
				{Role: harness.RoleTool, CallID: "b.1"},
				{Role: harness.RoleUser, Text: "and?"},
				{Role: harness.RoleSystem, Text: "be kind"},
			}},
			want: `{"model":"claude-sonnet-4-5","max_tokens":100,"system":"be brief\n\nbe kind","messages":[` +
				`{"role":"user","content":[{"type":"text","text":"hi"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"a","name":"weather","input":{"city":"Zürich"}},` +
				`{"type":"tool_use","id":"toolu_622e31","name":"no_such_tool","input":{"raw_arguments":"Nice"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"sunny"},{"type":"tool_result","tool_use_id":"toolu_622e31","content":""},{"type":"text","text":"and?"}]}],` +
				`"tools":[{"name":"weather","description":"The weather.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}},{"name":"time","input_schema":{"type":"object","properties":{}}}],"stream":true}`,
		},
		{
			name: "a reply that is too long for one piece", notes: 1,
			req:  Request{Model: "claude-sonnet-4-5", MaxTokens: 21001, Messages: []harness.Message{user}},
			want: `{"model":"claude-sonnet-4-5","max_tokens":21001,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"stream":true}`,
		},
		{
			name: "blocks that are wanted back",
			req: Request{Model: "claude-sonnet-4-5", Messages: []harness.Message{
				user,
				{
					Role: harness.RoleAssistant, Text: "so", Reasoning: "hm", Calls: []harness.ToolCall{{ID: "a", Name: "time", Arguments: ""}},
					Extra: `{"content_blocks":[{"type":"redacted_thinking","data":"zzz"},{"type":"text","text":"so"},{"type":"tool_use"}]}`,
				},
				{Role: harness.RoleTool, CallID: "a", Text: "noon"},
			}},
			want: `{"model":"claude-sonnet-4-5","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},` +
				`{"role":"assistant","content":[{"type":"redacted_thinking","data":"zzz"},{"type":"text","text":"so"},{"type":"tool_use","id":"a","name":"time","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"noon"}]}]}`,
		},
		{
			name: "a text that was changed since, and a reply without any",
			req: Request{Model: "claude-sonnet-4-5", Messages: []harness.Message{
				user,
				{Role: harness.RoleAssistant, Text: "changed", Extra: `{"content_blocks":[{"type":"text","text":"so"},{"type":"redacted_thinking","data":"zzz"}]}`},
				user,
				{Role: harness.RoleAssistant},
				user,
				{Role: harness.RoleAssistant, Refusal: "no"},
				user,
			}},
			want: `{"model":"claude-sonnet-4-5","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},` +
				`{"role":"assistant","content":[{"type":"redacted_thinking","data":"zzz"},{"type":"text","text":"changed"}]},` +
				`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"hi"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"no"}]},{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
		},
		{
			name: "sampling, any tool, further fields",
			req: Request{
				Model: "claude-haiku-4-5", Messages: []harness.Message{user}, Temperature: ptr(0.0), Seed: ptr(int64(1)), Tools: []harness.Tool{weather},
				ToolChoice: "required", Extra: map[string]json.RawMessage{"top_k": json.RawMessage("5")},
			},
			want: `{"model":"claude-haiku-4-5","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],` +
				`"tools":[{"name":"weather","description":"The weather.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}],"tool_choice":{"type":"any"},"temperature":0,"top_k":5}`,
		},
		{
			name: "one tool, temperature and top_p, of which one is taken", notes: 1,
			req: Request{Model: "claude-haiku-4-5", Messages: []harness.Message{user}, Temperature: ptr(0.5), TopP: ptr(0.9), Tools: []harness.Tool{weather}, ToolChoice: "weather"},
			want: `{"model":"claude-haiku-4-5","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],` +
				`"tools":[{"name":"weather","description":"The weather.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}],"tool_choice":{"type":"tool","name":"weather"},"temperature":0.5}`,
		},
		{
			name: "a budget to think", notes: 1,
			req:  Request{Model: "claude-sonnet-4-5-20250929", Messages: []harness.Message{user}, Reasoning: "low", Temperature: ptr(0.0), MaxTokens: 50},
			want: `{"model":"claude-sonnet-4-5-20250929","max_tokens":2098,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"thinking":{"type":"enabled","budget_tokens":2048}}`,
		},
		{
			name: "an effort to think with",
			req:  Request{Model: "claude-opus-4-6", Messages: []harness.Message{user}, Reasoning: "high"},
			want: `{"model":"claude-opus-4-6","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := NewAnthropic(Config{}).writeMessages(&tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(out.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if len(out.Notes) != tc.notes {
				t.Errorf("notes %q", out.Notes)
			}
			if _, refusal := messages.Read(out.Body, false, nil); refusal != nil {
				t.Errorf("the API refuses it: %s", refusal.Message)
			}
		})
	}
}

// TestMessagesRefused has the requests that are not sent.
func TestMessagesRefused(t *testing.T) {
	for name, req := range map[string]Request{
		"schema":  {Tools: []harness.Tool{{Name: "f", Schema: json.RawMessage("{")}}},
		"extra":   {Extra: map[string]json.RawMessage{"messages": json.RawMessage("[]")}},
		"not so":  {Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}},
		"no text": {Messages: []harness.Message{{Text: "\xff"}}},
	} {
		var e *Error
		if _, err := NewAnthropic(Config{}).writeMessages(&req); err == nil || !errors.As(err, &e) || e.Kind != KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMessagesAddress has the addresses and headers of requests.
func TestMessagesAddress(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.anthropic.com":    "https://api.anthropic.com/v1/messages",
		"http://127.0.0.1:8000/v1":     "http://127.0.0.1:8000/v1/messages",
		"http://127.0.0.1:8000/x/v1//": "http://127.0.0.1:8000/x/v1/messages",
	} {
		var sent *http.Request
		c := NewAnthropic(Config{BaseURL: base, APIKey: "k", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Request-Id": {"req_1"}}, Body: io.NopCloser(bytes.NewReader([]byte(`{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`)))}, nil
		})})
		for event, err := range c.Generate(t.Context(), &Request{}) {
			if done, ok := event.(Done); err != nil || ok && (done.RequestID != "req_1" || done.Message.Text != "hi") {
				t.Errorf("%s: %+v, %v", base, event, err)
			}
		}
		if got := sent.URL.String(); got != want || sent.Header.Get("X-Api-Key") != "k" || sent.Header.Get("Anthropic-Version") != AnthropicVersion || sent.Header.Get("Authorization") != "" {
			t.Errorf("%s: sent to %s with %v; want %s", base, got, sent.Header, want)
		}
	}
}

// TestAdaptiveThinking tells the models that are told an effort from those that are
// given a budget.
func TestAdaptiveThinking(t *testing.T) {
	for names, want := range map[string]bool{
		"claude-3-7-sonnet-20250219 claude-sonnet-4-20250514 claude-opus-4-1 claude-sonnet-4-5 claudesonnet45 other": false,
		"claude-opus-4-6 claude-sonnet-4.6 claude-opus-4-7 claude-sonnet-5 argo:claude-opus-4.6":                     true,
	} {
		for _, name := range strings.Fields(names) {
			if got := adaptiveThinking(name); got != want {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}
