// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm"
)

func TestCompletionsEndpoint(t *testing.T) {
	type completion struct {
		ID, Object string
		Choices    []struct {
			Text         string
			Index        int
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			CompletionTokens int `json:"completion_tokens"`
		}
		Error *struct{ Type, Message, Param string }
	}
	long := strings.Repeat("word ", 20)
	for _, tc := range []struct {
		name, body string
		reply      mockllm.Reply
		status     int
		texts      []string
		finish     string
		tokens     int
		err        string
	}{
		{"text", `{"model":"davinci-002","prompt":"Say"}`, say("Sunny."), 200, []string{"Sunny."}, "stop", 3, ""},
		{"cut by default", `{"model":"m","prompt":"Say"}`, say(long), 200, []string{long[:len("word ")*16-1]}, "length", 16, ""},
		{"prompts and choices", `{"model":"m","prompt":["a","b"],"n":2,"echo":true}`, say("!"), 200, []string{"a!", "a!", "b!", "b!"}, "stop", 4, ""},
		{"chat model", `{"model":"gpt-4o","prompt":"Say"}`, say("Sunny."), 404, nil, "", 0, "This is a chat model"},
		{"calls", `{"model":"m","prompt":"Say"}`, weather(), 500, nil, "", 0, "a completion has no calls"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMock(t, tc.reply)
			status, raw := do(t, m, http.MethodPost, "/completions", tc.body)
			var c completion
			if err := json.Unmarshal([]byte(raw), &c); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if status != tc.status || tc.err != "" && (c.Error == nil || !strings.Contains(c.Error.Message, tc.err)) {
				t.Fatalf("got %d %s", status, raw)
			}
			var texts []string
			for i, choice := range c.Choices {
				texts = append(texts, choice.Text)
				if choice.Index != i || choice.FinishReason != tc.finish {
					t.Errorf("choice %d: %+v", i, choice)
				}
			}
			if d := cmp.Diff(tc.texts, texts); d != "" {
				t.Errorf("texts (-want +got):\n%s", d)
			}
			if c.Usage.CompletionTokens != tc.tokens {
				t.Errorf("%d tokens", c.Usage.CompletionTokens)
			}
		})
	}
}

// vectors asks for embeddings with a setting.
func vectors(t *testing.T, m *mockllm.Mock, input, setting string) [][]float64 {
	t.Helper()
	status, raw := do(t, m, http.MethodPost, "/embeddings", `{"model":"text-embedding-3-small","input":`+input+setting+`}`)
	var a struct {
		Object, Model string
		Data          []struct {
			Object    string
			Index     int
			Embedding json.RawMessage
		}
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
			TotalTokens  int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(raw), &a); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, raw, err)
	}
	if a.Object != "list" || a.Model != "text-embedding-3-small" || a.Usage.PromptTokens == 0 || a.Usage.TotalTokens != a.Usage.PromptTokens {
		t.Errorf("got %+v", a)
	}
	var out [][]float64
	for i, d := range a.Data {
		if d.Index != i || d.Object != "embedding" {
			t.Errorf("entry %d: %s %d", i, d.Object, d.Index)
		}
		out = append(out, decodeVector(t, d.Embedding))
	}
	return out
}

func decodeVector(t *testing.T, raw json.RawMessage) []float64 {
	t.Helper()
	var v []float64
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	packed, err := base64.StdEncoding.DecodeString(strings.Trim(string(raw), `"`))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(packed); i += 4 {
		v = append(v, float64(math.Float32frombits(binary.LittleEndian.Uint32(packed[i:]))))
	}
	return v
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestEmbeddings(t *testing.T) {
	m := newMock(t)
	all := vectors(t, m, `["The weather in Paris is sunny.","Is the weather sunny in Paris?","Quarterly revenue grew by a tenth."]`, "")
	for i, v := range all {
		if len(v) != 1536 || math.Abs(dot(v, v)-1) > 1e-5 {
			t.Errorf("vector %d has %d numbers and length %v", i, len(v), dot(v, v))
		}
	}
	if near, far := dot(all[0], all[1]), dot(all[0], all[2]); near < far+0.3 {
		t.Errorf("texts with the same words are at %v, others at %v", near, far)
	}
	again := vectors(t, newMock(t), `"The weather in Paris is sunny."`, `,"encoding_format":"base64"`)[0]
	float := vectors(t, newMock(t), `"The weather in Paris is sunny."`, `,"encoding_format":"float"`)[0]
	for i := range again {
		if float32(again[i]) != float32(float[i]) {
			t.Fatalf("number %d: %v as base64, %v as a number", i, again[i], float[i])
		}
	}
	if d := cmp.Diff(all[0], float); d != "" {
		t.Errorf("another mock has another vector:\n%s", d)
	}
	short := vectors(t, m, `"The weather in Paris is sunny."`, `,"dimensions":256`)[0]
	if len(short) != 256 || math.Abs(dot(short, short)-1) > 1e-5 || short[0]*all[0][0] < 0 {
		t.Errorf("the short vector has %d numbers and length %v", len(short), dot(short, short))
	}
	other := scripted(t, mockllm.Script{}, &mockllm.Options{Seed: 1})
	t.Cleanup(other.Close)
	if v := vectors(t, other, `"The weather in Paris is sunny."`, "")[0]; dot(v, all[0]) > 0.5 {
		t.Errorf("another seed is at %v", dot(v, all[0]))
	}
	wantJournal(t, m, "aside 200 0.0/0 delivered", "aside 200 0.0/0 delivered")
}

func TestEmbeddingsRefused(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		words      string
	}{
		{"chat model", `{"model":"gpt-4o","input":"a"}`, 403, "not allowed to generate embeddings"},
		{"too long", `{"model":"m","input":"` + strings.Repeat("word ", 8193) + `"}`, 400, "maximum context length is 8192 tokens, however you requested 8194 tokens (8194 in your prompt; 0 for the completion)"},
		{"no input", `{"model":"m"}`, 400, "'$.input' is invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMock(t)
			status, raw := do(t, m, http.MethodPost, "/embeddings", tc.body)
			if status != tc.status || !strings.Contains(raw, tc.words) {
				t.Errorf("got %d %s", status, raw)
			}
			if m.Err() == nil {
				t.Error("the mock says nothing")
			}
		})
	}
}
