// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// TestGatewayFaults: nothing stands before the gateway that could hide a fault
// of its providers, and it wraps their errors.
func TestGatewayFaults(t *testing.T) {
	for _, tt := range []struct {
		name, path, model string
		fault             fault.Kind
		status            int
		want              string // in the answer
	}{
		{"GPT", "/argoapi/v1/chat/completions", "gpt4o", fault.BadRequest, 400, `{"error":{"message":"Error code: 400 - {'error': {'message': 'Invalid request.', 'type': 'invalid_request_error', 'param': None, 'code': None}}","type":"BadRequestError","code":"internal_error"}}`},
		{"Claude", "/argoapi/v1/messages", "claudeopus45", fault.BadRequest, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Error code: 400 - {'type': 'error', `},
		{"old interface", "/argoapi/api/v1/resource/chat/", "gpt4o", fault.ServerError, 500, `"type":"InternalServerError"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMock(t, Script{Profile: "argo-gateway", Replies: []Reply{{Say: "Sunny.", Faults: []Fault{{Kind: tt.fault}}}}}, nil)
			defer m.Close()
			req := object{"model": tt.model, "max_tokens": 9, "messages": []any{object{"role": "user", "content": "hi"}}}
			if status, _, text := askProfile(t, m, tt.path, req); status != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("status %d, %s; want %d and %s", status, text, tt.status, tt.want)
			}
			if status, _, text := askProfile(t, m, tt.path, req); status != http.StatusOK || !strings.Contains(text, "Sunny.") {
				t.Errorf("tried again: status %d, %s", status, text)
			}
		})
	}
}

// TestGatewayGeminiCall: argo-proxy 2.8.9 breaks on a call that is no list.
func TestGatewayGeminiCall(t *testing.T) {
	m := newMock(t, Script{Profile: "argo-gateway", Replies: []Reply{{Calls: []Call{{Tool: "a"}}}}}, nil)
	defer m.Close()
	_, _, text := askProfile(t, m, "/argoapi/api/v1/resource/chat/", object{
		"model": "gemini25flash", "messages": []any{object{"role": "user", "content": "hi"}},
		"tools": []any{object{"name": "a", "description": "A", "parameters": object{"type": "object"}}},
	})
	if want := `{"response":{"content":"","tool_calls":[{"id":null,"args":{},"name":"a"}]}}`; text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
