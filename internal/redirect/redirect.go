// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package redirect decides which HTTP redirects are followed. What is meant for one
// server, a message or the keys in its headers, goes to no other; net/http takes care of
// Authorization and Cookie alone, and lets them go to another port.
package redirect

import (
	"net/http"
	"net/url"
	"strings"
)

// None is a CheckRedirect that follows none: the redirect is the answer.
func None(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Same reports whether two addresses are of the same server: scheme, host and port.
func Same(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// Secured reports whether one address is the other over HTTPS, both on their usual ports.
func Secured(from, to *url.URL) bool {
	return from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(from.Hostname(), to.Hostname()) && port(from) == "80" && port(to) == "443"
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
