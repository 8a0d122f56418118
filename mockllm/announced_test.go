// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestHostileLength announces much and sends little, which is to cost little.
func TestHostileLength(t *testing.T) {
	m := scripted(t, mockllm.Script{}, nil)
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"} {
		t.Run(path, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"model":"`))
			req.Header.Set("Content-Type", "application/json")
			req.ContentLength = 30_000_000
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := httptest.NewRecorder()
			m.ServeHTTP(w, req)
			runtime.ReadMemStats(&after)
			if w.Code != http.StatusBadRequest {
				t.Errorf("status %d, want 400", w.Code)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
				t.Errorf("10 bytes of 30 MB announced took %d bytes of memory", n)
			}
		})
	}
}
