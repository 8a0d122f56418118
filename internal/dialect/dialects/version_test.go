// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"net/url"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

// TestWithoutVersion: of an address and a path, one has the version.
func TestWithoutVersion(t *testing.T) {
	for _, tt := range []struct{ address, path, want string }{
		{"https://h", "/v1/messages", "https://h/v1/messages"},
		{"https://h/v1", "/v1/messages", "https://h/v1/messages"},
		{"https://h/v1/", "/v1beta/models/m:generateContent", "https://h/v1beta/models/m:generateContent"},
		{"https://h/v1beta", "/v1beta/models/m:generateContent", "https://h/v1beta/models/m:generateContent"},
		{"https://h/api/v1", "/v1/messages", "https://h/api/v1/messages"},
		{"https://h/api", "/v1/messages", "https://h/api/v1/messages"},
		{"https://h/v1", "/chat/completions", "https://h/v1/chat/completions"},
		{"https://h/v1beta/openai", "/chat/completions", "https://h/v1beta/openai/chat/completions"},
	} {
		u, err := url.Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := dialects.WithoutVersion(u, tt.path).JoinPath(tt.path).String(); got != tt.want || u.String() != tt.address {
			t.Errorf("%s at %s: %s, want %s", tt.path, tt.address, got, tt.want)
		}
	}
}
