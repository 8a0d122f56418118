// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// TestHostileUsage counts what endpoints report that would rather not count.
func TestHostileUsage(t *testing.T) {
	const most = 1<<31 - 1
	chatBody := func(usage string) string { return `{"choices":[{"message":{"content":"bye"}}],"usage":` + usage + `}` }
	responsesBody := func(usage string) string {
		return `{"object":"response","status":"completed","output":[{"type":"message","content":"bye"}],"usage":` + usage + `}`
	}
	messagesBody := func(usage string) string {
		return `{"type":"message","content":[],"stop_reason":"end_turn","usage":` + usage + `}`
	}
	geminiBody := func(usage string) string {
		return `{"candidates":[{"content":{"parts":[{"text":"bye"}]},"finishReason":"STOP"}],"usageMetadata":` + usage + `}`
	}
	for _, tt := range []struct {
		name    string
		dialect *dialect.Dialect
		body    string
		want    harness.Usage
	}{
		{"a small total", chat.Dialect, chatBody(`{"prompt_tokens":5000,"completion_tokens":500,"total_tokens":1}`), harness.Usage{PromptTokens: 5000, CompletionTokens: 500, TotalTokens: 5500}},
		{"a large total", chat.Dialect, chatBody(`{"prompt_tokens":5,"completion_tokens":5,"total_tokens":11}`), harness.Usage{PromptTokens: 5, CompletionTokens: 5, TotalTokens: 11}},
		{"a negative total", chat.Dialect, chatBody(`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":-100000}`), harness.Usage{}},
		{"a negative part", chat.Dialect, chatBody(`{"prompt_tokens":5000,"completion_tokens":-4999,"total_tokens":1}`), harness.Usage{PromptTokens: 5000, TotalTokens: 5000}},
		{"too large for a number", chat.Dialect, chatBody(`{"prompt_tokens":1e12,"completion_tokens":1e999}`), harness.Usage{PromptTokens: most, CompletionTokens: most, TotalTokens: 2 * most}},
		{"no numbers", chat.Dialect, chatBody(`{"prompt_tokens":"NaN","completion_tokens":"-Inf","total_tokens":[]}`), harness.Usage{}},
		{"less at the end of a stream", chat.Dialect, stream(
			`{"choices":[{"delta":{"content":"bye"}}],"usage":{"prompt_tokens":5000,"completion_tokens":500,"total_tokens":5500}}`,
			`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
		), harness.Usage{PromptTokens: 5000, CompletionTokens: 500, TotalTokens: 5500}},
		{"responses: a small total", responses.Dialect, responsesBody(`{"input_tokens":5000,"output_tokens":500,"total_tokens":1}`), harness.Usage{PromptTokens: 5000, CompletionTokens: 500, TotalTokens: 5500}},
		{"responses: a negative total", responses.Dialect, responsesBody(`{"input_tokens":50,"output_tokens":-5,"total_tokens":-100000}`), harness.Usage{PromptTokens: 50, TotalTokens: 50}},
		{"messages: negative parts", messages.Dialect, messagesBody(`{"input_tokens":-100000,"output_tokens":7,"cache_read_input_tokens":-5}`), harness.Usage{CompletionTokens: 7, TotalTokens: 7}},
		{"gemini: a small total", gemini.Dialect, geminiBody(`{"promptTokenCount":5000,"candidatesTokenCount":500,"totalTokenCount":1}`), harness.Usage{PromptTokens: 5000, CompletionTokens: 500, TotalTokens: 5500}},
		{"gemini: negative thoughts", gemini.Dialect, geminiBody(`{"promptTokenCount":50,"candidatesTokenCount":5,"thoughtsTokenCount":-55,"totalTokenCount":-1}`), harness.Usage{PromptTokens: 50, CompletionTokens: 5, TotalTokens: 55}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := dialect.ReadAll(tt.dialect, http.Header{}, []byte(tt.body), nil, dialect.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, reply.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExactNames reads what other names stand beside, in other letter case, as
// clients in other languages do: by the exact name, and the last of them.
func TestExactNames(t *testing.T) {
	del := harness.Message{Calls: []harness.ToolCall{aCall("a", "delete", "{}")}}
	for _, tt := range []struct {
		name    string
		dialect *dialect.Dialect
		body    string
		want    harness.Message
	}{
		{"tool_calls", chat.Dialect, `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"delete","arguments":"{}"}}],"Tool_Calls":[{"id":"b","function":{"name":"safe","arguments":"{}"}}]}}]}`, del},
		{"the function", chat.Dialect, `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"delete","Name":"safe","arguments":"{}"},"Function":{"name":"safe"}}]}}]}`, del},
		{"a function that comes twice", chat.Dialect, `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"safe","arguments":"[]"},"function":{"name":"delete","arguments":"{}"}}]}}]}`, del},
		{"a bare call", chat.Dialect, `{"choices":[{"message":{"tool_calls":{"id":"a","function":{"name":"delete","arguments":"{}"},"FUNCTION":{"name":"safe"}}}}]}`, del},
		{"choices", chat.Dialect, `{"choices":[{"message":{"content":"bye"}}],"Choices":[{"message":{"content":"hello"}}]}`, harness.Message{Text: "bye"}},
		{"content", chat.Dialect, `{"choices":[{"message":{"content":"bye","Content":"hello"}}]}`, harness.Message{Text: "bye"}},
		{"parts of the content", chat.Dialect, `{"choices":[{"message":{"content":[{"type":"text","text":"bye","Text":"hello"}]}}]}`, harness.Message{Text: "bye"}},
		{"a stream", chat.Dialect, stream(`{"choices":[{"delta":{"content":"bye","CONTENT":"hello"},"finish_reason":"stop"}]}`), harness.Message{Text: "bye"}},
		{"responses", responses.Dialect, `{"object":"response","status":"completed","output":[{"type":"function_call","call_id":"a","name":"delete","Name":"safe","arguments":"{}"}],"Output":[]}`, del},
		{"messages", messages.Dialect, `{"type":"message","content":[{"type":"text","text":"bye","Text":"hello"}],"Content":[],"stop_reason":"end_turn"}`, harness.Message{Text: "bye"}},
		{"gemini", gemini.Dialect, `{"candidates":[{"content":{"parts":[{"text":"bye","Text":"hello"}],"Parts":[]},"finishReason":"STOP"}],"Candidates":[]}`, harness.Message{Text: "bye"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := dialect.ReadAll(tt.dialect, http.Header{}, []byte(tt.body), nil, dialect.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if tt.dialect == responses.Dialect {
				reply.Message.Calls[0].Extra = ""
			}
			if diff := cmp.Diff(tt.want, harness.Message{Text: reply.Message.Text, Calls: reply.Message.Calls}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
