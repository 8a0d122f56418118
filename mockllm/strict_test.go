// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestStrict: that profile has the paths of every dialect.
func TestStrict(t *testing.T) {
	for name, s := range speakers() {
		for _, prefix := range []string{"/v1beta/", "/v1/"} {
			m := scripted(t, mockllm.Script{Profile: "strict", Replies: []mockllm.Reply{{Say: "hello"}}}, nil)
			path := strings.Replace(strings.Replace(s.path, "/v1beta/", "/", 1), "/v1/", "/", 1)
			if name == "anthropic" {
				prefix = "/v1/"
			}
			w := send(m, strings.TrimSuffix(prefix, "/")+path, s.body(false, []string{s.user("hi")}))
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "hello") {
				t.Errorf("%s under %s: %d %s", name, prefix, w.Code, w.Body)
			}
			m.Close()
		}
	}
}

// TestUnsupported: what a provider does not know is refused where the mock is
// that provider, in the words of each dialect.
func TestUnsupported(t *testing.T) {
	bodies := map[string]string{
		"/v1/chat/completions": `{"model":"MODEL","KEY":1,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1/responses":        `{"model":"MODEL","KEY":1,"input":"hi"}`,
		"/v1/messages":         `{"model":"MODEL","max_tokens":9,"KEY":1,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1/models/gemini-3-pro:generateContent": `{"generationConfig":{"KEY":1},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
	}
	for _, tc := range []struct{ profile, path, model, key, want string }{
		{"", "/v1/chat/completions", "gpt-4o", "foo", "Unrecognized request argument supplied: foo"},
		{"strict", "/v1/responses", "gpt-4o", "foo", "Unknown parameter: 'foo'."},
		{"", "/v1/responses", "gpt-4o", "foo", "Unknown parameter: 'foo'."},
		{"", "/v1/messages", "claude-sonnet-4-6", "foo", "foo: Extra inputs are not permitted"},
		{"anthropic", "/v1/messages", "claude-sonnet-4-6", "foo", "foo: Extra inputs are not permitted"},
		{"", "/v1/models/gemini-3-pro:generateContent", "", "foo", "Unknown name \\\"foo\\\" at 'generation_config': Cannot find field."},
		{"", "/v1/models/gemini-3-pro:generateContent", "", "topK", ""},
		{"", "/v1/models/gemini-3-pro:generateContent", "", "top_k", ""},
		{"deepseek", "/v1/chat/completions", "m", "foo", ""},
		{"", "/v1/chat/completions", "gpt-5", "temperature", ""},
		{"", "/v1/chat/completions", "gpt-4o", "temperature", ""},
	} {
		m := scripted(t, mockllm.Script{Profile: tc.profile, Replies: []mockllm.Reply{{Say: "hello"}}}, nil)
		r := httptest.NewRequest(http.MethodPost, tc.path, strings.NewReader(strings.NewReplacer("MODEL", tc.model, "KEY", tc.key).Replace(bodies[tc.path])))
		r.Header.Set("X-Api-Key", "k")
		r.Header.Set("Anthropic-Version", "2023-06-01")
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		if tc.want == "" && w.Code != http.StatusOK || tc.want != "" && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tc.want)) {
			t.Errorf("%+v: %d %s", tc, w.Code, w.Body)
		}
		m.Close()
	}
	for path, want := range map[string]string{
		"/v1/chat/completions": "'temperature' does not support 0.2 with this model",
		"/v1/responses":        "Unsupported parameter: 'temperature' is not supported with this model.",
	} {
		for model, refused := range map[string]bool{"gpt-5": true, "gpt-5-mini-2025-08-07": true, "o3": true, "gpt-5.1": false, "gpt-5-chat-latest": false, "gpt-4o": false} {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "hello"}}}, nil)
			w := send(m, path, strings.NewReplacer("MODEL", model, `"KEY":1`, `"temperature":0.2`).Replace(bodies[path]))
			if refused != (w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), want)) {
				t.Errorf("%s %s: %d %s", path, model, w.Code, w.Body)
			}
			m.Close()
		}
	}
}

// TestEmbedContent: Gemini's vectors follow from their texts, one at a time and
// in a batch, and are outside of the conversation.
func TestEmbedContent(t *testing.T) {
	type vector struct{ Values []float64 }
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "hello"}}}, nil)
	defer m.Close()
	content := func(text string) string { return `"content":{"parts":[{"text":"` + text + `"}]}` }
	one := func(model, text, more string) []float64 {
		t.Helper()
		w := send(m, "/v1beta/models/"+model+":embedContent", `{`+content(text)+more+`}`)
		var got struct{ Embedding vector }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return got.Embedding.Values
	}
	a := one("gemini-embedding-001", "a red fox", "")
	if len(a) != 3072 || len(one("gemini-embedding-001", "x", `,"outputDimensionality":16,"taskType":"RETRIEVAL_QUERY","title":"t"`)) != 16 || len(one("text-embedding-004", "x", "")) != 768 {
		t.Errorf("%d numbers", len(a))
	}
	w := send(m, "/v1/models/gemini-embedding-001:batchEmbedContents", `{"requests":[{"model":"models/gemini-embedding-001",`+content("a red fox")+`},{"model":"models/gemini-embedding-001","output_dimensionality":8,`+content("x")+`}]}`)
	var batch struct{ Embeddings []vector }
	if err := json.Unmarshal(w.Body.Bytes(), &batch); err != nil || w.Code != http.StatusOK || len(batch.Embeddings) != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if !slices.Equal(batch.Embeddings[0].Values, a) || len(batch.Embeddings[1].Values) != 8 {
		t.Error("a batch has other vectors")
	}
	for body, want := range map[string]string{
		`{`:                                  "Invalid JSON payload",
		`{}`:                                 "contents is not specified",
		`{"content":{"parts":[]}}`:           "must not be empty",
		`{"content":{"parts":[{"text":1}]}}`: "text",
		`{` + content("x") + `,"foo":1}`:     `Unknown name \"foo\"`,
		`{` + content("x") + `,"outputDimensionality":4000}`: "must be in the range [1, 3072]",
	} {
		if w := send(m, "/v1beta/models/gemini-embedding-001:embedContent", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	for body, want := range map[string]string{
		`{"requests":[]}`: "must not be empty",
		`{"requests":[{"model":"models/other",` + content("x") + `}]}`: "must be that of the path",
	} {
		if w := send(m, "/v1beta/models/gemini-embedding-001:batchEmbedContents", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if j := m.Journal(); !j[0].Kind.Outside() || j[0].Request.Messages[0].Text != "a red fox" {
		t.Errorf("journal %+v", j[0])
	}
}

// TestThinkers: what models that think do not take, and others do.
func TestThinkers(t *testing.T) {
	models := []string{"gpt-5", "o1", "o3-mini", "gpt-5.1", "gpt-4o", "gpt-3.5-turbo", "some-model"}
	for setting, refused := range map[string]string{
		`"stop":["a"]`: "gpt-5 o1 o3-mini",
		`"parallel_tool_calls":true,"tools":[{"type":"function","function":{"name":"f"}}]`: "o1 o3-mini",
		`"reasoning_effort":"low"`: "gpt-4o gpt-3.5-turbo",
	} {
		var got []string
		for _, model := range models {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "hello"}}}, nil)
			if w := send(m, "/v1/chat/completions", `{"model":"`+model+`",`+setting+`,"messages":[{"role":"user","content":"hi"}]}`); w.Code == http.StatusBadRequest {
				got = append(got, model)
			}
			m.Close()
		}
		if s := strings.Join(got, " "); s != refused {
			t.Errorf("%s is refused for %s, want %s", setting, s, refused)
		}
	}
}
