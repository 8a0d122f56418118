// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"net/http"
	"slices"
	"testing"
)

// TestHeaderSecrets tells values of headers that are secrets from plain ones.
func TestHeaderSecrets(t *testing.T) {
	got := HeaderSecrets(http.Header{
		"X-Corp": {"Zq7-Xv2"}, "Authorization": {"Bearer abcdefgh"}, "Accept": {"application/json"}, "Content-Type": {"text/plain"},
		"X-Mode": {"verbose"}, "X-Version": {"2026-07-28"}, "X-Id": {"a b"}, "X-Long": {"correcthorsebattery"},
	})
	if want := []string{"Zq7-Xv2", "abcdefgh", "correcthorsebattery"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
