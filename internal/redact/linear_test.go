// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"strings"
	"testing"
)

// TestLinear: texts that begin what could be a secret again and again are not
// read to their end each time. Each would take minutes.
func TestLinear(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	for _, part := range []string{
		"my password is ", "it is so and ", "it was is so ", "Password: ", "curl -u ", "-u a -U b ", "machine password ", "sk-1-", "sk-", "EAAA-", "sk-\n", "a\n", "http:", "| sk-1\n", "Q~", "_mmk",
		"https://", "hooks.slack.com/", "\"token\":", "{\"token\":\"a1\"},", "AC", "pat.", "48656c6c", "key: ", "is ", "%41",
	} {
		text := strings.Repeat(part, 200_000/len(part))
		p := &pass{r: r, found: map[string]string{}}
		p.text([]byte(text), 0)
		(&pass{r: r, unknown: true}).auto(append(append([]byte("["), bytes.Repeat([]byte("{\"token\":\"a1b2c3d4\"},"), 3_000)...), '1', ']'), 0)
	}
}
