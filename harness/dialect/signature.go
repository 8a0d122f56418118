// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// signatureMark begins the signatures made here.
const signatureMark = "rehearse/1:"

// Signature is what a reply carries with a thought, or a call after one, and
// wants back unchanged. It is made from the text alone.
func Signature(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(append([]byte(signatureMark), sum[:]...))
}

// signed reports whether a signature may stand beside text. One that was not
// made here may: a conversation can have begun elsewhere.
func signed(text, signature string) bool {
	raw, ok := signatureBytes(signature)
	if !ok {
		return false
	}
	if !strings.HasPrefix(string(raw), signatureMark) {
		return true
	}
	return base64.StdEncoding.EncodeToString(raw) == Signature(text)
}

// signatureBytes decodes a signature, in either alphabet: some clients change
// it on the way.
func signatureBytes(s string) ([]byte, bool) {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	raw, err := base64.RawStdEncoding.DecodeString(s)
	return raw, err == nil && len(raw) > 0
}
