// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
)

// TestGeminiRequest has what goes into a request, and what the reader of the mock
// says of it: nothing.
func TestGeminiRequest(t *testing.T) {
	user := harness.Message{Role: harness.RoleUser, Text: "hi"}
	weather := harness.Tool{Name: "weather", Description: "The weather.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	for _, tc := range []struct {
		name  string
		req   Request
		want  string
		path  string
		notes int
	}{
		{
			name: "results in the order and number of the calls", path: "/models/gemini-3-pro:streamGenerateContent?alt=sse",
			req: Request{Model: "gemini-3-pro", Tools: []harness.Tool{weather, {Name: "time"}}, MaxTokens: 100, Stream: true, Messages: []harness.Message{
				{Role: harness.RoleSystem, Text: "be brief"},
				user,
				{
					Role: harness.RoleAssistant, Text: "let me see", Reasoning: "hm",
					Calls: []harness.ToolCall{
						{ID: "a", Name: "weather", Arguments: `{"city": "Zürich"}`, Extra: `{"thoughtSignature":"c2ln"}`},
						{ID: "b", Name: "no such tool", Arguments: "Nice"},
						{ID: "c", Name: "time"},
					},
				},
				{Role: harness.RoleTool, CallID: "b", Text: "no"},
				{Role: harness.RoleTool, CallID: "a", Text: "sunny"},
				{Role: harness.RoleUser, Text: "and?"},
			}},
			want: `{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]},` +
				`{"role":"model","parts":[{"text":"let me see"},{"functionCall":{"id":"a","name":"weather","args":{"city":"Zürich"}},"thoughtSignature":"c2ln"},` +
				`{"functionCall":{"id":"b","name":"no_such_tool","args":{"raw_arguments":"Nice"}}},{"functionCall":{"id":"c","name":"time","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"weather","response":{"output":"sunny"}}},{"functionResponse":{"id":"b","name":"no_such_tool","response":{"output":"no"}}},` +
				`{"functionResponse":{"id":"c","name":"time","response":{"error":"there is no result of this call"}}}]},{"role":"user","parts":[{"text":"and?"}]}],` +
				`"tools":[{"functionDeclarations":[{"name":"weather","description":"The weather.","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING"}}}},{"name":"time"}]}],` +
				`"generationConfig":{"maxOutputTokens":100}}`,
		},
		{
			name: "parts that are wanted back", path: "/models/m:generateContent",
			req: Request{Model: "models/m", Messages: []harness.Message{
				user,
				{
					Role: harness.RoleAssistant, Text: "so", Calls: []harness.ToolCall{{ID: "a", Name: "time"}},
					Extra: `{"content_parts":[{"text":"so","thoughtSignature":"c2ln"},{"functionCall":{}},{"executableCode":{"language":"PYTHON","code":"1"}}]}`,
				},
				{Role: harness.RoleTool, CallID: "a", Text: "noon"},
				{Role: harness.RoleAssistant, Text: "changed", Extra: `{"content_parts":[{"text":"so","thoughtSignature":"c2ln"}]}`},
				user, user,
				{Role: harness.RoleAssistant},
				user,
			}},
			want: `{"contents":[{"role":"user","parts":[{"text":"hi"}]},` +
				`{"role":"model","parts":[{"text":"so","thoughtSignature":"c2ln"},{"functionCall":{"id":"a","name":"time","args":{}}},{"executableCode":{"language":"PYTHON","code":"1"}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"time","response":{"output":"noon"}}}]},` +
				`{"role":"model","parts":[{"text":"changed"}]},{"role":"user","parts":[{"text":"hi"},{"text":"hi"}]},{"role":"user","parts":[{"text":"hi"}]}]}`,
		},
		{
			name: "sampling, any tool, further fields", path: "/tunedModels/mine:generateContent",
			req: Request{
				Model: "tunedModels/mine", Messages: []harness.Message{user}, Temperature: ptr(0.0), TopP: ptr(0.5), Seed: ptr(int64(0)), Tools: []harness.Tool{weather},
				ToolChoice: "required", Extra: map[string]json.RawMessage{"labels": json.RawMessage(`{"a":"b"}`)},
			},
			want: `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],` +
				`"tools":[{"functionDeclarations":[{"name":"weather","description":"The weather.","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING"}}}}]}],` +
				`"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"generationConfig":{"temperature":0,"topP":0.5,"seed":0},"labels":{"a":"b"}}`,
		},
		{
			name: "one tool, and thinking by a budget", path: "/models/gemini-2.5-pro:generateContent",
			req: Request{Model: "gemini-2.5-pro", Messages: []harness.Message{user}, Tools: []harness.Tool{weather}, ToolChoice: "weather", Reasoning: "none"},
			want: `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],` +
				`"tools":[{"functionDeclarations":[{"name":"weather","description":"The weather.","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING"}}}}]}],` +
				`"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["weather"]}},"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`,
		},
		{
			name: "thinking by a level", path: "/models/gemini-3-flash:generateContent",
			req:  Request{Model: "gemini-3-flash", Messages: []harness.Message{user}, Reasoning: "high"},
			want: `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}}}`,
		},
		{
			name: "a schema with keys that are not taken, and one that cannot be said", path: "/models/m:generateContent", notes: 1,
			req: Request{Model: "m", Messages: []harness.Message{user}, Tools: []harness.Tool{
				{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}},"additionalProperties":false}`)},
				{Name: "g", Schema: json.RawMessage(`{"type":"object","properties":{"n":{}}}`)},
			}},
			want: `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[` +
				`{"name":"f","parameters":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}}}},{"name":"g","parametersJsonSchema":{"type":"object","properties":{"n":{}}}}]}]}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := NewGemini(Config{})
			out, err := c.writeGemini(&tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(out.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if out.Path != tc.path || len(out.Notes) != tc.notes {
				t.Errorf("path %q, notes %q", out.Path, out.Notes)
			}
			if _, refusal := gemini.Read(out.Body, &dialect.Query{Model: tc.req.Model}); refusal != nil {
				t.Errorf("the API refuses it: %s", refusal.Message)
			}
			if again, err := c.writeGemini(&tc.req); err != nil || len(again.Notes) > 0 {
				t.Errorf("the second time: notes %q, %v", again.Notes, err)
			}
		})
	}
}

// TestGeminiRefused has the requests that are not sent.
func TestGeminiRefused(t *testing.T) {
	for name, req := range map[string]Request{
		"schema":     {Tools: []harness.Tool{{Name: "f", Schema: json.RawMessage("{")}}},
		"extra":      {Extra: map[string]json.RawMessage{"contents": json.RawMessage("[]")}},
		"settings":   {MaxTokens: 1, Extra: map[string]json.RawMessage{"generationConfig": json.RawMessage("{}")}},
		"result":     {Messages: []harness.Message{{Role: harness.RoleTool, CallID: "a"}}},
		"one result": {Messages: []harness.Message{{Role: harness.RoleAssistant, Text: "hi"}, {Role: harness.RoleTool, CallID: "a"}}},
		"no text":    {Messages: []harness.Message{{Text: "\xff"}}},
	} {
		var e *Error
		if _, err := NewGemini(Config{}).writeGemini(&req); err == nil || !errors.As(err, &e) || e.Kind != KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGeminiSchema has schemas in the language of the API. The mock's reader takes
// each of them.
func TestGeminiSchema(t *testing.T) {
	object := func(of string) string { return `{"type":"object","properties":{"x":` + of + `}}` }
	for _, tc := range []struct {
		name, in, want string // want is that of x; empty where it cannot be said
		left           string
	}{
		{"as it is", `{"type":"string","description":"d","pattern":"a+","minLength":1,"enum":["a","b"]}`, `{"type":"STRING","description":"d","pattern":"a+","minLength":1,"enum":["a","b"]}`, ""},
		{"a name that is a keyword", `{"type":"object","properties":{"type":{"type":"string"},"$ref":{"type":"number"}},"required":["type","none"]}`, `{"type":"OBJECT","properties":{"type":{"type":"STRING"},"$ref":{"type":"NUMBER"}},"required":["type"]}`, ""},
		{"or null", `{"type":["integer","null"],"maximum":3}`, `{"type":"INTEGER","maximum":3,"nullable":true}`, ""},
		{"anyOf with null", `{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`, `{"type":"STRING","default":null,"nullable":true}`, ""},
		{"two types", `{"type":["string","integer"],"minimum":1}`, `{"anyOf":[{"type":"STRING","minimum":1},{"type":"INTEGER","minimum":1}]}`, ""},
		{"oneOf", `{"oneOf":[{"type":"string"},{"type":"boolean"}],"description":"d"}`, `{"description":"d","anyOf":[{"type":"STRING"},{"type":"BOOLEAN"}]}`, ""},
		{"allOf", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number"}},"required":["b"]}]}`, `{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"NUMBER"}},"required":["a","b"]}`, ""},
		{"an array", `{"items":{"type":"string","format":"date-time"},"minItems":1,"uniqueItems":true}`, `{"type":"ARRAY","minItems":1,"items":{"type":"STRING","format":"date-time"}}`, "uniqueItems"},
		{"formats", `{"type":"string","format":"uuid"}`, `{"type":"STRING"}`, "format uuid"},
		{"const", `{"const":"a"}`, `{"type":"STRING","enum":["a"]}`, ""},
		{"enum of numbers", `{"type":"integer","enum":[1,2]}`, `{"type":"INTEGER"}`, "enum of integer"},
		{"a reference", `{"$ref":"#/$defs/a~1b","description":"mine"}`, `{"type":"STRING","description":"mine"}`, ""},
		{"one that goes round", `{"$ref":"#/$defs/round"}`, "", ""},
		{"one that leads nowhere", `{"$ref":"#/$defs/no"}`, "", ""},
		{"one elsewhere", `{"$ref":"other.json"}`, "", ""},
		{"two references", `{"allOf":[{"$ref":"#/$defs/a~1b"},{"$ref":"#/$defs/round"}]}`, "", ""},
		{"any value", `{}`, "", ""},
		{"true", `true`, "", ""},
		{"any object", `{"type":"object"}`, "", ""},
		{"any list", `{"type":"array"}`, "", ""},
		{"a choice of what is required", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := object(tc.in)
			in = in[:len(in)-1] + `,"$defs":{"a/b":{"type":"string","description":"other"},"round":{"type":"object","properties":{"r":{"$ref":"#/$defs/round"}}}}}`
			got, left, ok := geminiSchema(json.RawMessage(in))
			if ok != (tc.want != "") {
				t.Fatalf("can be said: %v; %s", ok, got)
			}
			if !ok {
				return
			}
			want := `{"type":"OBJECT","properties":{"x":` + tc.want + `}}`
			if diff := cmp.Diff(want, string(got)); diff != "" || strings.Join(left, " ") != tc.left {
				t.Errorf("left out %q (-want +got):\n%s", left, diff)
			}
			body := `{"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":` + string(got) + `}]}]}`
			if _, refusal := gemini.Read([]byte(body), &dialect.Query{}); refusal != nil {
				t.Errorf("the API refuses it: %s", refusal.Message)
			}
		})
	}
	for schema, want := range map[string]bool{`{"type":"object"}`: true, `{"type":"object","additionalProperties":false}`: true, `{"type":"object","additionalProperties":true}`: false} {
		if got, _, ok := geminiSchema(json.RawMessage(schema)); ok != want || got != nil {
			t.Errorf("%s: %v, %s", schema, ok, got)
		}
	}
}
