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

// TestServerSecrets: what a server is handed in secret is known by the names under
// which it is handed.
func TestServerSecrets(t *testing.T) {
	got := ServerSecrets(
		map[string]string{"X-Api-Key": "header-key-1"},
		[]string{"WX_PASS=env-pass-2", "GITHUB_PAT=env-pat-3", "PROXY_AUTH=env-auth-4", "PATH=/usr/bin", "COMPASS=north", "PWD=/srv", "AUTHOR=Ada Lovelace", "SSH_KEY_FILE=/srv/key-7", "LLM_KEY=unused", "OLD_TOKEN=<redacted>", "DB_PASSWORD=correcthorse", "PIN_TOKEN=a1b"},
		[]string{"node", "server.mjs", "--api-key", "arg-key-5", "--token=arg-token-6", "--verbose", "--path", "/srv", "--auth", "--port", "--max-tokens", "128000", "--token-file", "/srv/t0ken", "--api-key-env", "MY_API_KEY_2", "WX_TOKEN=var-token-8", "wx_token=var-token-9", "--verbose-auth"},
	)
	slices.Sort(got)
	want := []string{"arg-key-5", "arg-token-6", "correcthorse", "env-auth-4", "env-pass-2", "env-pat-3", "header-key-1", "var-token-8"}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
