// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
)

// delta is a chunk with a delta; more follows it within the choice.
func delta(d, more string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":` + d + more + `}]}`
}

func say(text string) string { return delta(fmt.Sprintf(`{"content":%q}`, text), "") }

const (
	stop = `{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done = "data: [DONE]\n\n"
)

// events writes each document as one event.
func events(docs ...string) string {
	var sb strings.Builder
	for _, d := range docs {
		sb.WriteString("data: " + d + "\n\n")
	}
	return sb.String()
}

func chunked(body string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(body), body) }

const whole = `{"id":"c1","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`

// replyCase is a row: what is on the wire, and what comes of it.
type replyCase struct {
	name   string
	plain  bool
	reply  rawReply
	text   string
	calls  []harness.ToolCall
	reason string    // reasoning
	kind   ErrorKind // of the error, if it ends with one
	says   string    // part of the error's text
	again  bool      // the error is worth another attempt
	note   string    // part of a note of the answer
}

func testReplies(t *testing.T, cases []replyCase) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serveRaw(t, tc.reply)
			h := ask(t, once(s.url), hello(!tc.plain))
			if tc.kind != "" {
				var e *Error
				if !errors.As(h.err, &e) {
					t.Fatalf("got text %q and error %v; want an error of kind %s", h.text, h.err, tc.kind)
				}
				if e.Kind != tc.kind || !strings.Contains(e.Error(), tc.says) {
					t.Errorf("got error %s; want kind %s and %q", e, tc.kind, tc.says)
				}
				if e.Repeatable != tc.again {
					t.Errorf("repeatable: got %v of %s", e.Repeatable, e)
				}
				if h.text != tc.text {
					t.Errorf("text before the error: got %q, want %q", h.text, tc.text)
				}
				return
			}
			if h.err != nil {
				t.Fatal(h.err)
			}
			want := harness.Message{Role: harness.RoleAssistant, Text: tc.text, Reasoning: tc.reason, Calls: tc.calls}
			if diff := cmp.Diff(want, h.done.Message); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if h.text != tc.text || h.reasoning != tc.reason {
				t.Errorf("deltas: got %q and %q", h.text, h.reasoning)
			}
			if !strings.Contains(strings.Join(h.done.Notes, "\n"), tc.note) {
				t.Errorf("notes: got %q, want %q", h.done.Notes, tc.note)
			}
		})
	}
}

func stream(body string) rawReply { return rawReply{header: ctStream, body: body} }

// TestStreams has a case for every row of what go-openai makes of streams.
func TestStreams(t *testing.T) {
	hello := events(say("Hel"), say("lo"))
	testReplies(t, []replyCase{
		{name: "clean end with DONE", reply: stream(hello + events(stop) + done), text: "Hello"},
		{name: "clean end without DONE, finished", reply: stream(hello + events(stop)), text: "Hello"},
		{name: "clean end without DONE, cut", reply: stream(hello), text: "Hello", kind: KindCutStream, says: "without a finish_reason", again: true},
		{name: "DONE after a cut", reply: stream(hello + done), text: "Hello", kind: KindCutStream, says: "without a finish_reason", again: true},
		{name: "connection reset", reply: rawReply{header: ctStream + "Content-Length: 9999\r\n", body: hello}, text: "Hello", kind: KindReset, says: "broke inside the reply", again: true},
		{name: "status line inside the chunks", reply: rawReply{
			header: ctStream + "Transfer-Encoding: chunked\r\n",
			body:   chunked(hello) + "HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\n\r\n" + chunked(`{"error":{"message":"x"}}`) + "0\r\n\r\n",
		}, text: "Hello", kind: KindReset, says: "chunk length", again: true},
		{name: "reset after finish_reason", reply: rawReply{header: ctStream + "Content-Length: 9999\r\n", body: hello + events(stop)}, text: "Hello", note: "broke after its finish_reason"},
		{name: "last line without newline", reply: stream(hello + "data: " + stop), text: "Hello"},
		{name: "last line without newline, cut", reply: stream(hello + `data: {"choices":[{"ind`), text: "Hello", kind: KindCutStream, says: "inside an event", again: true},
		{name: "error object, connection held", reply: rawReply{header: ctStream, body: hello + events(`{"error":{"message":"boom","type":"server_error","code":null}}`), hold: true}, text: "Hello", kind: KindServer, says: "boom", again: true},
		{name: "error object with a space", reply: rawReply{header: ctStream, body: events(`{ "error": {"message": "boom", "code": 429}}`), hold: true}, kind: KindRateLimit, says: "(HTTP 429): boom", again: true},
		{name: "error not the first key", reply: stream(hello + events(`{"id":"x","error":{"message":"boom"}}`) + done), text: "Hello", kind: KindServer, says: "boom", again: true},
		{name: "error beside choices", reply: stream(events(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"provider went away"}}`)), kind: KindServer, says: "provider went away", again: true},
		{name: "error null, and first", reply: stream(events(`{"error":null,"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}`) + done), text: "Hello"},
		{name: "event error with detail", reply: stream("event: error\ndata: {\"detail\": \"no capacity\"}\n\n"), kind: KindServer, says: "no capacity", again: true},
		{name: "event error with text", reply: stream("event: error\ndata: out of memory\n\n"), kind: KindServer, says: "out of memory", again: true},
		{name: "error as text", reply: stream(events(`{"error":"Upstream API error: 400 {}"}`)), kind: KindServer, says: "Upstream API error: 400 {}", again: true},
		{name: "error without message", reply: stream(events(`{"error":{"reason":"overheated"}}`)), kind: KindServer, says: `{"reason":"overheated"}`, again: true},
		{name: "error on a line of its own", reply: stream(hello + "{\"error\":{\"message\":\"stray\"}}\n"), text: "Hello", kind: KindServer, says: "stray", again: true},
		{name: "data over several lines", reply: stream("data: {\"choices\":\ndata: [{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello\"}}]}\n\n" + events(stop)), text: "Hello"},
		{name: "CRLF and no space", reply: stream("data:" + say("Hello") + "\r\n\r\ndata:" + stop + "\r\n\r\ndata:[DONE]\r\n\r\n"), text: "Hello"},
		{name: "CR alone", reply: stream("data: " + say("Hello") + "\r\rdata: " + stop + "\r\rdata: [DONE]\r\r"), text: "Hello"},
		{name: "CR alone, connection held", reply: rawReply{header: ctStream, body: "data: " + say("Hello") + "\r\rdata: " + stop + "\r\rdata: [DONE]\r\r", hold: true}, text: "Hello"},
		{name: "BOM", reply: stream("\ufeff" + events(say("Hello"), stop) + done), text: "Hello"},
		{name: "many comments", reply: stream(events(say("Hel")) + strings.Repeat(": keep-alive\n\n", 5000) + events(say("lo"), stop) + done), text: "Hello"},
		{name: "answered with JSON", reply: rawReply{header: ctJSON, body: whole}, text: "Hello"},
		{name: "answered with JSON called a stream", reply: rawReply{header: ctStream, body: whole}, text: "Hello"},
		{name: "answered with HTML", reply: rawReply{header: ctHTML, body: "<!DOCTYPE html><title>Sign in</title>"}, kind: KindMalformed, says: `an HTML page, "Sign in"`},
		{name: "answered with HTML called a stream", reply: rawReply{header: ctStream, body: "\n<html><body>busy"}, kind: KindMalformed, says: "an HTML page"},
		{name: "answered with nothing", reply: stream(""), kind: KindEmpty, says: "empty body", again: true},
		{name: "answered with text", reply: rawReply{body: "Internal error: "}, kind: KindMalformed, says: `"Internal error:"`},
		{name: "only DONE", reply: stream(done), kind: KindEmpty, says: "no choices", again: true},
		{name: "only comments", reply: stream(": hi\n\n"), kind: KindEmpty, says: "no choices", again: true},
		{name: "a stream without its content type", reply: rawReply{body: events(say("Hello"), stop) + done}, text: "Hello"},
		{name: "a chunk of bad JSON", reply: stream(events(say("Hel"), `{"choices":[{]}`, say("lo"), stop) + done), text: "Hel", kind: KindMalformed, says: `{"choices":[{]}`},
		{name: "a chunk that is no object", reply: stream(events(`"hello"`, stop) + done), kind: KindMalformed, says: `"hello"`},
		{
			name: "arguments as an object", reply: stream(events(delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":{"x":1.10}}}]}`, `,"finish_reason":"tool_calls"`)) + done),
			calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1.10}`}},
		},
		{name: "created as a float", reply: stream(events(`{"created":1.5,"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}`) + done), text: "Hello"},
		{
			name: "index as a string", reply: stream(events(`{"choices":[{"index":"0","delta":{"tool_calls":[{"index":"0","id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`) + done),
			calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{}`}},
		},
		{name: "content as an array", reply: stream(events(delta(`{"content":[{"type":"text","text":"Hel"},"lo",{"type":"image_url"}]}`, `,"finish_reason":"stop"`)) + done), text: "Hello"},
		{name: "null everywhere", reply: stream(events(
			delta(`{"role":null,"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, `,"finish_reason":null`),
			delta(`{"role":null,"content":null,"function_call":null,"refusal":null,"tool_calls":[{"index":null,"id":null,"type":null,"function":{"name":null,"arguments":"{\"q\""}}]}`, ""),
			delta(`{"tool_calls":[{"index":0,"id":"","type":"","function":{"name":"","arguments":": 1}"}}]}`, `,"finish_reason":"tool_calls"`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":null}}]}`, ""),
		) + done), calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{"q": 1}`}}},
		{name: "unknown members", reply: stream(events(
			delta(`{"reasoning":"think","provider_specific_fields":{"a":1}}`, ""),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`, `,"finish_reason":"tool_calls"`),
		) + done), reason: "think", calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: "{}", Extra: `{"extra_content":{"google":{"thought_signature":"c2ln"}}}`}}},
		{name: "reasoning_content", reply: stream(events(delta(`{"reasoning_content":"because"}`, ""), say("Hello"), stop) + done), reason: "because", text: "Hello"},
	})
}

func plain(status int, header, body string) rawReply {
	return rawReply{status: status, header: header, body: body}
}

// TestReplies has a case for every row of what go-openai makes of replies and
// errors.
func TestReplies(t *testing.T) {
	oneCall := []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}}
	testReplies(t, []replyCase{
		{name: "a whole reply", plain: true, reply: plain(200, ctJSON, whole), text: "Hello"},
		{name: "error object", plain: true, reply: plain(400, ctJSON, `{"error":{"message":"no","type":"invalid_request_error","code":"bad","param":"messages"}}`), kind: KindBadRequest, says: "bad_request (HTTP 400): no"},
		{name: "detail text", plain: true, reply: plain(422, ctJSON, `{"detail":"nope"}`), kind: KindBadRequest, says: "nope"},
		{name: "detail list", plain: true, reply: plain(422, ctJSON, `{"detail":[{"loc":["body","model"],"msg":"field required","type":"missing"}]}`), kind: KindBadRequest, says: "body model: field required"},
		{name: "error text", plain: true, reply: plain(500, ctJSON, `{"error":"Upstream API error: 500 {}"}`), kind: KindServer, says: "Upstream API error: 500 {}", again: true},
		{name: "error HTML", plain: true, reply: plain(502, ctJSON, "<html><head><title>502 Bad Gateway</title></head>"), kind: KindServer, says: `an HTML page, "502 Bad Gateway"`, again: true},
		{name: "error with an empty body", plain: true, reply: plain(503, "", ""), kind: KindServer, says: "Service Unavailable with an empty body", again: true},
		{name: "error with a completion as its body", plain: true, reply: plain(400, ctJSON, whole), kind: KindBadRequest, says: "JSON that is not an error object"},
		{name: "error as plain text", plain: true, reply: plain(500, "", "500 Internal Server Error"), kind: KindServer, says: `"500 Internal Server Error"`, again: true},
		{name: "error in Anthropic's envelope", plain: true, reply: plain(529, ctJSON, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), kind: KindServer, says: "Overloaded", again: true},
		{name: "error in Google's envelope", plain: true, reply: plain(400, ctJSON, `[{"error":{"code":400,"message":"bad part","status":"INVALID_ARGUMENT"}}]`), kind: KindBadRequest, says: "bad part"},
		{name: "error with a list as message", plain: true, reply: plain(400, ctJSON, `{"error":{"message":["one","two"]}}`), kind: KindBadRequest, says: `["one","two"]`},
		{name: "object error", plain: true, reply: plain(502, ctJSON, `{"object":"error","message":"Upstream error 502: <html>","type":"upstream_error"}`), kind: KindServer, says: "Upstream error 502", again: true},
		{name: "200 with error", plain: true, reply: plain(200, ctJSON, `{"error":{"message":"boom","type":"server_error"}}`), kind: KindServer, says: "boom", again: true},
		{name: "200 with error and invalid_request_error", plain: true, reply: plain(200, ctJSON, `{"error":{"message":"bad","type":"invalid_request_error"}}`), kind: KindBadRequest, says: "bad"},
		{name: "200 without choices", plain: true, reply: plain(200, ctJSON, `{"id":"x","choices":[]}`), kind: KindEmpty, says: "no choices", again: true},
		{name: "200 with an empty object", plain: true, reply: plain(200, ctJSON, `{}`), kind: KindEmpty, says: "no choices", again: true},
		{name: "200 with a null message", plain: true, reply: plain(200, ctJSON, `{"choices":[{"index":0,"finish_reason":"stop","message":null}]}`), kind: KindEmpty, says: "no choices with a message", again: true},
		{name: "200 with a null message at the length limit", plain: true, reply: plain(200, ctJSON, `{"choices":[{"index":0,"finish_reason":"length","message":null}]}`)},
		{name: "200 with JSON and rubbish", plain: true, reply: plain(200, ctJSON, whole+"\nTraceback"), kind: KindMalformed, says: `goes on after its JSON: "Traceback"`},
		{name: "200 with arguments as an object", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{"x":1}}}]},"finish_reason":"tool_calls"}]}`), calls: oneCall},
		{name: "200 with one call in place of a list", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"content":"","tool_calls":{"id":"a","function":{"name":"f","arguments":{"x":1}}}},"finish_reason":"tool_calls"}]}`), calls: oneCall},
		{
			name: "200 with calls that have no ids", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"g"}}]},"finish_reason":"stop"}]}`),
			calls: []harness.ToolCall{{ID: "call_0", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "g"}}, note: `was given "call_0"`,
		},
		{
			name: "200 with one id twice", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"a","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "g", Arguments: "{}"}}, note: `came with the id "a"`,
		},
		{
			name: "200 with a function_call", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"function_call":{"name":"f","arguments":"{\"x\":1}"}},"finish_reason":"function_call"}]}`),
			calls: []harness.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"x":1}`}},
		},
		{
			name: "200 with a name and an id that are no UTF-8", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"tool_calls":[{"id":"\ud800","function":{"name":"f`+"\xff"+`","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			calls: []harness.ToolCall{{ID: "\ufffd", Name: "f\ufffd", Arguments: "{}"}},
		},
		{name: "200, white space", plain: true, reply: plain(200, ctJSON, strings.Repeat("\n", 5000)), kind: KindMalformed, says: "begins with 4096 bytes of white space"},
		{name: "200 with a call without name", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{}}]}}]}`), kind: KindMalformed, says: "tool call 1 of the reply has no name"},
		{name: "200 without finish_reason", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"content":"Hello"}}]}`), text: "Hello", note: "no finish_reason"},
		{name: "200, JSON cut", plain: true, reply: plain(200, ctJSON, whole[:60]), kind: KindCutStream, says: "ends inside its JSON", again: true},
		{name: "200, JSON reset", plain: true, reply: plain(200, ctJSON+"Content-Length: 9999\r\n", whole[:60]), kind: KindReset, says: "broke", again: true},
		{name: "200, empty", plain: true, reply: plain(200, ctJSON, ""), kind: KindEmpty, says: "empty body", again: true},
		{name: "200, HTML", plain: true, reply: plain(200, ctHTML, "<html>hi</html>"), kind: KindMalformed, says: "an HTML page"},
		{name: "204", plain: true, reply: plain(204, "", ""), kind: KindEmpty, says: "empty body", again: true},
		{name: "content as parts", plain: true, reply: plain(200, ctJSON, `{"choices":[{"message":{"content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]},"finish_reason":"stop"}]}`), text: "Hello"},
		{name: "nested too deep", plain: true, reply: plain(200, ctJSON, `{"choices":`+strings.Repeat("[", 20_000)), kind: KindMalformed, says: "not valid JSON"},
		{name: "answered with a stream", plain: true, reply: stream(events(say("Hel"), say("lo"), stop) + done), text: "Hello"},
		{name: "redirect", plain: true, reply: plain(302, "Location: https://login.example/\r\n", ""), kind: KindMalformed, says: `redirected to "https://login.example/"`},
		{name: "key refused", plain: true, reply: plain(401, ctJSON, `{"error":{"message":"Incorrect API key"}}`), kind: KindAuth, says: "Incorrect API key"},
		{name: "unknown model", plain: true, reply: plain(404, ctJSON, `{"error":{"message":"Unknown model: 'x'","code":"model_not_found"}}`), kind: KindNotFound, says: "Unknown model"},
		{name: "context overflow by code", plain: true, reply: plain(400, ctJSON, `{"error":{"message":"too much","code":"context_length_exceeded"}}`), kind: KindContextOverflow, says: "too much"},
		{name: "context overflow by words", plain: true, reply: plain(400, ctJSON, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`), kind: KindContextOverflow, says: "prompt is too long"},
		{name: "body too large for the endpoint", plain: true, reply: plain(413, ctHTML, "<html>413</html>"), kind: KindContextOverflow, says: "Request Entity Too Large"},
		{name: "content filter", plain: true, reply: plain(400, ctJSON, `{"error":{"message":"filtered","code":"content_filter"}}`), kind: KindContentFilter, says: "filtered"},
		{name: "quota", plain: true, reply: plain(429, ctJSON, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`), kind: KindQuota, says: "quota"},
		{name: "x-should-retry", plain: true, reply: plain(503, ctJSON+"X-Should-Retry: false\r\n", `{"error":{"message":"gone"}}`), kind: KindServer, says: "gone"},
		{name: "a mock's miss", plain: true, reply: plain(422, ctJSON+"X-Should-Retry: true\r\n", `{"error":{"message":"expected: X\n  got: Y","type":"rehearse_miss"}}`), kind: KindMiss, says: "expected: X\n  got: Y"},
		{name: "a proxy that cannot reach the endpoint", plain: true, reply: plain(502, ctJSON, `{"error":{"message":"connection refused","type":"rehearse_upstream"}}`), kind: KindServer, says: "connection refused", again: true},
		{name: "a mock's script error", plain: true, reply: plain(500, ctJSON, `{"error":{"message":"no key","type":"rehearse_script"}}`), kind: KindScript, says: "no key"},
	})
}

// TestCalls has the shapes in which endpoints stream tool calls.
func TestCalls(t *testing.T) {
	call := func(d string) string { return delta(`{"tool_calls":[`+d+`]}`, "") }
	end := events(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`) + done
	two := []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g", Arguments: `{"y":2}`}}
	testReplies(t, []replyCase{
		{name: "in parallel, interleaved", reply: stream(events(
			call(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
			call(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}`),
			call(`{"index":0,"function":{"arguments":"{\"x\""}}`),
			call(`{"index":1,"function":{"arguments":"{\"y\":"}},{"index":0,"function":{"arguments":":1}"}}`),
			call(`{"index":1,"function":{"arguments":"2}"}}`),
		) + end), calls: two},
		{name: "indexes out of order", reply: stream(events(
			call(`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`),
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
		) + end), calls: two},
		{name: "all indexes 0 with different ids", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`),
			call(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`),
			call(`{"index":0,"id":"b","function":{"name":"g","arguments":""}}`),
			call(`{"index":0,"function":{"arguments":"{\"y\":2}"}}`),
		) + end), calls: two},
		{name: "no indexes", reply: stream(events(
			call(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
			call(`{"function":{"arguments":":1}"}}`),
			call(`{"id":"b","function":{"name":"g","arguments":"{\"y\""}}`),
			call(`{"id":"b","function":{"arguments":":2}"}}`),
		) + end), calls: two},
		{name: "no indexes and no ids", reply: stream(events(
			call(`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}`),
			call(`{"function":{"name":"g","arguments":""}}`),
		) + end), calls: []harness.ToolCall{
			{ID: "call_0", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "f", Arguments: "{}"}, {ID: "call_2", Name: "g"},
		}},
		{name: "id and name again in every delta", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`),
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`),
		) + end), calls: two[:1]},
		{name: "a new id in every delta", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
			call(`{"index":0,"id":"z","function":{"arguments":":1}"}}`),
		) + end), calls: two[:1]},
		{name: "a name in pieces", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"get_"}}`),
			call(`{"index":0,"function":{"name":"weather"}}`),
			call(`{"index":0,"function":{"arguments":"{}"}}`),
		) + end), calls: []harness.ToolCall{{ID: "a", Name: "get_weather", Arguments: "{}"}}},
		{name: "split inside a character", reply: stream(events(
			call("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":\\\"\xc3\"}}"),
			call("{\"index\":0,\"function\":{\"arguments\":\"\xa9\\ud83d\"}}"),
			call(`{"index":0,"function":{"arguments":"\ude00\\u00"}}`),
			call(`{"index":0,"function":{"arguments":"e9\\"}}`),
			call(`{"index":0,"function":{"arguments":"n\"}"}}`),
		) + end), calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":"é😀\u00e9\n"}`}}},
		{name: "choices empty, usage, no finish_reason", reply: stream(events(
			`{"id":"","choices":[],"created":0,"model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}`,
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`,
		) + done), calls: two[:1], note: "no finish_reason"},
		{name: "no finish_reason, whole calls: another may be missing", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
		) + done), kind: KindCutStream, says: "cut off", again: true},
		{name: "no finish_reason, arguments cut", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
		) + done), kind: KindCutStream, says: "cut off", again: true},
		{name: "no DONE", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		)), calls: two[:1]},
		{name: "an error chunk without choices", reply: stream(events(
			call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			`{"error":{"message":"boom","type":"server_error"}}`,
		) + done), kind: KindServer, says: "boom", again: true},
		{name: "finish_reason on every chunk, text after the calls", reply: stream(events(
			delta(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":null,"function":{"name":"f","arguments":"{\"x\":1}"}}]}`, `,"finish_reason":"tool_calls"`),
			delta(`{"role":null,"content":"Looking.","tool_calls":null}`, `,"finish_reason":"tool_calls"`),
		)), text: "Looking.", calls: two[:1]},
		{name: "a second answer that nobody asked for", reply: stream(events(
			`{"choices":[{"index":0,"delta":{"content":"Hello"}},{"index":1,"delta":{"content":"Bye"}}]}`, stop,
		) + done), text: "Hello"},
		{name: "the whole message again at the end", reply: stream(events(
			say("Hello"), `{"choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"stop"}]}`,
		) + done), text: "Hello"},
	})
}

func TestTextSplitInsideCharacter(t *testing.T) {
	s := serveRaw(t, stream(events(
		"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"caf\xc3\"}}]}",
		"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xa9 \\ud83d\"}}]}",
		`{"choices":[{"index":0,"delta":{"content":"\ude00 \ud83d"}}]}`, stop)+done))
	h := ask(t, once(s.url), hello(true))
	if h.err != nil {
		t.Fatal(h.err)
	}
	want := []string{"caf", "é ", "😀 "}
	var got []string
	for _, e := range h.events {
		if d, ok := e.(TextDelta); ok {
			got = append(got, d.Text)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	if h.done.Message.Text != "café 😀 \ufffd" {
		t.Errorf("text: got %q", h.done.Message.Text)
	}
}
