// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/key"
)

func TestChat(t *testing.T) {
	tests := []struct {
		name, url, body string
		ignore          []string
		want            key.Chat
		none            bool
	}{
		{
			name: "OpenAI", url: "/v1/chat/completions",
			body: `{"model":"m","messages":[{"role":"system","content":"A"},{"role":"developer","content":[{"type":"text","text":"B"}]},{"role":"user","content":"Hi"},{"role":"system","content":"later"}]}`,
			want: key.Chat{Model: "m", System: "A\nB"},
		},
		{
			name: "no prompt", url: "/v1/chat/completions",
			body: `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`,
			want: key.Chat{Model: "m"},
		},
		{
			name: "Anthropic", url: "/v1/messages",
			body: `{"model":"m","system":[{"type":"text","text":"A","cache_control":{"type":"ephemeral"}},{"type":"text","text":"B"}],"messages":[{"role":"user","content":"Hi"}]}`,
			want: key.Chat{Model: "m", System: "A\nB"},
		},
		{
			name: "Responses", url: "/v1/responses",
			body: `{"model":"m","instructions":"A","input":[{"role":"developer","content":"B"},{"role":"user","content":"Hi"}]}`,
			want: key.Chat{Model: "m", System: "A\nB"},
		},
		{
			name: "Responses with a text", url: "/v1/responses", body: `{"model":"m","input":"Hi"}`,
			want: key.Chat{Model: "m"},
		},
		{
			name: "Gemini", url: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
			body: `{"system_instruction":{"parts":[{"text":"A"},{"text":"B"}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`,
			want: key.Chat{Model: "gemini-2.5-pro", System: "A\nB"},
		},
		{
			name: "Argo Gateway", url: "/api/v1/resource/chat/", body: `{"model":"gpt4o","system":"A","prompt":["Hi"]}`,
			want: key.Chat{Model: "gpt4o", System: "A"},
		},
		{
			name: "what is left out does not count", url: "/v1/messages", ignore: []string{"system.0"},
			body: `{"model":"m","system":[{"type":"text","text":"today is Monday"},{"type":"text","text":"B"}],"messages":[]}`,
			want: key.Chat{Model: "m", System: "B"},
		},
		{name: "embeddings", url: "/v1/embeddings", body: `{"model":"m","input":["a"]}`, none: true},
		{name: "images", url: "/v1/images/generations", body: `{"model":"m","prompt":"a cat"}`, none: true},
		{name: "no body", url: "/v1/models", none: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k := key.Of("POST", "http://127.0.0.1:1"+test.url, http.Header{}, []byte(test.body), &key.Rules{Also: test.ignore})
			got, ok := k.Chat()
			if ok == test.none {
				t.Fatalf("is a request to a model: %v", ok)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolsOfGemini(t *testing.T) {
	body := func(names string) *key.Key {
		return key.Of("POST", "/v1beta/models/m:generateContent", nil, []byte(`{"contents":[],"tools":[{"functionDeclarations":[`+names+`]}]}`), nil)
	}
	a, b := body(`{"name":"a"},{"name":"b"}`), body(`{"name":"b"},{"name":"a"}`)
	if a.ID != b.ID {
		t.Errorf("the order of tools decides: %v", key.Diff(a, b))
	}
	if got, want := key.Reordered(a, b), "the tools come in another order: recorded a, b, now b, a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
