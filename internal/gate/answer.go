// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gate

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
)

// refuse answers a stranger as an OpenAI endpoint would, since clients print
// that.
func refuse(w http.ResponseWriter, why string) {
	type body struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	}
	text, _ := json.Marshal(map[string]body{"error": {why, "rehearse_forbidden"}}) // two strings can always be
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs none
}

// Bearer reports whether a request carries a token. An empty token is none,
// and everybody has it.
func Bearer(req *http.Request, token string) bool {
	return token == "" || subtle.ConstantTimeCompare([]byte(Token(req)), []byte(token)) == 1
}

// Token returns the bearer token of a request, or "". RFC 7235 has the scheme
// in any case, and one or more blanks behind it.
func Token(req *http.Request) string {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
