// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func TestSaid(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"OpenAI", `{"choices":[{"message":{"content":"It is ","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}`, `It is [f {"a":1}]`},
		{
			"OpenAI, streamed",
			"data: {\"choices\":[{\"delta\":{\"content\":\"It \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"is\"}}]}\n\n" +
				"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n" +
				"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{\\\"a\\\":\"}}]}}]}\n\n" +
				"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"1}\"}}]}}]}\n\ndata: [DONE]\n\n",
			`It is[f {"a":1}]`,
		},
		{"Anthropic", `{"content":[{"type":"text","text":"Hi"},{"type":"tool_use","name":"f","input":{"a":1}}]}`, `Hi[f {"a":1}]`},
		{
			"Anthropic, streamed",
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n" +
				"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"name\":\"f\",\"input\":{}}}\n\n" +
				"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
			`Hi[f {}]`,
		},
		{"Gemini", `{"candidates":[{"content":{"parts":[{"text":"Hi"},{"functionCall":{"name":"f","args":{"a":1}}}]}}]}`, `Hi[f {"a":1}]`},
		{"Responses", `{"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","name":"f","arguments":"{}"}]}`, `Hi[f {}]`},
		{
			"Responses, streamed",
			"data: {\"type\":\"response.output_text.delta\",\"delta\":\"H\"}\n\n" +
				"data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"message\",\"content\":[{\"text\":\"Hi\"}]}]}}\n\n",
			"Hi",
		},
		{"two choices", `{"choices":[{"index":0,"message":{"content":"Hi"}},{"index":1,"message":{"content":", you"}}]}`, "Hi, you"},
		{"content in parts", `{"choices":[{"message":{"content":[{"type":"text","text":"Hi"}]}}]}`, "Hi"},
		{"a stream in CR, data in two lines", "data: {\"choices\":\rdata: [{\"delta\":{\"content\":\"Hi\"}}]}\r\r", "Hi"},
		{"a stream that breaks off", "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choi", "Hi"},
		{"a call without arguments", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}]}`, "[f]"},
		{"older completions", `{"choices":[{"text":"Hi"}]}`, "Hi"},
		{"nothing said", `{"choices":[{"message":{"content":null}}]}`, `{"choices":[{"message":{"content":null}}]}`},
		{"Argo Gateway", `{"response":"Hi"}`, "Hi"},
		{"Argo Gateway with calls", `{"response":{"content":"Hi","tool_calls":[]}}`, "Hi"},
		{"anything else", `{"error":{"message":"no"}}`, `{"error":{"message":"no"}}`},
		{"text", "Hi\n", "Hi"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := shape.Said(&vcr.Interaction{Response: vcr.Response{Body: []byte(test.body)}}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzSaid(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"x"}}]}`))
	f.Add([]byte("data: {\"response\":{\"output\":[{\"type\":\"function_call\"}]}}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		i := &vcr.Interaction{Response: vcr.Response{Body: body}}
		if a, b := shape.Said(i), shape.Said(i); a != b {
			t.Errorf("%q and %q", a, b)
		}
	})
}
