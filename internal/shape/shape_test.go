// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func answer(code int, body string) *vcr.Interaction {
	kind := "application/json"
	if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
		kind = "text/event-stream; charset=utf-8"
	}
	return &vcr.Interaction{Response: vcr.Response{Code: code, Header: http.Header{"Content-Type": {kind}}, Body: []byte(body)}}
}

func TestDiff(t *testing.T) {
	chat := `{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`
	stream := "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n"
	calls := `{"choices":[{"message":{"tool_calls":[{"id":"call_abc","function":{"name":"f","arguments":"{}"}}]}}]}`
	tests := []struct {
		name    string
		was, is *vcr.Interaction
		want    []string
	}{
		{"other words", answer(200, chat), answer(200, strings.ReplaceAll(chat, "Hi", "Hello there")), nil},
		{
			"a key gone, one more", answer(200, chat), answer(200, strings.Replace(chat, `"content":"Hi"`, `"text":"Hi"`, 1)),
			[]string{"breaking: body.choices[].message.content: was string, is absent", "minor: body.choices[].message.text: was absent, is string"},
		},
		{"null", answer(200, chat), answer(200, strings.Replace(chat, `"Hi"`, `null`, 1)), []string{"breaking: body.choices[].message.content: was string, is null"}},
		{"another end", answer(200, chat), answer(200, strings.Replace(chat, `"stop"`, `"length"`, 1)), []string{`risky: finish_reason: was "stop", is "length"`}},
		{"status", answer(200, chat), answer(500, chat), []string{"breaking: status: was 200, is 500"}},
		{
			"plain for a stream", answer(200, stream), answer(200, chat),
			[]string{
				`breaking: content type: was "text/event-stream", is "application/json"`, "breaking: event: was object, is absent",
				"risky: events: were role, content, [DONE], are ", `risky: finish_reason: was absent, is "stop"`, "minor: body: was absent, is object",
			},
		},
		{"more of the same events", answer(200, stream), answer(200, strings.Replace(stream, "data: [DONE]", "data: {\"choices\":[{\"delta\":{\"content\":\"!\"}}]}\n\ndata: [DONE]", 1)), nil},
		{"no end", answer(200, stream), answer(200, strings.Replace(stream, "data: [DONE]\n\n", "", 1)), []string{"risky: events: were role, content, [DONE], are role, content"}},
		{"ids of calls", answer(200, calls), answer(200, strings.Replace(calls, "call_abc", "toolu_1", 1)), []string{`risky: tool call id: was "call_", is "toolu_"`}},
		{"other arguments", answer(200, calls), answer(200, strings.Replace(calls, `"{}"`, `"{\"a\":1}"`, 1)), nil},
		// What a model calls with is its own business, in each dialect's word for it.
		{"other arguments as an object", answer(200, `{"function":{"arguments":{"city":"Oslo"}}}`), answer(200, `{"function":{"arguments":{"town":1}}}`), nil},
		{"other input", answer(200, `{"content":[{"type":"tool_use","input":{"city":"Oslo"}}]}`), answer(200, `{"content":[{"type":"tool_use","input":{"town":1}}]}`), nil},
		{"other args", answer(200, `{"functionCall":{"args":{"city":"Oslo"}}}`), answer(200, `{"functionCall":{"args":{"town":1}}}`), nil},
		{"arguments of another kind", answer(200, `{"function":{"arguments":{"city":"Oslo"}}}`), answer(200, `{"function":{"arguments":"{}"}}`), []string{"breaking: body.function.arguments: was object, is string"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, d := range shape.Diff(shape.Of(test.was), shape.Of(test.is)) {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzOf(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{}}]}\n\n")
	f.Add(`{"choices":[{"message":{"tool_calls":[{"id":"a_b"}]}}]}`)
	f.Add("event: x\r\ndata: {}\r\n\r\n: c\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		if d := shape.Diff(shape.Of(answer(200, body)), shape.Of(answer(200, body))); d != nil {
			t.Errorf("an answer differs from itself: %v", d)
		}
	})
}

func Example() {
	was := answer(200, `{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}`)
	is := answer(200, `{"choices": [{"message": {"content": null}, "finish_reason": "tool_calls"}]}`)
	for _, d := range shape.Diff(shape.Of(was), shape.Of(is)) {
		fmt.Println(d)
	}
	// Output:
	// breaking: body.choices[].message.content: was string, is null
	// risky: finish_reason: was "stop", is "tool_calls"
}

// TestUnnamedStream takes what begins as a stream for one, whatever its type.
func TestUnnamedStream(t *testing.T) {
	for name, begin := range map[string]string{"a comment": ": hi\n", "an id": "id: 1\n", "a BOM": "\ufeff", "a time to wait": "retry: 5\r"} {
		s := shape.Of(&vcr.Interaction{Response: vcr.Response{Code: 200, Body: []byte(begin + "data: {\"a\":1}\n\n")}})
		if d := shape.Diff(s, shape.Of(&vcr.Interaction{Response: vcr.Response{Code: 200, Body: []byte("data: {\"a\":1}\n\n")}})); len(d) > 0 {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// TestLineEnds holds that it makes no difference how the lines of a stream end.
func TestLineEnds(t *testing.T) {
	const stream = "\ufeff: hi\n\nevent: x\ndata: {\"a\":\ndata: 1}\n\ndata: words\n\n: still here\n\ndata: [DONE]\n\n"
	of := func(body string) *shape.Shape {
		return shape.Of(&vcr.Interaction{Response: vcr.Response{
			Code: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(body),
		}})
	}
	for _, end := range []string{"\r", "\r\n"} {
		if d := shape.Diff(of(stream), of(strings.ReplaceAll(stream, "\n", end))); len(d) > 0 {
			t.Errorf("with %q: %v", end, d)
		}
	}
	if d := shape.Diff(of(stream), of(strings.Replace(stream, ": still here\n\n", "", 1))); len(d) == 0 {
		t.Error("a comment less makes no difference")
	}
}
