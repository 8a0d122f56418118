// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// TestErrorKinds has errors in the words of the vendors.
func TestErrorKinds(t *testing.T) {
	for _, tc := range []struct {
		name    string
		dialect *dialect.Dialect
		status  int
		body    string
		kind    ErrorKind
		wait    time.Duration
		again   bool
	}{
		{"Anthropic, overloaded", messages.Dialect, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, KindServer, 0, true},
		{"Anthropic, overloaded in a stream", messages.Dialect, 200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", KindServer, 0, true},
		{"Anthropic, key", messages.Dialect, 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, KindAuth, 0, false},
		{"Anthropic, no money", messages.Dialect, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, KindQuota, 0, false},
		{"Anthropic, filter", messages.Dialect, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, KindContentFilter, 0, false},
		{"Anthropic, too long", messages.Dialect, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215000 tokens > 200000 maximum"}}`, KindContextOverflow, 0, false},
		{"Google, limit", gemini.Dialect, 429, `{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"20.5s"}]}}`, KindRateLimit, 20500 * time.Millisecond, true},
		{"Google, key", gemini.Dialect, 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, KindAuth, 0, false},
		{"Google, wrong", gemini.Dialect, 400, `{"error":{"code":400,"message":"Invalid value","status":"INVALID_ARGUMENT"}}`, KindBadRequest, 0, false},
		{"Google, busy, in a list", gemini.Dialect, 503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, KindServer, 0, true},
		{"Google, a call that is none", gemini.Dialect, 200, `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, KindServer, 0, true},
		{"Google, a mock's miss", gemini.Dialect, 422, `{"error":{"code":422,"message":"nothing fits","status":"REHEARSE_MISS"}}`, KindMiss, 0, false},
		{"OpenAI, a failed response", responses.Dialect, 200, `{"object":"response","status":"failed","error":{"code":"server_error","message":"broke"},"output":[]}`, KindServer, 0, true},
		{"OpenAI, a failed response for its limit", responses.Dialect, 200, `{"object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"},"output":[]}`, KindRateLimit, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClient(Config{
				BaseURL: "http://127.0.0.1:1", Retry: retry.Policy{MaxAttempts: 1},
				Transport: roundTrip(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: tc.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(tc.body)), ContentLength: -1}, nil
				}),
			}, tc.dialect)
			c.endpoint.write = func(*Request) (*outgoing, error) { return &outgoing{}, nil }
			var got *Error
			for event, err := range c.Generate(t.Context(), &Request{}) {
				if !errors.As(err, &got) {
					t.Errorf("%+v, %v", event, err)
				}
			}
			if got == nil || got.Kind != tc.kind || got.RetryAfter != tc.wait || got.Repeatable != tc.again {
				t.Errorf("error %+v, want kind %s, wait %v, repeatable %v", got, tc.kind, tc.wait, tc.again)
			}
		})
	}
}

// TestKeysThatNoHeaderCarries: such a key fails at once, is not repeated in the
// message, and nothing is sent.
func TestKeysThatNoHeaderCarries(t *testing.T) {
	const why = " has a line break or another control character, which no HTTP header can carry"
	for name, make := range map[string]func(Config) *Client{"openai": NewOpenAI, "responses": NewResponses, "anthropic": NewAnthropic, "gemini": NewGemini} {
		for _, tc := range []struct {
			name, want string
			cfg        Config
		}{
			{"the key", "invalid: the API key" + why, Config{APIKey: "sek\n ret"}},
			{"a line end after the key", "invalid: the API key" + why, Config{APIKey: "sekret\n"}},
			{"a header", `invalid: the header "X-Team"` + why, Config{APIKey: "key\twith a tab", Header: http.Header{"x-team": {"a", "sek\x00ret"}}}},
		} {
			t.Run(name+", "+tc.name, func(t *testing.T) {
				tc.cfg.BaseURL = "http://127.0.0.1:1"
				tc.cfg.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
					t.Error("a request was sent")
					return nil, io.EOF
				})
				events := 0
				var last error
				for _, err := range make(tc.cfg).Generate(t.Context(), &Request{Model: "m"}) {
					events, last = events+1, err
				}
				if events != 1 || last == nil || last.Error() != tc.want {
					t.Errorf("%d events, error %v; want 1, %s", events, last, tc.want)
				}
			})
		}
	}
}
