// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// sent returns the body that the client sends for req, byte for byte.
func sent(t *testing.T, cfg Config, req *Request) (body string, done *Done) {
	t.Helper()
	reply := plain(200, ctJSON, whole)
	s := serveRaw(t, reply)
	cfg.BaseURL, cfg.APIKey, cfg.Transport = s.url, "key", noReuse()
	h := ask(t, NewOpenAI(cfg), req)
	if h.err != nil {
		t.Fatal(h.err)
	}
	got := s.requests()
	if len(got) != 1 {
		t.Fatalf("got %d requests, want 1", len(got))
	}
	if head := s.heads[0]; head.Header.Get("Authorization") != "Bearer key" || head.URL.Path != "/v1/chat/completions" {
		t.Errorf("got %s with %q", head.URL, head.Header.Get("Authorization"))
	}
	return got[0], h.done
}

func ptr[T any](v T) *T { return &v }

// conversation has everything in it that clients are known to send wrong.
func conversation() *Request {
	return &Request{
		Model: "test-model",
		Messages: []harness.Message{
			{Role: harness.RoleSystem, Text: "Be brief."},
			{Role: harness.RoleUser, Text: ""},
			{Role: harness.RoleAssistant, Reasoning: "hm", Calls: []harness.ToolCall{
				{ID: "a", Name: "list", Arguments: ""},
				{ID: "b", Name: "find", Arguments: `{"q":"<x> & \"y\""}`, Extra: `{"extra_content":{"google":{"thought_signature":"c2ln"}}}`},
			}},
			{Role: harness.RoleTool, CallID: "a", Text: ""},
			{Role: harness.RoleTool, CallID: "b", Text: `found ,"stream":true`},
			{Role: harness.RoleAssistant, Refusal: "I would rather not."},
			{Role: harness.RoleUser, Text: "why?"},
		},
		Tools: []harness.Tool{
			{Name: "list", Description: "List all."},
			{Name: "find", Schema: json.RawMessage(`{"type": "object", "properties": {"q": {"type": "string", "description": "a < b"}}, "x": {"stream":true}}`)},
		},
		ToolChoice:  "find",
		Temperature: ptr(0.0),
		TopP:        ptr(0.0),
		MaxTokens:   100,
		Seed:        ptr(int64(0)),
		Extra:       map[string]json.RawMessage{"top_k": json.RawMessage("1"), "cache": json.RawMessage(`{"on":true}`)},
	}
}

// TestSentJSON holds the exact JSON that goes out.
func TestSentJSON(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cfg    Config
		change func(*Request)
	}{
		{name: "plain", change: func(*Request) {}},
		{name: "stream", change: func(r *Request) { r.Stream = true }},
		{name: "reasoning", cfg: Config{SendReasoning: true}, change: func(*Request) {}},
		{name: "defaults", change: func(r *Request) {
			*r = Request{Model: r.Model, Messages: r.Messages[:1]}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := conversation()
			tc.change(req)
			body, _ := sent(t, tc.cfg, req)
			if !json.Valid([]byte(body)) {
				t.Fatalf("not JSON: %s", body)
			}
			// The golden has one member a line, for the sake of its diffs; the
			// order and the spelling are those of the wire.
			var got bytes.Buffer
			if err := json.Indent(&got, []byte(body), "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := "testdata/sent-" + tc.name + ".json"
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// TestSent has a case for everything that clients are known to send wrong, and
// for the rules of the model families.
func TestSent(t *testing.T) {
	user := []harness.Message{{Role: harness.RoleUser, Text: "hi"}}
	for _, tc := range []struct {
		name     string
		cfg      Config
		req      Request
		has      []string
		hasNot   []string
		note     string
		invalid  string // the error of a request that is not sent
		messages []harness.Message
	}{
		{name: "temperature and top_p zero", req: Request{Model: "m", Temperature: ptr(0.0), TopP: ptr(0.0)}, has: []string{`"temperature":0,"top_p":0`}},
		{name: "temperature left to the provider", req: Request{Model: "m"}, hasNot: []string{"temperature", "top_p", "seed", "max_"}},
		{name: "temperature keeps its spelling", req: Request{Model: "m", Temperature: ptr(0.1)}, has: []string{`"temperature":0.1}`}},
		{name: "seed zero", req: Request{Model: "m", Seed: ptr(int64(0))}, has: []string{`"seed":0`}},
		{name: "empty tool content", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleTool, CallID: "a"}}, has: []string{`{"role":"tool","tool_call_id":"a","content":""}`}},
		{name: "empty user content", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleUser}}, has: []string{`{"role":"user","content":""}`}},
		{name: "empty arguments", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "a", Name: "f"}}}}, has: []string{`"function":{"name":"f","arguments":"{}"}`}, hasNot: []string{`"content"`}},
		{name: "members that the endpoint wants back", req: Request{Model: "m"}, messages: []harness.Message{
			{Role: harness.RoleAssistant, Extra: `{"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA","index":0}],"content":"x","reasoning_content":""}`, Calls: []harness.ToolCall{{ID: "a", Name: "f"}}},
		}, has: []string{`"arguments":"{}"}}],"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA","index":0}]}`}, hasNot: []string{`"content"`, "reasoning_content"}},
		{name: "members of a message without text", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleAssistant, Extra: `{"a":1}`}}, has: []string{`{"role":"assistant","content":"","a":1}`}},
		{name: "members that are no JSON, and of a user", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleAssistant, Text: "x", Extra: `{`}, {Role: harness.RoleUser, Text: "hi", Extra: `{"a":1}`}}, has: []string{`{"role":"assistant","content":"x"},{"role":"user","content":"hi"}]`}},
		{name: "no parameters", req: Request{Model: "m", Tools: []harness.Tool{{Name: "f"}, {Name: "g", Schema: json.RawMessage("null")}}}, has: []string{`{"name":"f","parameters":{"type":"object","properties":{}}}`, `{"name":"g","parameters":{"type":"object","properties":{}}}`}},
		{name: "schema keeps its value", req: Request{Model: "m", Tools: []harness.Tool{{Name: "f", Schema: json.RawMessage(`{"z": 1.10, "a": "<"}`)}}}, has: []string{`"parameters":{"z":1.10,"a":"\u003c"}`}},
		{name: "invalid UTF-8 in content", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleTool, CallID: "a", Text: "ab\xff"}}, invalid: "message 1 (tool) is not UTF-8 at byte 2"},
		{name: "invalid UTF-8 in arguments", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: "\xc3"}}}}, invalid: `call of "f" in message 1 is not UTF-8 at byte 0`},
		{name: "invalid UTF-8 in a tool", req: Request{Model: "m", Tools: []harness.Tool{{Name: "f", Description: "\xff"}}}, invalid: `tool "f" is not UTF-8`},
		{name: "schema that is no JSON", req: Request{Model: "m", Tools: []harness.Tool{{Name: "f", Schema: json.RawMessage("{")}}}, invalid: `schema of tool "f" is not JSON`},
		{name: "U+FFFD is text like any other", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleUser, Text: "\ufffd"}}, has: []string{"\"content\":\"\ufffd\""}},
		{name: "gpt-5", req: Request{Model: "gpt-5", Temperature: ptr(0.0), TopP: ptr(0.5), MaxTokens: 9}, has: []string{`"max_completion_tokens":9`}, hasNot: []string{"temperature", "top_p", `"max_tokens"`}, note: "temperature 0 left out: gpt-5 takes none\ntop_p 0.5 left out"},
		{name: "gpt-5 temperature 1", req: Request{Model: "gpt-5-mini", Temperature: ptr(1.0)}, has: []string{`"temperature":1`}},
		{name: "argo:gpt-5", req: Request{Model: "argo:gpt-5", Temperature: ptr(0.0), MaxTokens: 9}, has: []string{`"model":"argo:gpt-5"`, `"max_completion_tokens":9`}, hasNot: []string{"temperature"}, note: "left out: argo:gpt-5"},
		{name: "argo:gpt-o3", req: Request{Model: "argo:gpt-o3", MaxTokens: 9}, has: []string{`"max_completion_tokens":9`}},
		{name: "o4-mini", req: Request{Model: "o4-mini", MaxTokens: 9}, has: []string{`"max_completion_tokens":9`}},
		{name: "openai/o3", req: Request{Model: "openai/o3", Temperature: ptr(0.2)}, hasNot: []string{"temperature"}, note: "temperature 0.2"},
		{name: "gpt-oss:20b", req: Request{Model: "gpt-oss:20b", Temperature: ptr(0.0), MaxTokens: 9}, has: []string{`"temperature":0`, `"max_tokens":9`}},
		{name: "claude takes one of two", req: Request{Model: "argo:claude-opus-4.5", Temperature: ptr(0.0), TopP: ptr(0.9)}, has: []string{`"temperature":0`}, hasNot: []string{"top_p"}, note: "top_p 0.9 left out"},
		{name: "claude opus 4.7 takes none", req: Request{Model: "claudeopus47", Temperature: ptr(0.0)}, hasNot: []string{"temperature"}, note: "temperature 0 left out"},
		{name: "claude opus 4.7 takes not even 1", req: Request{Model: "argo:claude-4.7-opus", Temperature: ptr(1.0), TopP: ptr(1.0)}, hasNot: []string{"temperature", "top_p"}, note: "top_p 1 left out"},
		{name: "claude opus 4.1 takes both", req: Request{Model: "argo:claude-opus-4.1", Temperature: ptr(0.0), TopP: ptr(0.9)}, has: []string{`"temperature":0`, `"top_p":0.9`}},
		{name: "gemini takes both", req: Request{Model: "argo:gemini-2.5-pro", Temperature: ptr(0.0), TopP: ptr(0.9), MaxTokens: 9}, has: []string{`"temperature":0`, `"top_p":0.9`, `"max_tokens":9`}, hasNot: []string{"max_completion_tokens"}},
		{name: "claude streams a long reply", req: Request{Model: "argo:claude-opus-4.1", MaxTokens: 21001}, has: []string{`"stream":true`, `"include_usage":true`, `"max_tokens":21001`}, note: "asked for in pieces: argo:claude-opus-4.1 gives more than 21000 tokens no other way"},
		{name: "no claude gives so much", req: Request{Model: "argo:claude-opus-4.1", MaxTokens: 128001}, has: []string{`"stream":false`}},
		{name: "claude gives so much in one piece", req: Request{Model: "argo:claude-opus-4.1", MaxTokens: 21000}, has: []string{`"stream":false`}},
		{name: "others give any number", req: Request{Model: "argo:gpt-4o", MaxTokens: 21001}, has: []string{`"stream":false`}},
		{name: "claude is told a bound", req: Request{Model: "claudesonnet45"}, cfg: Config{MaxTokens: 4096}, has: []string{`"max_tokens":4096`}},
		{name: "claude keeps the request's bound", req: Request{Model: "claudesonnet45", MaxTokens: 7}, cfg: Config{MaxTokens: 4096}, has: []string{`"max_tokens":7`}},
		{name: "others need no bound", req: Request{Model: "argo:gpt-4o"}, cfg: Config{MaxTokens: 4096}, hasNot: []string{"max_tokens"}},
		{name: "a model of the completion era", req: Request{Model: "text-davinci-003"}, has: []string{`"model":"text-davinci-003"`}},
		{name: "extra field that is no JSON", req: Request{Model: "m", Extra: map[string]json.RawMessage{"top_k": json.RawMessage("{")}}, invalid: `extra field "top_k" is not JSON`},
		{name: "members of a call that are no JSON", req: Request{Model: "m"}, messages: []harness.Message{{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "a", Name: "f", Extra: "{a}"}}}}, invalid: "writing message 1 (assistant)"},
		{name: "extra field with a place of its own", req: Request{Model: "m", Extra: map[string]json.RawMessage{"model": json.RawMessage("1")}}, invalid: `extra field "model"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.req.Messages = user
			if tc.messages != nil {
				tc.req.Messages = tc.messages
			}
			if tc.invalid != "" {
				h := ask(t, once("http://127.0.0.1:1/v1"), &tc.req)
				var e *Error
				if !errors.As(h.err, &e) || e.Kind != KindInvalid || !strings.Contains(e.Error(), tc.invalid) {
					t.Fatalf("got %v, want an error of kind invalid with %q", h.err, tc.invalid)
				}
				return
			}
			body, done := sent(t, tc.cfg, &tc.req)
			for _, s := range tc.has {
				if !strings.Contains(body, s) {
					t.Errorf("want %s in\n%s", s, body)
				}
			}
			for _, s := range tc.hasNot {
				if strings.Contains(body, s) {
					t.Errorf("want no %s in\n%s", s, body)
				}
			}
			if !strings.Contains(strings.Join(done.Notes, "\n"), tc.note) {
				t.Errorf("notes: got %q, want %q", done.Notes, tc.note)
			}
		})
	}
}

// Reasoning goes back where the endpoint wants it: what there was of it, and that
// there was none.
func TestSentReasoning(t *testing.T) {
	for _, tc := range []struct {
		name string
		send bool
		m    harness.Message
		want string // of the body, or not
	}{
		{"empty", true, harness.Message{Extra: `{"reasoning_content":""}`}, `"reasoning_content":""`},
		{"empty and not wanted", false, harness.Message{Extra: `{"reasoning_content":""}`}, ""},
		{"some", true, harness.Message{Reasoning: "hm", Extra: `{"reasoning_content":""}`}, `"reasoning_content":"hm"`},
		{"some and not wanted", false, harness.Message{Reasoning: "hm"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.m.Role, tc.m.Calls = harness.RoleAssistant, []harness.ToolCall{{ID: "a", Name: "f"}}
			body, _ := sent(t, Config{SendReasoning: tc.send}, &Request{Model: "m", Messages: []harness.Message{tc.m}})
			if n := strings.Count(body, "reasoning_content"); tc.want == "" && n > 0 || tc.want != "" && (n != 1 || !strings.Contains(body, tc.want)) {
				t.Errorf("want %q in\n%s", tc.want, body)
			}
		})
	}
}

func TestBaseURL(t *testing.T) {
	for _, base := range []string{"", "localhost:8000/v1", "ftp://x/v1", "http://", "http://:8000/v1"} {
		h := ask(t, once(base), hello(true))
		var e *Error
		if !errors.As(h.err, &e) || e.Kind != KindInvalid {
			t.Errorf("base URL %q: got %v, want an error of kind invalid", base, h.err)
		}
	}
}
