// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// folds puts sep between every n bytes.
func folds(s, sep string, n int) string {
	var parts []string
	for len(s) > n {
		parts, s = append(parts, s[:n]), s[n:]
	}
	return strings.Join(append(parts, s), sep)
}

// TestSpread: a secret without a known shape is found in hex and base64 whose bytes are
// set apart, as programs print them, also in strings of JSON.
func TestSpread(t *testing.T) {
	const secret = "tok-Zq7Xv2Lm9Rt4Kp1Ws8Yb3Nd6Hf5Gj0Cc7Vv4Bb1Mm8Nn5Qq2Ww9Ee6Rr3Tt0Yy7Uu4Ii1Oo8Pp5Aa2Ss9Dd6Ff3Gg0"
	r := newRedactor(t, &Rules{Literals: []string{secret}, Users: []string{}, Places: []Place{}})
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	for pad := range 3 {
		text := "abc"[:pad] + secret + "\n"
		b64, h := base64.StdEncoding.EncodeToString([]byte(text)), hex.EncodeToString([]byte(text))
		for name, said := range map[string]string{
			"base64":           folds(b64, "\n", 76),
			"base64 of mail":   folds(b64, "\r\n", 64),
			"base64, indented": "  " + folds(b64, "\n\t  ", 20),
			"base64 in JSON":   quoted(folds(b64, "\n", 76)),
			"JSON in JSON":     quoted(quoted(folds(b64, "\r\n", 76))),
			"od -An -tx1":      " " + folds(folds(h, " ", 2), "\n ", 48),
			"a fingerprint":    strings.ToUpper(folds(h, ":", 2)),
			"words of 16 bits": folds(h, " ", 4),
		} {
			said = "it is " + said + " as\nI said: see above"
			for how, got := range map[string]string{
				"people": r.Spread(said),
				"text":   string(r.Interaction(answer("text/plain", said)).Response.Body),
				"JSON":   string(r.Interaction(post(`{"a":` + quoted(said) + `}`)).Request.Body),
			} {
				if dense := dense(got); strings.Contains(dense, b64[8:40]) || strings.Contains(strings.ToLower(dense), h[8:40]) {
					t.Errorf("%s after %d bytes, for %s:\n%s", name, pad, how, got)
				}
				if !strings.Contains(got, "it is ") || !strings.Contains(got, "see above") {
					t.Errorf("%s after %d bytes, for %s: more is gone:\n%s", name, pad, how, got)
				}
			}
		}
	}
	for _, plain := range []string{"", "no secret", "a b:c\n\\n\\", fmt.Sprintf("%x", "another text that is long enough\n"), secret} {
		if got := r.Spread(plain); got != plain {
			t.Errorf("%q becomes %q", plain, got)
		}
	}
}

func dense(s string) string {
	var b strings.Builder
	for i := range solid([]byte(s)) {
		b.WriteByte(s[i])
	}
	return b.String()
}
