// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// metadataPath is where the metadata of a protected resource stands.
const metadataPath = "/.well-known/oauth-protected-resource"

// authorized reports whether a request has the token, and answers one that
// has not.
func (x *exchange) authorized() bool {
	auth := x.s.script.Protocol.Auth
	if auth == nil {
		return true
	}
	scheme, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(auth.Token)) == 1 {
		return true
	}
	challenge := fmt.Sprintf("Bearer resource_metadata=%q", origin(x.r)+metadataPath+x.r.URL.Path)
	if len(auth.Scopes) > 0 {
		challenge += fmt.Sprintf(", scope=%q", strings.Join(auth.Scopes, " "))
	}
	if scheme != "" {
		challenge += `, error="invalid_token", error_description="the token is not valid"`
	}
	x.w.Header().Set("WWW-Authenticate", challenge)
	x.plain(http.StatusUnauthorized, "Unauthorized")
	return false
}

// origin is where a request was sent to.
func origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// metadata answers with the metadata of the protected resource.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	auth := s.script.Protocol.Auth
	if auth == nil || mcpwire.Foreign(r, s.opts.Hosts, s.opts.Origins) != "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(mcpwire.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers,omitempty"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name,omitempty"`
	}{origin(r) + strings.TrimPrefix(r.URL.Path, metadataPath), auth.Servers, auth.Scopes, []string{"header"}, s.script.Name}))
}
