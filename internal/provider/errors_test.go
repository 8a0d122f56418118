// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestErrors has errors in the words of the vendors.
func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		dialect *dialect.Dialect
		status  int
		body    string
		kind    model.ErrorKind
		wait    time.Duration
		again   bool
	}{
		{"Anthropic, overloaded", messages.Dialect, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, model.KindServer, 0, true},
		{"Anthropic, overloaded in a stream", messages.Dialect, 200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.KindServer, 0, true},
		{"Anthropic, key", messages.Dialect, 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, model.KindAuth, 0, false},
		{"Anthropic, no money", messages.Dialect, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, model.KindQuota, 0, false},
		{"Anthropic, filter", messages.Dialect, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, model.KindContentFilter, 0, false},
		{"Anthropic, too long", messages.Dialect, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215000 tokens > 200000 maximum"}}`, model.KindContextOverflow, 0, false},
		{"Google, limit", gemini.Dialect, 429, `{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"20.5s"}]}}`, model.KindRateLimit, 20500 * time.Millisecond, true},
		{"Google, key", gemini.Dialect, 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, model.KindAuth, 0, false},
		{"Google, wrong", gemini.Dialect, 400, `{"error":{"code":400,"message":"Invalid value","status":"INVALID_ARGUMENT"}}`, model.KindBadRequest, 0, false},
		{"Google, busy, in a list", gemini.Dialect, 503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, model.KindServer, 0, true},
		{"Google, a call that is none", gemini.Dialect, 200, `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, model.KindServer, 0, true},
		{"Google, a mock's miss", gemini.Dialect, 422, `{"error":{"code":422,"message":"nothing fits","status":"REHEARSE_MISS"}}`, model.KindMiss, 0, false},
		{"OpenAI, a failed response", responses.Dialect, 200, `{"object":"response","status":"failed","error":{"code":"server_error","message":"broke"},"output":[]}`, model.KindServer, 0, true},
		{"OpenAI, a failed response for its limit", responses.Dialect, 200, `{"object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"},"output":[]}`, model.KindRateLimit, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := Endpoint{
				Dialect: tc.dialect, BaseURL: "http://127.0.0.1:1", Retry: retry.Policy{MaxAttempts: 1},
				Write: func(*model.Request) (*Outgoing, error) { return &Outgoing{}, nil },
				Transport: roundTrip(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: tc.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(tc.body)), ContentLength: -1}, nil
				}),
			}
			var got *model.Error
			for event, err := range e.Generate(t.Context(), &model.Request{}) {
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
