// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

func TestEndpoints(t *testing.T) {
	for _, tt := range []struct{ path, dialect, version, rest string }{
		{"/v1/chat/completions", "chat", "/v1", "/chat/completions"},
		{"/chat/completions", "chat", "", "/chat/completions"},
		{"/v1/completions", "completions", "/v1", "/completions"},
		{"/v1/responses", "responses", "/v1", "/responses"},
		{"/v1/responses/resp_1", "", "/v1", "/responses/resp_1"},
		{"/v1/messages", "messages", "/v1", "/messages"},
		{"/v1/messages/count_tokens", "", "/v1", "/messages/count_tokens"},
		{"/v1beta/models/m:generateContent", "gemini", "/v1beta", "/models/m:generateContent"},
		{"/v1beta/models/argo:gemini-2.5-pro:generateContent", "gemini", "/v1beta", "/models/argo:gemini-2.5-pro:generateContent"},
		{"/v1alpha/tunedModels/m:streamGenerateContent", "gemini", "/v1alpha", "/tunedModels/m:streamGenerateContent"},
		{"/v1beta/models/m:countTokens", "", "/v1beta", "/models/m:countTokens"},
		{"/v1/models", "", "/v1", "/models"},
		{"/v1", "", "", "/v1"},
	} {
		e := dialects.EndpointOf(tt.path)
		if e.Name() != tt.dialect || e.Version != tt.version || e.Rest != tt.rest {
			t.Errorf("%s is %+v, want %+v", tt.path, e, tt)
		}
	}
}

// TestSpoken holds the rows against each other: a client of a dialect asks a path
// at which it is spoken.
func TestSpoken(t *testing.T) {
	var got []string
	for _, d := range dialects.Spoken() {
		got = append(got, d.Name+" "+d.Provider)
		if at := dialects.EndpointOf(d.ClientPath); at.Dialect != d {
			t.Errorf("%s: clients ask %s, where %q is spoken", d.Name, d.ClientPath, at.Name())
		}
	}
	want := []string{"chat openai", "responses responses", "messages anthropic", "gemini gemini"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestEndpointDecodes has one request in each dialect.
func TestEndpointDecodes(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions":             `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		"/v1/completions":                  `{"model":"m","prompt":"hi"}`,
		"/v1/responses":                    `{"model":"m","input":"hi"}`,
		"/v1/messages":                     `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1beta/models/m:generateContent": `{"contents":[{"parts":[{"text":"hi"}]}]}`,
	} {
		r := dialects.EndpointOf(path).Read([]byte(body), nil, nil)
		if r == nil {
			t.Errorf("%s: no request", path)
			continue
		}
		c := r.AsChat()
		if c.Model() != "m" || c.Len() != 1 || c.At(0).Message().Text != "hi" {
			t.Errorf("%s: %+v", path, c)
		}
		if r := dialects.EndpointOf(path).Read([]byte("{"), nil, nil); r != nil {
			t.Errorf("%s: half an object is a request", path)
		}
	}
}

func TestHeaders(t *testing.T) {
	h := http.Header{
		"Authorization": {"Bearer x"}, "X-Api-Key": {"x"}, "X-Goog-Api-Key": {"x"}, "Cookie": {"x"}, "X-Amz-Security-Token": {"x"},
		"Content-Length": {"5"}, "Connection": {"close"}, "X-Team": {"a"}, "User-Agent": {"u"},
	}
	want := map[string]string{
		"authorization": "(secret)", "x-api-key": "(secret)", "x-goog-api-key": "(secret)", "cookie": "(secret)", "x-amz-security-token": "(secret)",
		"x-team": "a", "user-agent": "u",
	}
	got := dialect.Headers(h, nil)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("headers (-want +got):\n%s", d)
	}
	h.Set("Content-Length", "7")
	h.Set("Authorization", "Bearer y")
	again := dialect.Headers(h, got)
	again["kept"] = "once" // the same map
	if got["kept"] != "once" {
		t.Error("the same headers are kept twice")
	}
	delete(got, "kept")
	h.Set("X-Team", "c")
	if other := dialect.Headers(h, got); other["x-team"] != "c" || got["x-team"] != "a" {
		t.Errorf("other headers: %v, %v", other, got)
	}
	h["X-Team"] = []string{"a", "b"}
	if other := dialect.Headers(h, got); other["x-team"] != "a, b" {
		t.Errorf("a header with two values: %v", other)
	}
	h.Del("X-Team")
	if other := dialect.Headers(h, got); len(other) != len(want)-1 {
		t.Errorf("fewer headers: %v", other)
	}
}
