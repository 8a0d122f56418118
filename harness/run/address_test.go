// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

func TestUpstream(t *testing.T) {
	for _, tt := range []struct{ base, path, want string }{
		{"https://h/v1", "/v1/chat/completions", "https://h/v1/chat/completions"},
		{"https://h/api", "/v1/chat/completions", "https://h/api/chat/completions"},
		{"https://h/v1", "/chat/completions", "https://h/v1/chat/completions"},
		{"https://h/v1", "/v1/responses", "https://h/v1/responses"},
		{"https://h/v1", "/v1/messages", "https://h/v1/messages"},
		{"https://h/anthropic", "/v1/messages", "https://h/anthropic/v1/messages"},
		{"https://h/v1", "/v1/messages/count_tokens", "https://h/v1/messages/count_tokens"},
		{"https://h/v1beta", "/v1beta/models/m:generateContent", "https://h/v1beta/models/m:generateContent"},
		{"https://h/v1", "/v1beta/models/m:streamGenerateContent", "https://h/v1beta/models/m:streamGenerateContent"},
		{"https://h/v1beta", "/v1/models/m:generateContent", "https://h/v1/models/m:generateContent"},
		{"https://h/google", "/v1beta/models/m:generateContent", "https://h/google/v1beta/models/m:generateContent"},
		{"https://h/v1beta/openai", "/v1/chat/completions", "https://h/v1beta/openai/chat/completions"},
		{"https://h/v1", "/v1/models", "https://h/v1/models"},
	} {
		e := dialects.EndpointOf(tt.path)
		if got := upstream(tt.base, e) + e.Rest; got != tt.want {
			t.Errorf("%s at %s goes to %s, want %s", tt.path, tt.base, got, tt.want)
		}
	}
}

// TestKeys holds that the real key is where the dialect wants it, and what the
// client sent nowhere.
func TestKeys(t *testing.T) {
	bearer, anthropic, google := http.Header{"Authorization": {"Bearer real"}}, http.Header{"X-Api-Key": {"real"}}, http.Header{"X-Goog-Api-Key": {"real"}}
	for _, tt := range []struct {
		name, path, query string
		sent              http.Header
		want              http.Header
		wantQuery         string
	}{
		{"chat", "/v1/chat/completions", "", http.Header{"Authorization": {"Bearer rehearse"}}, bearer, ""},
		{"chat, a key of its own", "/v1/chat/completions", "", http.Header{"Authorization": {"Bearer other"}}, bearer, ""},
		{"chat, keys of others", "/v1/chat/completions", "", http.Header{"X-Api-Key": {"other"}, "X-Goog-Api-Key": {"other"}, "Api-Key": {"other"}}, bearer, ""},
		{"chat, no key", "/v1/chat/completions", "a=b", http.Header{}, bearer, "a=b"},
		{"chat, Azure's header", "/v1/chat/completions", "", http.Header{"Api-Key": {"rehearse"}}, bearer, ""},
		{"responses", "/v1/responses", "", http.Header{"Authorization": {"Bearer rehearse"}, "X-Api-Key": {"rehearse"}}, bearer, ""},
		{"messages", "/v1/messages", "beta=true", http.Header{"X-Api-Key": {"rehearse"}}, anthropic, "beta=true"},
		{"messages, no key", "/v1/messages", "", http.Header{}, anthropic, ""},
		{"messages, bearer", "/v1/messages", "", http.Header{"Authorization": {"Bearer rehearse"}}, bearer, ""},
		{"Gemini", "/v1beta/models/m:generateContent", "", http.Header{"X-Goog-Api-Key": {"rehearse"}}, google, ""},
		{"Gemini, no key", "/v1beta/models/m:generateContent", "", http.Header{}, google, ""},
		{"Gemini, by query", "/v1beta/models/m:streamGenerateContent", "key=rehearse&alt=sse", http.Header{}, http.Header{}, "alt=sse&key=real"},
		{"Gemini, both", "/v1beta/models/m:generateContent", "key=rehearse", http.Header{"X-Goog-Api-Key": {"rehearse"}}, google, ""},
		{"Gemini, bearer", "/v1beta/models/m:generateContent", "", http.Header{"Authorization": {"Bearer rehearse"}}, bearer, ""},
		{"models", "/v1/models", "", http.Header{"Authorization": {"Bearer rehearse"}}, bearer, ""},
		{"models of Anthropic", "/v1/models", "", http.Header{"X-Api-Key": {"rehearse"}}, anthropic, ""},
		{"models of Google", "/v1beta/models", "key=rehearse", http.Header{}, http.Header{}, "key=real"},
		{"elsewhere, as a token", "/v1/chat/completions", "", http.Header{"X-Proxy-Key": {"Bearer rehearse"}}, bearer, ""},
		{"elsewhere", "/v1/chat/completions", "", http.Header{"X-Proxy-Key": {"rehearse"}, "X-Team": {"a"}}, http.Header{"Authorization": {"Bearer real"}, "X-Team": {"a"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header, query, places := withoutKeys(tt.sent, tt.query)
			query = setKey(header, query, dialects.EndpointOf(tt.path).Dialect, "real", places)
			if d := cmp.Diff(tt.want, header); d != "" || query != tt.wantQuery {
				t.Errorf("query %q, want %q; headers (-want +got):\n%s", query, tt.wantQuery, d)
			}
			header, query, places = withoutKeys(tt.sent, tt.query)
			if got := setKey(header, query, dialects.EndpointOf(tt.path).Dialect, "", places); got != query {
				t.Errorf("query %q without a key, want %q", got, query)
			}
			for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "X-Proxy-Key"} {
				if header.Get(name) != "" {
					t.Errorf("%s is left: %q", name, header)
				}
			}
		})
	}
}

// TestVendorOf: anything that is not a call of a model belongs to a vendor too.
func TestVendorOf(t *testing.T) {
	for _, tt := range []struct{ path, place, want string }{
		{"/v1/messages/count_tokens", bearerHeader, anthropicHeader},
		{"/v1beta/models/m:countTokens", bearerHeader, googleHeader},
		{"/v1/models", bearerHeader, bearerHeader},
		{"/v1/models", anthropicHeader, anthropicHeader},
		{"/v1/models", googleParam, googleHeader},
		{"/v1/conversations", bearerHeader, bearerHeader},
		{"/v1/completions", anthropicHeader, bearerHeader},
	} {
		if got := vendorOf(dialects.EndpointOf(tt.path), map[string]bool{tt.place: true}); got != tt.want {
			t.Errorf("%s with the key in %s is of %s, want %s", tt.path, tt.place, got, tt.want)
		}
	}
}

// TestMemory holds that the journal tells the conversation that a response
// goes on with.
func TestMemory(t *testing.T) {
	m := &liveModel{clock: harness.SystemClock(), turn: 1}
	ask := func(body string) *asked {
		r, err := http.NewRequest(http.MethodPost, "http://h/v1/responses", nil)
		if err != nil {
			t.Fatal(err)
		}
		return m.begin(r, dialects.EndpointOf("/v1/responses"), []byte(body))
	}
	x := ask(`{"model":"m","input":"hi","instructions":"Be brief."}`)
	body := `{"id":"resp_1","object":"response","status":"completed","output":[{"id":"fc_1","type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`
	x.Status = http.StatusOK
	keepReply(&m.held, x.request, readAnswer(&x.Exchange, dialect.ReadAll, nil, []byte(body), nil))
	for _, body := range []string{
		`{"model":"m","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"a","output":"1"}]}`,
		`{"model":"m","input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"fc_1"},{"type":"function_call_output","call_id":"a","output":"1"}]}`,
	} {
		got := ask(body).Request.Messages
		if len(got) != 3 || got[0].Text != "hi" || len(got[1].Calls) != 1 || got[1].Calls[0].Name != "f" || got[2].CallID != "a" {
			t.Errorf("%s amounts to %+v", body, got)
		}
	}
}
