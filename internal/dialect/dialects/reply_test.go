// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

func events(lines ...string) string { return strings.Join(lines, "\n\n") + "\n\n" }

func aCall(id, name, args string) harness.ToolCall {
	return harness.ToolCall{ID: id, Name: name, Arguments: args}
}

// TestReadAll has what is odd about one dialect alone. The habits that they
// share are played in harness/run, TestMatrix.
func TestReadAll(t *testing.T) {
	tests := []struct {
		name    string
		dialect *dialect.Dialect
		body    string
		want    harness.Message
		finish  string
		usage   harness.Usage
	}{
		{
			name: "a custom call", dialect: chat.Dialect, finish: "tool_calls",
			body: `{"choices":[{"message":{"content":"hello","tool_calls":[{"id":"a","type":"custom","custom":{"name":"grep","input":"x"}}]},"finish_reason":"tool_calls"}]}`,
			want: harness.Message{Text: "hello", Calls: []harness.ToolCall{aCall("a", "grep", "x")}},
		},
		{
			name: "calls of odd types", dialect: chat.Dialect, finish: "stop",
			body: `{"choices":[{"message":{"content":"hello","tool_calls":[null,5,{"id":"","function":"f"}],"function_call":[]},"finish_reason":"stop"}]}`,
			want: harness.Message{Text: "hello"},
		},
		{
			name: "a call of the older kind", dialect: chat.Dialect, finish: "function_call",
			body: stream(`{"choices":[{"delta":{"function_call":{"name":"f","arguments":""}}}]}`, `{"choices":[{"delta":{"function_call":{"arguments":"{}"}},"finish_reason":"function_call"}]}`),
			want: harness.Message{Calls: []harness.ToolCall{aCall("", "f", "{}")}},
		},
		{
			name: "calls that are numbered after they began", dialect: chat.Dialect, finish: "tool_calls",
			body: stream(
				`{"choices":[{"delta":{"tool_calls":[{"index":null,"id":"a","function":{"name":"f","arguments":"{\"n\""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"f","arguments":""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":2,"id":"c","function":{"name":"g","arguments":"{}"}}]}}]}`,
				`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
			),
			want: harness.Message{Calls: []harness.ToolCall{aCall("a", "f", `{"n":1}`), aCall("b", "f", "{}"), aCall("c", "g", "{}")}},
		},
		{
			name: "a response whose pieces name no item", dialect: responses.Dialect, finish: "stop",
			body: stream(
				`{"type":"response.output_text.delta","delta":"he"}`, `{"type":"response.output_text.delta","delta":"llo"}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hello"}]}]}}`,
			),
			want: harness.Message{Text: "hello"},
		},
		{
			name: "completions", dialect: chat.Dialect, finish: "stop",
			body: stream(`{"choices":[{"index":0,"text":"he"}]}`, `{"choices":[{"index":0,"text":"llo","finish_reason":"stop"}]}`),
			want: harness.Message{Text: "hello"},
		},
		{
			name: "reasoning details in pieces", dialect: chat.Dialect, finish: "tool_calls",
			body: stream(
				`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"He \"s","signature":null}]}}]}`,
				`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"aid","signature":"abc"},{"type":"reasoning.encrypted","index":1,"data":"xy"}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			want: harness.Message{
				Calls: []harness.ToolCall{aCall("a", "f", "{}")},
				Extra: `{"reasoning_details":[{"index":0,"signature":"abc","text":"He \"said","type":"reasoning.text"},{"data":"xy","index":1,"type":"reasoning.encrypted"}]}`,
			},
		},
		{
			name: "reasoning that is empty", dialect: chat.Dialect, finish: "tool_calls",
			body: `{"choices":[{"message":{"reasoning_content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			want: harness.Message{Calls: []harness.ToolCall{aCall("a", "f", "{}")}, Extra: `{"reasoning_content":""}`},
		},
		{
			name: "a tool of a namespace, a custom tool", dialect: responses.Dialect, finish: "tool_calls", usage: harness.Usage{PromptTokens: 5, CompletionTokens: 3, TotalTokens: 8, ReasoningTokens: 2, CachedTokens: 1},
			body: `{"object":"response","status":"completed","error":null,"output":[{"type":"function_call","id":"fc_1","call_id":"a","namespace":"mcp__kit","name":"f","arguments":"{}"},` +
				`{"type":"custom_tool_call","id":"ct_1","call_id":"b","name":"patch","input":"*** Begin"}],` +
				`"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":1},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}`,
			want: harness.Message{Calls: []harness.ToolCall{aCall("a", "mcp__kit__f", "{}"), aCall("b", "patch", "*** Begin")}},
		},
		{
			name: "items that are numbered 0", dialect: responses.Dialect, finish: "tool_calls",
			body: events(
				`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"x","call_id":"a","name":"f","arguments":"{}"}}`,
				`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"y","call_id":"b","name":"g","arguments":"{}"}}`,
				`data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","id":"x","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","id":"y","call_id":"b","name":"g","arguments":"{}"}]}}`),
			want: harness.Message{Calls: []harness.ToolCall{aCall("a", "f", "{}"), aCall("b", "g", "{}")}},
		},
		{
			name: "items with the same id", dialect: responses.Dialect, finish: "tool_calls",
			body: events(
				`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"x","call_id":"x","name":"f"}}`,
				`data: {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"x","call_id":"x","name":"g"}}`,
				`data: {"type":"response.function_call_arguments.delta","output_index":1,"item_id":"x","delta":"{\"n\":1}"}`,
				`data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"x","delta":"{}"}`,
				`data: {"type":"response.completed","response":{"status":"completed","output":[]}}`),
			want: harness.Message{Calls: []harness.ToolCall{aCall("x", "f", "{}"), aCall("x", "g", `{"n":1}`)}},
		},
		{
			name: "a response that is incomplete", dialect: responses.Dialect, finish: "length",
			body: `{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"hel"},{"type":"refusal","refusal":"no"}]}]}`,
			want: harness.Message{Text: "hel", Refusal: "no"},
		},
		{
			name: "usage of messages", dialect: messages.Dialect, finish: "stop", usage: harness.Usage{PromptTokens: 11, CompletionTokens: 3, TotalTokens: 14, CachedTokens: 4, CacheWriteTokens: 2},
			body: `{"type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":3}}`,
			want: harness.Message{Text: "hello", Reasoning: "hm"},
		},
		{
			name: "a message that stops for a tool", dialect: messages.Dialect, finish: "tool_calls",
			body: `{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{"x": 1}},{"type":"server_tool_use","id":"b","name":"web"}],"stop_reason":"tool_use"}`,
			want: harness.Message{
				Calls: []harness.ToolCall{aCall("a", "f", `{"x":1}`)},
				Extra: `{"content_blocks":[{"type":"tool_use"},{"id":"b","name":"web","type":"server_tool_use"}]}`,
			},
		},
		{
			name: "signed and hidden thoughts of a stream", dialect: messages.Dialect, finish: "tool_calls",
			body: `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"zzz"}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"so"}}

data: {"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}

data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

data: {"type":"message_stop"}

`,
			want: harness.Message{
				Text: "so", Reasoning: "hm", Calls: []harness.ToolCall{aCall("a", "f", `{}`)},
				Extra: `{"content_blocks":[{"type":"thinking","thinking":"hm","signature":"sig"},{"data":"zzz","type":"redacted_thinking"},` +
					`{"type":"text","text":"so"},{"id":"s","input":{"q":1},"name":"web","type":"server_tool_use"},{"type":"tool_use"}]}`,
			},
		},
		{
			name: "a prompt that is blocked", dialect: gemini.Dialect, finish: "content_filter",
			body: `{"promptFeedback":{"blockReason":"SAFETY"}}`,
		},
		{
			name: "all parts of a content", dialect: gemini.Dialect, finish: "tool_calls",
			body: `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"so","thoughtSignature":"c2ln"},{"text":" far"},
				{"functionCall":{"id":"a","name":"f","args":{"x":1}},"thoughtSignature":"c2lnMg=="},{"executableCode":{"language":"PYTHON","code":"1"}},{"functionCall":{"name":"g"}}]},"finishReason":"STOP"}]}`,
			want: harness.Message{
				Text: "so far", Reasoning: "hm",
				Calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`, Extra: `{"thoughtSignature":"c2lnMg=="}`}, aCall("", "g", "")},
				Extra: `{"content_parts":[{"text":"so","thoughtSignature":"c2ln"},{"text":" far"},{"functionCall":{}},{"executableCode":{"language":"PYTHON","code":"1"}},{"functionCall":{}}]}`,
			},
		},
		{
			name: "thoughts and a list", dialect: gemini.Dialect, finish: "tool_calls", usage: harness.Usage{PromptTokens: 5, CompletionTokens: 5, TotalTokens: 10, ReasoningTokens: 2},
			body: `[{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}]},
				{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":10}}]`,
			want: harness.Message{Reasoning: "hm", Calls: []harness.ToolCall{aCall("", "f", "{}")}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := dialect.ReadAll(tt.dialect, nil, []byte(tt.body), nil, dialect.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Role = harness.RoleAssistant
			if d := cmp.Diff(tt.want, got.Message); d != "" {
				t.Errorf("message (-want +got):\n%s", d)
			}
			if got.Finish != tt.finish || got.Usage != tt.usage {
				t.Errorf("finish %q, usage %+v; want %q, %+v", got.Finish, got.Usage, tt.finish, tt.usage)
			}
		})
	}
}

// TestFinishWords has the reasons to end, which gateways hand on in the words of
// other APIs.
func TestFinishWords(t *testing.T) {
	words := map[string]string{
		"stop": "stop", "STOP": "stop", "end_turn": "stop", "tool_calls": "tool_calls", "tool_use": "tool_calls",
		"length": "length", "LENGTH": "length", "max_tokens": "length", "MAX_TOKENS": "length", "max_output_tokens": "length", "model_length": "length",
		"content_filter": "content_filter", "content-filter": "content_filter", "SAFETY": "content_filter", "refusal": "content_filter",
		"pause_turn": "pause_turn", "LANGUAGE": "LANGUAGE", "function_call": "function_call", "": "",
	}
	bodies := map[*dialect.Dialect][]string{
		chat.Dialect: {
			`{"choices":[{"message":{"content":"hel"},"finish_reason":%q}]}`,
			events(`data: {"choices":[{"delta":{"content":"hel"}}]}`, `data: {"choices":[{"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":1}}`, "data: [DONE]"),
		},
		messages.Dialect: {
			`{"type":"message","content":[{"type":"text","text":"hel"}],"stop_reason":%q}`,
			events(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hel"}}`, `data: {"type":"message_delta","delta":{"stop_reason":%q}}`, `data: {"type":"message_stop"}`),
		},
		gemini.Dialect: {
			`{"candidates":[{"content":{"parts":[{"text":"hel"}]},"finishReason":%q}]}`,
			events(`data: {"candidates":[{"content":{"parts":[{"text":"hel"}]}}]}`, `data: {"candidates":[{"finishReason":%q}],"usageMetadata":{"promptTokenCount":1}}`, "data: [DONE]"),
		},
	}
	check := func(d *dialect.Dialect, body, want string) {
		t.Helper()
		got, err := dialect.ReadAll(d, nil, []byte(body), nil, dialect.Limits{})
		if err != nil || got.Finish != want || got.Message.Text != "hel" {
			t.Errorf("%s: finish %q, text %q, %v; want %q\n%s", d.Name, got.Finish, got.Message.Text, err, want, body)
		}
	}
	for d, list := range bodies {
		for _, body := range list {
			for word, want := range words {
				check(d, fmt.Sprintf(body, word), want)
			}
		}
	}
	const item = `{"type":"message","id":"m","content":[{"type":"output_text","text":"hel"}]}`
	for details, want := range map[string]string{
		`null`: "length", `{}`: "length", `{"reason":null}`: "length", `{"reason":"max_output_tokens"}`: "length", `{"reason":"content_filter"}`: "content_filter",
	} {
		whole := `{"object":"response","status":"incomplete","incomplete_details":` + details + `,"output":[` + item + `]}`
		check(responses.Dialect, whole, want)
		for _, event := range []string{"response.incomplete", "response.completed", "response.done"} {
			check(responses.Dialect, events(`data: {"type":"response.output_item.added","output_index":0,"item":`+item+`}`, `data: {"type":"`+event+`","response":`+whole+`}`), want)
		}
	}
}

// TestNotWhole has the bodies that hold no whole reply.
func TestNotWhole(t *testing.T) {
	broke := errors.New("connection reset")
	const text = `data: {"choices":[{"delta":{"content":"hi"}}]}`
	tests := []struct {
		name    string
		dialect *dialect.Dialect
		body    string
		broke   error
		kind    dialect.FaultKind // 0: broke itself
		says    string
		text    string // that came all the same
	}{
		{name: "nothing", dialect: chat.Dialect, kind: dialect.Empty, says: "empty body"},
		{name: "HTML", dialect: chat.Dialect, body: "<html><title>No</title>", kind: dialect.Malformed, says: `an HTML page, "No"`},
		{name: "no choices", dialect: chat.Dialect, body: `{"choices":[]}`, kind: dialect.Empty, says: "no choices with a message"},
		{name: "no output", dialect: responses.Dialect, body: `{"output":[]}`, kind: dialect.Empty, says: "no output"},
		{name: "cut JSON", dialect: messages.Dialect, body: `{"type":"message","content":[`, kind: dialect.Cut, says: "ends inside its JSON"},
		{name: "JSON goes on", dialect: chat.Dialect, body: `{"choices":[]} {}`, kind: dialect.Malformed, says: `goes on after its JSON: "{}"`},
		{name: "no reason", dialect: chat.Dialect, body: events(text, "data: [DONE]"), kind: dialect.Cut, says: "without a finish_reason", text: "hi"},
		{name: "no stop", dialect: messages.Dialect, body: events(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`), kind: dialect.Cut, says: "without a finish_reason", text: "hi"},
		{name: "not completed", dialect: responses.Dialect, body: events(`data: {"type":"response.output_text.delta","output_index":0,"delta":"hi"}`), kind: dialect.Cut, says: "without a finish_reason", text: "hi"},
		{name: "a list that is cut", dialect: gemini.Dialect, body: `[{"candidates":[{"content":{"parts":[{"text":"hi"}]}}]},{"cand`, kind: dialect.Cut, says: "ends inside its JSON", text: "hi"},
		{name: "cut inside an event", dialect: chat.Dialect, body: text + "\n\ndata: {\"choi", kind: dialect.Cut, says: "ends inside an event", text: "hi"},
		{name: "broke off", dialect: chat.Dialect, body: text + "\n\n", broke: broke, says: "connection reset", text: "hi"},
		{name: "an error", dialect: chat.Dialect, body: events(text, `data: {"error":{"message":"no GPU"}}`), kind: dialect.Refused, says: "no GPU", text: "hi"},
		{name: "an error event", dialect: messages.Dialect, body: events("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"), kind: dialect.Refused, says: "Overloaded"},
		{name: "a response that failed", dialect: responses.Dialect, body: events(`data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"It broke."}}}`), kind: dialect.Refused, says: "It broke."},
		{name: "gave up", dialect: chat.Dialect, body: events(text, `data: {"choices":[{"delta":{},"finish_reason":"error_finish"}]}`), kind: dialect.GaveUp, says: `"error_finish"`, text: "hi"},
		{name: "too many calls", dialect: messages.Dialect, body: `{"type":"message","content":[` + strings.Repeat(`{"type":"tool_use","name":"f"},`, 1100) + `{}],"stop_reason":"tool_use"}`, kind: dialect.TooLong, says: "1024 tool calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := dialect.ReadAll(tt.dialect, http.Header{"Content-Type": {"text/event-stream"}}, []byte(tt.body), tt.broke, dialect.Limits{})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want one with %q", err, tt.says)
			}
			var f *dialect.Fault
			switch {
			case tt.kind == 0 && !errors.Is(err, broke):
				t.Errorf("error %v, want %v", err, broke)
			case tt.kind != 0 && (!errors.As(err, &f) || f.Kind != tt.kind):
				t.Errorf("error %#v, want kind %d", err, tt.kind)
			}
			if got.Message.Text != tt.text {
				t.Errorf("text %q, want %q", got.Message.Text, tt.text)
			}
		})
	}
}

// TestBrokeBehindTheEnd holds that what comes behind the end of a reply does
// not matter.
func TestBrokeBehindTheEnd(t *testing.T) {
	body := events(`data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`)
	got, err := dialect.ReadAll(chat.Dialect, nil, []byte(body), io.ErrUnexpectedEOF, dialect.Limits{})
	if err != nil || got.Message.Text != "hi" {
		t.Errorf("%q, %v", got.Message.Text, err)
	}
}

func TestReadError(t *testing.T) {
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	_, _ = zw.Write([]byte(`{"error":{"message":"out of GPUs"}}`)) // a buffer takes all
	_ = zw.Close()
	for _, tt := range []struct{ name, body, want string }{
		{"an object", `{"error":{"message":"out of GPUs"}}`, "out of GPUs"},
		{"with a BOM", "\ufeff" + `{"error":{"message":"out of GPUs"}}`, "out of GPUs"},
		{"compressed", zipped.String(), "out of GPUs"},
		{"Google's list", `[{"error":{"code":429,"message":"out of GPUs"}}]`, "out of GPUs"},
		{"a text", "  no\n", "no"},
	} {
		if got := dialect.ReadError([]byte(tt.body), dialect.Limits{}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := dialect.ReadError(bytes.Repeat([]byte("x"), 1000), dialect.Limits{}); len(got) != 500+len("…") {
		t.Errorf("%d bytes of a long text", len(got))
	}
}

// TestInflatedIsBounded holds that a small body does not become a large one.
func TestInflatedIsBounded(t *testing.T) {
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	_, _ = zw.Write(bytes.Repeat([]byte(" "), 1<<20)) // a buffer takes all
	_ = zw.Close()
	for _, d := range []*dialect.Dialect{chat.Dialect, gemini.Dialect} {
		_, err := dialect.ReadAll(d, nil, zipped.Bytes(), nil, dialect.Limits{Body: 1000})
		if f := (*dialect.Fault)(nil); !errors.As(err, &f) || f.Kind != dialect.TooLong {
			t.Errorf("%s: error %v", d.Name, err)
		}
	}
}

func TestReadChoice(t *testing.T) {
	for d, body := range map[*dialect.Dialect]string{
		chat.Dialect:   `{"choices":[{"index":0,"message":{"content":"a"}},{"index":1,"message":{"content":"b"}}]}`,
		gemini.Dialect: `{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]}},{"index":1,"content":{"parts":[{"text":"b"}]}}]}`,
	} {
		for n, want := range []string{"a", "b", ""} {
			reply, err := dialect.ReadChoice(d, n, nil, []byte(body), dialect.Limits{})
			if reply.Message.Text != want || (err != nil) != (want == "") {
				t.Errorf("%s, choice %d: %q, %v, want %q", d.Name, n, reply.Message.Text, err, want)
			}
		}
	}
}
