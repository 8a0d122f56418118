// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
)

const (
	userHi = `{"role":"user","content":"hi"}`
	callA  = `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	callB  = `{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}`
)

func chatRequest(list ...string) string {
	return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
}

func withTool(parameters string) string {
	return `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f","parameters":` + parameters + `}}]}`
}

func TestRefusals(t *testing.T) {
	manyTools := strings.TrimSuffix(strings.Repeat(`{"type":"function","function":{"name":"f"}},`, 129), ",")
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, tc := range []struct {
		name, body         string
		param, code, words string
	}{
		{"empty body", ``, "", "", "not valid JSON"},
		{"cut", `{"model":"m","messages":[{"role":"us`, "", "", "not valid JSON"},
		{"rubbish after", chatRequest(userHi) + `x`, "", "", "not valid JSON"},
		{"an array", `[]`, "", "", "not an object"},
		{"control character", chatRequest("{\"role\":\"user\",\"content\":\"a\x01\"}"), "", "", "not valid JSON"},
		{"invalid UTF-8", chatRequest("{\"role\":\"user\",\"content\":\"\xff\"}"), "", "", "not valid UTF-8"},
		{"deep", `{"model":"m","x":` + deep + `}`, "", "", "nested deeper than 200 levels"},
		{"deep in a message", chatRequest(`{"role":"user","content":` + deep + `}`), "", "", "nested deeper than 200 levels"},
		{"messages twice", `{"model":"m","messages":[],"messages":[]}`, "", "", `"messages" occurs twice`},

		{"no model", `{"messages":[` + userHi + `]}`, "", "", "you must provide a model parameter"},
		{"model of wrong type", `{"model":1,"messages":[` + userHi + `]}`, "model", "invalid_type", "expected a string, but got an integer"},
		{"no messages", `{"model":"m"}`, "messages", "missing_required_parameter", "Missing required parameter: 'messages'."},
		{"messages of wrong type", `{"model":"m","messages":"hi"}`, "messages", "invalid_type", "expected an array of objects, but got a string"},
		{"messages empty", chatRequest(), "messages", "empty_array", "empty array"},
		{"temperature of wrong type", `{"model":"m","temperature":"hot","messages":[` + userHi + `]}`, "temperature", "invalid_type", "expected a decimal, but got a string"},
		{"temperature too high", `{"model":"m","temperature":3,"messages":[` + userHi + `]}`, "temperature", "decimal_above_max_value", "Expected a value <= 2"},
		{"max_tokens zero", `{"model":"m","max_tokens":0,"messages":[` + userHi + `]}`, "max_tokens", "integer_below_min_value", ">= 1"},
		{"stream of wrong type", `{"model":"m","stream":"yes","messages":[` + userHi + `]}`, "stream", "invalid_type", "expected a boolean"},
		{"stream_options alone", `{"model":"m","stream_options":{},"messages":[` + userHi + `]}`, "stream_options", "", "only allowed when 'stream'"},

		{"message is no object", chatRequest(`"hi"`), "messages[0]", "invalid_type", "expected an object, but got a string"},
		{"no role", chatRequest(`{"content":"hi"}`), "messages[0].role", "missing_required_parameter", ""},
		{"role of wrong type", chatRequest(`{"role":1,"content":"hi"}`), "messages[0].role", "invalid_type", ""},
		{"unknown role", chatRequest(`{"role":"model","content":"hi"}`), "messages[0].role", "invalid_value", "Invalid value: 'model'."},
		{"user without content", chatRequest(`{"role":"user"}`), "messages.[0].content", "", "expected a string, got null"},
		{"content of wrong type", chatRequest(`{"role":"user","content":5}`), "messages[0].content", "invalid_type", "one of a string or array of objects"},
		{"content empty array", chatRequest(`{"role":"user","content":[]}`), "messages[0].content", "empty_array", ""},
		{"part of wrong type", chatRequest(`{"role":"user","content":["hi"]}`), "messages[0].content[0]", "invalid_type", ""},
		{"assistant says nothing", chatRequest(userHi, `{"role":"assistant"}`), "messages.[1].content", "", ""},

		{"calls empty", chatRequest(userHi, `{"role":"assistant","tool_calls":[]}`), "messages[1].tool_calls", "empty_array", ""},
		{"calls of wrong type", chatRequest(userHi, `{"role":"assistant","tool_calls":{}}`), "messages[1].tool_calls", "invalid_type", ""},
		{"call is no object", chatRequest(userHi, `{"role":"assistant","tool_calls":[1]}`), "messages[1].tool_calls[0]", "invalid_type", ""},
		{"call without id", chatRequest(userHi, `{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":""}}]}`), "messages[1].tool_calls[0].id", "missing_required_parameter", ""},
		{"call without type", chatRequest(userHi, `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]}`), "messages[1].tool_calls[0].type", "missing_required_parameter", ""},
		{"call without function", chatRequest(userHi, `{"role":"assistant","tool_calls":[{"id":"a","type":"function"}]}`), "messages[1].tool_calls[0].function", "missing_required_parameter", ""},
		{"call without arguments", chatRequest(userHi, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f"}}]}`), "messages[1].tool_calls[0].function.arguments", "missing_required_parameter", ""},
		{"arguments are an object", chatRequest(userHi, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}`), "messages[1].tool_calls[0].function.arguments", "invalid_type", "expected a string, but got an object"},
		{"call of a bad name", chatRequest(userHi, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f.g","arguments":""}}]}`), "messages[1].tool_calls[0].function.name", "invalid_value", "does not match pattern"},
		{"id too long", chatRequest(userHi, `{"role":"assistant","tool_calls":[{"id":"`+strings.Repeat("x", 41)+`","type":"function","function":{"name":"f","arguments":""}}]}`), "messages[1].tool_calls[0].id", "string_above_max_length", ""},

		{"unanswered at the end", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`]}`), "messages.[2].role", "", "did not have response messages: a"},
		{"answered twice", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`]}`, `{"role":"tool","tool_call_id":"a","content":"1"}`, `{"role":"tool","tool_call_id":"a","content":"1"}`), "messages.[3].tool_call_id", "", "Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3]."},
		{"one of two answered twice", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`,`+callB+`]}`, `{"role":"tool","tool_call_id":"a","content":"1"}`, `{"role":"tool","tool_call_id":"b","content":"1"}`, `{"role":"tool","tool_call_id":"a","content":"2"}`), "messages.[4].tool_call_id", "", "'a', in messages[2] and messages[4]."},
		{"one of two unanswered", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`,`+callB+`]}`, `{"role":"tool","tool_call_id":"b","content":"x"}`, userHi), "messages.[3].role", "", "did not have response messages: a"},
		{"tool without call", chatRequest(userHi, `{"role":"tool","tool_call_id":"a","content":"x"}`), "messages.[1].role", "", "must be a response to a preceeding message"},
		{"tool with unknown id", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`]}`, `{"role":"tool","tool_call_id":"z","content":"x"}`), "messages.[2].tool_call_id", "", "'tool_call_id' of 'z' not found"},
		{"tool without id", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`]}`, `{"role":"tool","content":"x"}`), "messages[2].tool_call_id", "missing_required_parameter", ""},
		{"tool without content", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`]}`, `{"role":"tool","tool_call_id":"a"}`), "messages.[2].content", "", "expected a string, got null"},

		{"tools empty", `{"model":"m","messages":[` + userHi + `],"tools":[]}`, "tools", "empty_array", ""},
		{"too many tools", `{"model":"m","messages":[` + userHi + `],"tools":[` + manyTools + `]}`, "tools", "array_above_max_length", "maximum length 128, but got an array with length 129"},
		{"tool twice", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]}`, "tools", "invalid_value", "'f'"},
		{"tool without type", `{"model":"m","messages":[` + userHi + `],"tools":[{"function":{"name":"f"}}]}`, "tools[0].type", "missing_required_parameter", ""},
		{"tool of other type", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"retrieval"}]}`, "tools[0].type", "invalid_value", ""},
		{"tool without function", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function"}]}`, "tools[0].function", "missing_required_parameter", ""},
		{"tool without name", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{}}]}`, "tools[0].function.name", "missing_required_parameter", ""},
		{"tool with a dot", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"a.b"}}]}`, "tools[0].function.name", "invalid_value", ""},
		{"tool name too long", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"` + strings.Repeat("x", 65) + `"}}]}`, "tools[0].function.name", "string_above_max_length", "length 65"},
		{"parameters null", withTool(`null`), "tools[0].function.parameters", "invalid_type", "got null"},
		{"parameters without type", withTool(`{}`), "tools[0].function.parameters", "invalid_function_parameters", `Invalid schema for function 'f': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`},
		{"parameters of other type", withTool(`{"type":"string"}`), "tools[0].function.parameters", "invalid_function_parameters", `got 'type: "string"'`},
		{"parameters without properties", withTool(`{"type":"object"}`), "tools[0].function.parameters", "invalid_function_parameters", "object schema missing properties"},
		{"array without items", withTool(`{"type":"object","properties":{"x":{"type":"array"}}}`), "tools[0].function.parameters", "invalid_function_parameters", "In context=('properties', 'x'), array schema missing items."},
		{"array without items, of no property", withTool(`{"type":"object","properties":{},"items":{"type":"array"}}`), "tools[0].function.parameters", "invalid_function_parameters", "In context=('items',), array schema missing items."},
		{"no such type", withTool(`{"type":"object","properties":{"x":{"anyOf":[{"type":"text"}]}}}`), "tools[0].function.parameters", "invalid_function_parameters", "In context=('properties', 'x', 'anyOf', '0'), 'text' is not valid"},
		{"required is no list", withTool(`{"type":"object","properties":{},"required":true}`), "tools[0].function.parameters", "invalid_function_parameters", "'required'"},
		{"strict and open", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{}}}}]}`, "tools[0].function.parameters", "invalid_function_parameters", "'additionalProperties'"},
		{"tool_choice without tools", `{"model":"m","messages":[` + userHi + `],"tool_choice":"auto"}`, "tool_choice", "", "only allowed when 'tools'"},
		{"tool_choice unknown word", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"any"}`, "tool_choice", "invalid_value", "'any'"},
		{"tool_choice unknown tool", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}}`, "tool_choice", "", "'g' not found"},
		{"tool_choice of wrong type", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":1}`, "tool_choice", "invalid_type", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, r := chat.Read([]byte(tc.body), nil)
			if r == nil {
				t.Fatal("accepted")
			}
			if r.Status != 400 || r.Type != "invalid_request_error" || r.Param != tc.param || r.Code != tc.code || !strings.Contains(r.Message, tc.words) {
				t.Errorf("got %+v", r)
			}
			// After another request of the conversation it is the same.
			prev, _ := chat.Read([]byte(chatRequest(userHi)), nil)
			if _, again := chat.Read([]byte(tc.body), prev); cmp.Diff(r, again) != "" {
				t.Errorf("after another request (-alone +after):\n%s", cmp.Diff(r, again))
			}
		})
	}
}

func TestRefusalBody(t *testing.T) {
	_, r := chat.Read([]byte(`{"model":"m"}`), nil)
	want := "{\n  \"error\": {\n    \"message\": \"Missing required parameter: 'messages'.\",\n    \"type\": \"invalid_request_error\",\n    \"param\": \"messages\",\n    \"code\": \"missing_required_parameter\"\n  }\n}\n"
	if d := cmp.Diff(want, string(r.Body())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestAccepted holds what real clients send.
func TestAccepted(t *testing.T) {
	for _, tc := range []struct{ name, body string }{
		{"tool content as parts", chatRequest(userHi, `{"role":"assistant","content":null,"tool_calls":[`+callA+`]}`, `{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"21C"}]}`)},
		{"tool content empty", chatRequest(userHi, `{"role":"assistant","tool_calls":[`+callA+`]}`, `{"role":"tool","tool_call_id":"a","content":""}`)},
		{"assistant content empty", chatRequest(userHi, `{"role":"assistant","content":"","tool_calls":[`+callA+`]}`, `{"role":"tool","tool_call_id":"a","content":"x"}`)},
		{"index and parsed_arguments sent back", chatRequest(userHi,
			`{"role":"assistant","refusal":null,"annotations":null,"audio":null,"function_call":null,"parsed":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}","parsed_arguments":null}}]}`,
			`{"role":"tool","tool_call_id":"a","content":"x"}`)},
		{"tool_calls null", chatRequest(userHi, `{"role":"assistant","content":"hi","tool_calls":null}`, userHi)},
		{"name on a user message", chatRequest(`{"role":"user","name":"user","content":"hi"}`)},
		{"developer", chatRequest(`{"role":"developer","content":"be short"}`, userHi)},
		{"$schema and title", withTool(`{"$schema":"http://json-schema.org/draft-07/schema#","title":"F","type":"object","properties":{"x":{"title":"X","type":["string","null"]}},"additionalProperties":true}`)},
		{"no parameters", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f","strict":false}}]}`},
		{"references", withTool(`{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"enum":["a"]}}}`)},
		{"max_completion_tokens and more", `{"model":"m","messages":[` + userHi + `],"max_completion_tokens":5,"stream":false,"stop":["x"],"store":false,"metadata":{},"temperature":0,"top_p":1,"n":1}`},
		{"required choice", `{"model":"m","messages":[` + userHi + `],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required","parallel_tool_calls":false}`},
		{"images", chatRequest(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"what?"}]}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, r := chat.Read([]byte(tc.body), nil)
			if r != nil || c.Unsupported() != nil {
				t.Errorf("refused: %v, %v", r, c.Unsupported())
			}
		})
	}
}

func TestRequest(t *testing.T) {
	body := `{"messages":[{"role":"developer","content":"Be \"short\"."},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"\u00e9"}]},` +
		`{"role":"assistant","reasoning_content":"hm","content":null,"tool_calls":[` + callA + `]},{"role":"tool","tool_call_id":"a","content":"21\u00b0C"}],` +
		`"model":"m","temperature":0,"max_completion_tokens":7,"stream":true,"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{}}}}],"tool_choice":{"type":"function","function":{"name":"f"}}}`
	c, r := chat.Read([]byte(body), nil)
	if r != nil {
		t.Fatal(r)
	}
	zero := 0.0
	want := harness.Request{
		Model: "m", Temperature: &zero, MaxTokens: 7, Stream: true, ToolChoice: "f",
		Tools: []harness.Tool{{Name: "f", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
		Messages: []harness.Message{
			{Role: harness.RoleSystem, Text: `Be "short".`},
			{Role: harness.RoleUser, Text: "a\né", Parts: []string{"a", "é"}},
			{Role: harness.RoleAssistant, Reasoning: "hm", Calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}},
			{Role: harness.RoleTool, CallID: "a", Text: "21°C"},
		},
	}
	if d := cmp.Diff(want, c.Request()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := string(c.Body()); got != body {
		t.Errorf("body: %s", got)
	}
}

// TestAfter reads requests after another and compares with reading them
// alone.
func TestAfter(t *testing.T) {
	a, b, c := userHi, `{"role":"assistant","content":"yes"}`, `{"role":"user","content":"more"}`
	for _, tc := range []struct{ name, prev, body string }{
		{"same", chatRequest(a), chatRequest(a)},
		{"longer", chatRequest(a), chatRequest(a, b, c)},
		{"longer by one", chatRequest(a, b), chatRequest(a, b, c)},
		{"shorter", chatRequest(a, b, c), chatRequest(c)},
		{"changed in the middle", chatRequest(a, b, c), chatRequest(a, c, c)},
		{"spaced separators", `{"model": "m", "messages": [` + a + `, ` + b + `]}`, `{"model": "m", "messages": [` + a + `, ` + b + `, ` + c + `]}`},
		{"separators change", chatRequest(a, b), `{"model":"m","messages":[` + a + `,` + b + ` , ` + c + `]}`},
		{"space before the end", chatRequest(a, b), `{"model":"m","messages":[` + a + `,` + b + `  ]}`},
		{"space at the start", chatRequest(a, b), `{"model":"m","messages":[  ` + a + `,` + b + `]}`},
		{"indented", chatRequest(a), "{\n \"model\": \"m\",\n \"messages\": [\n  " + a + ",\n  " + b + "\n ]\n}"},
		{"other tail", chatRequest(a), strings.Replace(chatRequest(a, b), "]}", `],"temperature":0.5}`, 1)},
		{"tail then changed", strings.Replace(chatRequest(a, b), "]}", `],"temperature":0.5}`, 1), strings.Replace(chatRequest(a, b), "]}", `],"temperature":0.7}`, 1)},
		{"other model", chatRequest(a), strings.Replace(chatRequest(a, b), `"m"`, `"n"`, 1)},
		{"empty after some", chatRequest(a), chatRequest()},
		{"some after empty", chatRequest(), chatRequest(a, b)},
		{"not objects", chatRequest(`1`), chatRequest(`12`)},
		{"trailing comma", chatRequest(a), chatRequest(a, ``)},
		{"cut after a message", chatRequest(a, b), `{"model":"m","messages":[` + a},
		{"cut after a comma", chatRequest(a, b), `{"model":"m","messages":[` + a + `,`},
		{"cut at the start", chatRequest(a, b), `{"model":"m","messages":[`},
		{"rubbish after", chatRequest(a), chatRequest(a) + `}`},
		{"messages twice", chatRequest(a), `{"model":"m","messages":[` + a + `],"messages":[]}`},
	} {
		t.Run(tc.name, func(t *testing.T) { compareAfter(t, []byte(tc.prev), []byte(tc.body)) })
	}
}

func compareAfter(t *testing.T, first, second []byte) {
	t.Helper()
	prev, _ := chat.Read(first, nil)
	alone, wantRefusal := chat.Read(second, nil)
	after, refusal := chat.Read(second, prev)
	if d := cmp.Diff(wantRefusal, refusal); d != "" {
		t.Fatalf("refusal (-alone +after):\n%s", d)
	}
	if (alone == nil) != (after == nil) {
		t.Fatalf("alone %v, after %v", alone, after)
	}
	if alone == nil {
		return
	}
	if d := cmp.Diff(alone.Request(), after.Request()); d != "" {
		t.Errorf("request (-alone +after):\n%s", d)
	}
	for _, c := range []*dialect.Chat{alone, after} {
		if !bytes.Equal(c.Body(), second) {
			t.Errorf("body %q, want %q", c.Body(), second)
		}
	}
	if !alone.SameMessages(after) {
		t.Error("the messages differ")
	}
}

func TestSharing(t *testing.T) {
	long := `{"role":"user","content":"` + strings.Repeat("x", 10_000) + `"}`
	a, _ := chat.Read([]byte(chatRequest(long)), nil)
	b, _ := chat.Read([]byte(chatRequest(long, userHi)), a)
	if a.At(0) != b.At(0) || b.Size() > 100 {
		t.Errorf("the second chat holds %d bytes of its own", b.Size())
	}
	n := 0
	for range 2 {
		for _, c := range []*dialect.Chat{a, b} {
			c.At(0).Tokens(func(harness.Message) int { n++; return 5 })
		}
	}
	if n != 1 {
		t.Errorf("counted %d times", n)
	}
}

func TestCommon(t *testing.T) {
	chat := func(list ...string) *dialect.Chat {
		c, _ := chat.Read([]byte(chatRequest(list...)), nil)
		return c
	}
	spelled := `{"content":[{"type":"text","text":"h\u0069"}],"role":"user"}`
	for _, tc := range []struct {
		name string
		a, b *dialect.Chat
		want int
		same bool
	}{
		{"equal", chat(userHi), chat(userHi), 1, true},
		{"equal, spelled otherwise", chat(userHi), chat(spelled), 1, true},
		{"longer", chat(userHi), chat(userHi, userHi), 1, false},
		{"other text", chat(userHi), chat(`{"role":"user","content":"ho"}`), 0, false},
		{"other role", chat(userHi), chat(`{"role":"system","content":"hi"}`), 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if n, same := tc.a.Common(tc.b), tc.a.SameMessages(tc.b); n != tc.want || same != tc.same {
				t.Errorf("got %d %v, want %d %v", n, same, tc.want, tc.same)
			}
		})
	}
}

// FuzzDecodeChat compares the scanner with encoding/json, and reading after
// another request with reading alone.
func FuzzDecodeChat(f *testing.F) {
	long := history(3)
	for _, s := range []string{
		chatRequest(userHi), chatRequest(), `{}`, `[]`, `{"model":"m","messages":[{"role":"user","content":"\ud83d\ude00 \u00e9 \\ \" /"}]}`,
		string(long), withTool(`{"type":"object","properties":{"x":{"type":"array","items":{}}}}`),
		`{"messages":[{"role":"assistant","tool_calls":[{"id":1,"function":[]},null]}]}`, `{"messages":[{"role":"user","content":[{"text":1e5},[-0.5E+3]]}]}`,
		"{\"messages\" :\t[ {} ,\n{} ] , \"x\": true}", `{"messages":[{}{}]}`, `{"a":01}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\x1f\"}",
	} {
		f.Add([]byte(s), []byte(chatRequest(userHi)))
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, body, prev []byte) {
		chat, refusal := chat.Read(body, nil)
		if refusal != nil && !json.Valid(refusal.Body()) {
			t.Errorf("refusal %s", refusal.Body())
		}
		if chat != nil && !json.Valid(body) {
			t.Errorf("read %q, which is not valid JSON", body)
		}
		if chat == nil && json.Valid(body) && refusal.Message == dialect.NotJSON(dialect.ErrSyntax).Message {
			t.Errorf("%q is valid JSON", body)
		}
		compareAfter(t, prev, body)
	})
}

// history returns a request with a long history of n rounds.
func history(n int) []byte {
	var list []string
	list = append(list, `{"role":"system","content":"You build metabolic models with the tools you are given."}`, userHi)
	for i := range n {
		text, _ := json.Marshal(strings.Repeat(fmt.Sprintf("{\"compound\": \"cpd%05d\", \"name\": \"Glucose\"}\n", i), 25))
		list = append(list,
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"f","arguments":"{\"query\": \"glucose %d\", \"limit\": 25}"}}]}`, i, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":%s}`, i, text))
	}
	return []byte(chatRequest(list...))
}

// BenchmarkHistory compares reading a 136 kB request with decoding it whole.
func BenchmarkHistory(b *testing.B) {
	body := history(84)
	prev, _ := chat.Read(body[:], nil)
	last := prev.At(prev.Len() - 1).Raw
	shorter := bytes.Replace(body, append([]byte(","), last...), nil, 1)
	before, _ := chat.Read(shorter, nil)
	for _, bc := range []struct {
		name string
		run  func()
	}{
		{"encoding_json", func() {
			var r struct {
				Model    string
				Messages []struct {
					Role      string
					Content   any
					ToolCalls []struct {
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
					ToolCallID string `json:"tool_call_id"`
				}
			}
			if err := json.Unmarshal(body, &r); err != nil {
				b.Fatal(err)
			}
		}},
		{"alone", func() { chat.Read(body, nil) }},
		{"after_shorter", func() { chat.Read(body, before) }},
		{"after_same", func() { chat.Read(body, prev) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				bc.run()
			}
		})
	}
}

// TestUnsupported holds what OpenAI alone refuses.
func TestUnsupported(t *testing.T) {
	const (
		api    = "https://platform.openai.com/docs/api-reference/chat/create"
		github = "https://github.com/"
	)
	with := func(model, more string) string {
		return `{"model":"` + model + `","messages":[` + userHi + `]` + more + `}`
	}
	for _, tc := range []refusalCase{
		{"unknown key", with("gpt-4o", `,"enable_thinking":false`), 400, "", "", "Unrecognized request argument supplied: enable_thinking", github + "CherryHQ/cherry-studio/issues/6155"},
		{"unknown key before messages", `{"thinking":{},"model":"gpt-4o","messages":[` + userHi + `]}`, 400, "", "", "Unrecognized request argument supplied: thinking", github + "nashsu/llm_wiki/issues/336"},
		{"unknown keys", with("gpt-4o", `,"top_k":5,"num_ctx":1`), 400, "", "", "Unrecognized request arguments supplied: num_ctx, top_k", github + "langchain-ai/langchain/issues/8593"},
		{"another case", with("gpt-4o", `,"Stream":true`), 400, "", "", "supplied: Stream", api},
		{"max_tokens of o1", with("o1", `,"max_tokens":5`), 400, "unsupported_parameter", "max_tokens", "Use 'max_completion_tokens' instead.", github + "openai/openai-python/issues/2046"},
		{"max_tokens of o3-mini", with("o3-mini", `,"max_tokens":5`), 400, "unsupported_parameter", "max_tokens", "", github + "teilomillet/gollm/issues/33"},
		{"max_tokens of o4-mini", with("o4-mini-2025-04-16", `,"max_tokens":5`), 400, "unsupported_parameter", "max_tokens", "", api},
		{"stop of gpt-5", with("gpt-5", `,"stop":["a"]`), 400, "unsupported_parameter", "stop", "not supported with this model", api},
		{"parallel calls of o1", with("o1", `,"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":true`), 400, "unsupported_parameter", "parallel_tool_calls", "not supported with this model", api},
		{"part of no kind", chatRequest(`{"role":"user","content":[{"text":"x"}]}`), 400, "missing_required_parameter", "messages[0].content[0].type", "", api},
		{"part of an unknown kind", chatRequest(`{"role":"user","content":[{"type":"text","text":"x"},{"type":"foo","text":"x"}]}`), 400, "invalid_value", "messages[0].content[1].type", "'foo'", api},
		{"image without an address", chatRequest(`{"role":"user","content":[{"type":"image_url"}]}`), 400, "missing_required_parameter", "messages[0].content[0].image_url", "", api},
		{"text without a text", chatRequest(`{"role":"user","content":[{"type":"text"}]}`), 400, "missing_required_parameter", "messages[0].content[0].text", "", api},
		{"name with a blank", chatRequest(`{"role":"user","name":"a b","content":"x"}`), 400, "invalid_value", "messages[0].name", "does not match pattern", api},
		{"name behind the content", chatRequest(`{"role":"user","content":"x","name":"a b"}`), 400, "invalid_value", "messages[0].name", "does not match pattern", api},
		{"max_tokens of gpt-5", with("gpt-5.4-mini", `,"max_tokens":5`), 400, "unsupported_parameter", "max_tokens", "", github + "koosoli/ESPHomeDesigner/issues/379"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, r := chat.Read([]byte(tc.body), nil)
			if r != nil {
				t.Fatalf("others refuse it too: %v", r)
			}
			tc.check(t, c.Unsupported())
		})
	}
	for name, body := range map[string]string{
		"max_completion_tokens": with("o1", `,"max_completion_tokens":5`),
		"max_tokens null":       with("gpt-5", `,"max_tokens":null`),
		"gpt-4o":                with("gpt-4o", `,"max_tokens":5`),
		"gpt-5-chat":            with("gpt-5-chat-latest", `,"max_tokens":5`),
		"stop of gpt-4o":        with("gpt-4o", `,"stop":["a"]`),
		"stop null":             with("gpt-5", `,"stop":null`),
		"parallel calls of o3":  with("o3", `,"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":true`),
		"parts":                 chatRequest(`{"role":"user","name":"ann","content":[{"type":"text","text":""},{"type":"image_url","image_url":{"url":"data:"}},{"type":"input_audio","input_audio":{}},{"type":"file","file":{}}]},{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`),
		"a name in a call":      chatRequest(`{"role":"user","content":"the \"name\": is a b"}`),
		"another o":             with("o1x", `,"max_tokens":5`),
		"all that there is":     with("gpt-5.1", `,"metadata":{},"store":false,"user":"u","seed":1,"reasoning_effort":"low","verbosity":"low","logit_bias":{},"prediction":null,"service_tier":"auto","safety_identifier":"s","prompt_cache_key":"k"`),
	} {
		if c, r := chat.Read([]byte(body), nil); r != nil || c.Unsupported() != nil {
			t.Errorf("%s: refused: %v, %v", name, r, c.Unsupported())
		}
	}
}
