// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

// upstream returns what the address of a request at the real endpoint begins
// with; the rest of its path follows. Clients of Anthropic and Google are
// given an address without a version, and put one into the path themselves;
// clients of OpenAI are given the version with the address.
func upstream(base string, e dialects.Endpoint) string {
	for _, version := range dialects.Versions() {
		if root, ok := strings.CutSuffix(base, version); ok && e.Version != "" {
			if (e.Dialect == nil || e.Dialect.Place == nil) && e.Version == "/v1" {
				return base
			}
			return root + e.Version
		}
	}
	if e.Dialect != nil && e.Dialect.Versioned || e.Version != "/v1" {
		return base + e.Version
	}
	return base
}

// The headers in which clients send keys. That of Azure is api-key.
const (
	bearerHeader    = "Authorization"
	anthropicHeader = "X-Api-Key"
	googleHeader    = "X-Goog-Api-Key"
	azureHeader     = "Api-Key"
)

// googleParam is the parameter of the query in which clients of Google may
// send the key.
const googleParam = "key"

// withoutKeys returns the headers and the query of a request without the key
// that the subject was given, and says where it was. What is there in a
// header for keys is dropped whatever it is: it is no key of the endpoint's.
func withoutKeys(h http.Header, rawQuery string) (_ http.Header, _ string, places map[string]bool) {
	out, places := http.Header{}, map[string]bool{}
	for name, values := range h {
		switch {
		case hopByHop[name]:
		case name == bearerHeader, name == anthropicHeader, name == googleHeader, name == azureHeader,
			slices.ContainsFunc(values, func(v string) bool { return v == placeholderKey || v == "Bearer "+placeholderKey }):
			places[name] = true
		default:
			out[name] = values
		}
	}
	var kept []string
	for _, pair := range strings.Split(rawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err == nil && name == googleParam {
			places[googleParam] = true
			continue
		}
		kept = append(kept, pair)
	}
	return out, strings.Join(kept, "&"), places
}

// setKey puts the real key where the dialect wants it. Of the places that a
// dialect knows, the client chose one; where nothing tells, it is the bearer
// token.
func setKey(h http.Header, rawQuery string, d *dialect.Dialect, key string, places map[string]bool) string {
	switch {
	case key == "":
	case d == nil && places[anthropicHeader]:
		h.Set(anthropicHeader, key)
	case places[googleParam] && (d == nil || d.KeyParam == googleParam) && !places[googleHeader] && !places[bearerHeader]:
		if rawQuery != "" {
			rawQuery += "&"
		}
		rawQuery += googleParam + "=" + url.QueryEscape(key)
	case d == nil && places[googleHeader]:
		h.Set(googleHeader, key)
	case d != nil && d.KeyHeader != "" && !places[bearerHeader]:
		h.Set(d.KeyHeader, key)
	default:
		h.Set(bearerHeader, "Bearer "+key)
	}
	return rawQuery
}
