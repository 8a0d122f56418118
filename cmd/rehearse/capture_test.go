// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestWithEndpoint: a file may name the endpoint with its version and without.
func TestWithEndpoint(t *testing.T) {
	const file = "openai https://h/v1, anthropic https://h, other https://i/v1"
	for endpoint, want := range map[string]string{
		"https://h/v1/": "openai BASE, anthropic ROOT, other https://i/v1",
		"https://h":     "openai BASE/v1, anthropic BASE, other https://i/v1",
	} {
		c := &captured{endpoint: endpoint}
		if got := string(c.withEndpoint([]byte(file), "BASE", "ROOT")); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
}
