// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

func stream(chunks ...string) string {
	var b strings.Builder
	b.WriteString(": comment\n\n")
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String() + "data: [DONE]\n\n"
}

func TestReadAnswer(t *testing.T) {
	call := func(id, name, args string) harness.ToolCall {
		return harness.ToolCall{ID: id, Name: name, Arguments: args}
	}
	tests := []struct {
		name, body string
		streamed   bool
		want       harness.Message
		finish     string
		tokens     int
		err        string
	}{
		{
			name: "text", finish: "stop", tokens: 7, want: harness.Message{Text: "hello"},
			body: `{"model":"m","choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"total_tokens":7}}`,
		},
		{
			name: "text in parts", want: harness.Message{Text: "hello"},
			body: `{"choices":[{"message":{"content":[{"type":"text","text":"hel"},{"type":"text","text":"lo"}]}}]}`,
		},
		{
			name: "calls", want: harness.Message{Calls: []harness.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{"y":2}`)}},
			body: `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":{"y":2}}}]}}]}`,
		},
		{
			name: "streamed text", streamed: true, finish: "stop", tokens: 3, want: harness.Message{Text: "hello", Reasoning: "hm"},
			body: stream(`{"choices":[{"delta":{"role":"assistant","reasoning_content":"hm"}}]}`, `{"choices":[{"delta":{"content":"hel"}}]}`,
				`{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"total_tokens":3}}`),
		},
		{
			name: "streamed calls", streamed: true, want: harness.Message{Calls: []harness.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{}`)}},
			body: stream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}},{"index":1,"id":null,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`), finish: "tool_calls",
		},
		{
			name: "all calls numbered 0", streamed: true, want: harness.Message{Calls: []harness.ToolCall{call("a", "f", `{}`), call("b", "g", `{}`)}},
			body: stream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`), finish: "tool_calls",
		},
		{name: "an error in the stream", streamed: true, body: stream(`{"error":{"message":"overloaded"}}`), err: "overloaded"},
		{name: "no completion", body: `<html>`, err: "an HTML page"},
		{name: "a broken chunk", streamed: true, body: stream(`{"choices":`), err: "not as it should be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kind := "application/json; charset=utf-8"
			if tt.streamed {
				kind = "text/event-stream"
			}
			x := harness.Exchange{Status: 200}
			readAnswer(&x, dialect.ReadAll, http.Header{"Content-Type": {kind}}, []byte(tt.body), nil)
			tt.want.Role = harness.RoleAssistant
			if d := cmp.Diff(tt.want, x.Answer); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
			if x.FinishReason != tt.finish || x.Usage.TotalTokens != tt.tokens {
				t.Errorf("finish %q with %d tokens, want %q with %d", x.FinishReason, x.Usage.TotalTokens, tt.finish, tt.tokens)
			}
			if (x.Error == "") != (tt.err == "") || !strings.Contains(x.Error, tt.err) {
				t.Errorf("error %q, want one with %q", x.Error, tt.err)
			}
		})
	}
}
