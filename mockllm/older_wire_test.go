// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestWireOpenAI compares the raw bytes of OpenAI's other endpoints.
func TestWireOpenAI(t *testing.T) {
	h, err := mockllm.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	thoughtful := weather()
	thoughtful.Reasoning = "A call."
	calls := []mockllm.Reply{thoughtful}
	text := []mockllm.Reply{say("Sunny in \"Zürich\" 🌞.")}
	for _, tc := range []struct {
		name, method, path, body string
		replies                  []mockllm.Reply
	}{
		{"responses", "POST", "/responses", `{"model":"gpt-4o","input":"Weather?","instructions":"Be short."}`, text},
		{"responses_stream", "POST", "/responses", `{"model":"gpt-4o","input":"Weather?","stream":true}`, text},
		{"responses_calls", "POST", "/responses", `{"model":"gpt-4o","input":"Weather?","reasoning":{"summary":"auto"},` + responsesTools + `}`, calls},
		{"responses_calls_stream", "POST", "/responses", `{"model":"gpt-4o","input":"Weather?","stream":true,"store":false,` + responsesTools + `}`, calls},
		{"responses_refusal", "POST", "/responses", `{"model":"gpt-4o","messages":[]}`, text},
		{"responses_miss", "POST", "/responses", `{"model":"gpt-4o","input":"Weather?"}`, nil},
		{"responses_get", "GET", "/responses", ``, nil},
		{"completions", "POST", "/completions", `{"model":"davinci-002","prompt":"Weather?"}`, text},
		{"completions_stream", "POST", "/completions", `{"model":"davinci-002","prompt":"Weather?","stream":true,"stream_options":{"include_usage":true}}`, text},
		{"embeddings", "POST", "/embeddings", `{"model":"text-embedding-3-small","input":["Weather?","Sunny."],"dimensions":4}`, nil},
		{"embeddings_base64", "POST", "/embeddings", `{"model":"text-embedding-3-small","input":"Weather?","dimensions":4,"encoding_format":"base64"}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMock(t, tc.replies...)
			base, unmount := h.Mount(m)
			defer unmount()
			got := exchange(t, h.Addr(), tc.method, strings.TrimPrefix(base, "http://"+h.Addr())+tc.path, tc.body)
			golden(t, filepath.Join("testdata", "openai_"+tc.name+".http"), got)
		})
	}
}
