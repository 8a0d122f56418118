// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestNoRoute has what somebody meets who is on the way to an endpoint.
func TestNoRoute(t *testing.T) {
	for _, tc := range []struct {
		name, profile, method, path string
		status                      int
		kind                        string // Content-Type
		retry                       string // X-Should-Retry
		want                        string
		not                         string
	}{
		{"a method by GET", "", "GET", "/v1beta/models/gemini-3-pro:generateContent", 404, "application/json; charset=UTF-8", "", `"status": "NOT_FOUND"`, ""},
		{"a method by GET of v1", "", "GET", "/v1/models/gemini-3-pro:streamGenerateContent", 404, "application/json; charset=UTF-8", "", "takes a POST", ""},
		{"a method by GET in its profile", "gemini", "GET", "/v1beta/models/gemini-3-pro:countTokens", 404, "application/json; charset=UTF-8", "", `"code": 404`, ""},
		{"a model with a colon", "", "GET", "/v1/models/ft:gpt-4o:us", 200, "application/json", "", `"id":"ft:gpt-4o:us"`, ""},
		{"no such path of Gemini", "gemini", "GET", "/v2", 404, "application/json; charset=UTF-8", "", `"status": "NOT_FOUND"`, ""},
		{"endpoint of another profile", "anthropic", "POST", "/v1/chat/completions", 422, "application/json", "false", "POST /v1/chat/completions: the profile anthropic has no such endpoint, others have, such as openai", "expected next"},
		{"endpoint of another profile, deepseek", "deepseek", "POST", "/v1/messages", 422, "application/json", "false", "the profile deepseek has no such endpoint, others have, such as openai", "expected next"},
		{"no such path of Gemini, strict", "strict", "GET", "/v1beta/model", 404, "application/json; charset=UTF-8", "", `"status": "NOT_FOUND"`, ""},
		{"endpoint unknown", "", "POST", "/v1/audio/speech", 422, "application/json", "false", "a mock model has no such endpoint", "expected next"},
		{"endpoint misspelt", "", "POST", "/v1/chat/completion", 422, "application/json", "false", `did you mean \"/v1/chat/completions\"?`, "nothing: the script"},
		{"endpoint of another provider", "anthropic", "POST", "/v1/message", 422, "application/json", "false", `did you mean \"/v1/messages\"?`, "expected next"},
		{"method unknown", "", "POST", "/v1beta/models/m:predict", 422, "application/json; charset=UTF-8", "", `no method \"predict\"`, "expected next"},
		{"method misspelt", "", "POST", "/v1beta/models/m:generateContnt", 422, "application/json; charset=UTF-8", "", `did you mean \"generateContent\"?`, "expected next"},
		{"without v1", "", "POST", "/chat/completions", 404, "application/json", "false", "Invalid URL (POST /chat/completions): did you mean /v1/chat/completions?", ""},
		{"admin misspelt", "", "GET", "/rehearse/journl", 404, "application/json", "", "there is no GET /rehearse/journl; there are GET journal", "invalid_request_error"},
		{"admin alone", "anthropic", "GET", "/rehearse", 404, "application/json", "", "rehearse_admin", ""},
		{"admin by another method", "", "GET", "/rehearse/reset", 404, "application/json", "", "POST reset", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Profile: tc.profile}, nil)
			defer m.Close()
			w := httptest.NewRecorder()
			m.ServeHTTP(w, httptest.NewRequest(tc.method, tc.path, strings.NewReader(`{}`)))
			body, h := w.Body.String(), w.Header()
			if w.Code != tc.status || !strings.Contains(body, tc.want) || tc.not != "" && strings.Contains(body, tc.not) {
				t.Errorf("%d, want %d with %s and without %s:\n%s", w.Code, tc.status, tc.want, tc.not, body)
			}
			if h.Get("Content-Type") != tc.kind || h.Get("X-Should-Retry") != tc.retry {
				t.Errorf("headers %v, want Content-Type %q and X-Should-Retry %q", h, tc.kind, tc.retry)
			}
		})
	}
}

// TestUnmounted: a mock without a listener is reached by its transport alone,
// and a client without that fails without a look at the network.
func TestUnmounted(t *testing.T) {
	m := scripted(t, mockllm.Script{Models: []string{"m"}}, nil)
	defer m.Close()
	get := func(c *http.Client) error {
		res, err := c.Get(m.URL + "/models")
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	if err := get(&http.Client{Transport: m.Transport()}); err != nil {
		t.Error(err)
	}
	if err := get(&http.Client{Transport: &http.Transport{}}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:0") {
		t.Errorf("without the transport: %v", err)
	}
}

// TestDialectsInTurn: a request may follow one of another dialect.
func TestDialectsInTurn(t *testing.T) {
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("one"), say("two"), say("three")}}, nil)
	defer m.Close()
	for i, tc := range [][2]string{
		{"/v1/messages", `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"a"}]}`},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"b"}]}`},
		{"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"c"}]}]}`},
	} {
		want := []string{"one", "two", "three"}[i]
		if w := send(m, tc[0], tc[1]); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s answers %d with %s, want %q", tc[0], w.Code, w.Body, want)
		}
	}
}
