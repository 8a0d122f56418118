// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// TestForeign tells hosts and origins of this machine from others.
func TestForeign(t *testing.T) {
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}
	for _, tt := range []struct {
		name           string
		host, origin   string
		hosts, origins []string
		foreign        bool
	}{
		{"loopback", "127.0.0.1:8000", "", nil, nil, false},
		{"by name", "localhost", "", nil, nil, false},
		{"six", "[::1]:8000", "", nil, nil, false},
		{"another name", "evil.example", "", nil, nil, true},
		{"a name that begins well", "localhost.evil.example", "", nil, nil, true},
		{"a name that is let in", "mock:8000", "", []string{"mock"}, nil, false},
		{"any name", "mock:8000", "", []string{"*"}, nil, false},
		{"own page", "127.0.0.1:8000", "http://127.0.0.1:8000", nil, nil, false},
		{"a page of this machine", "127.0.0.1:8000", "http://localhost:5173", nil, nil, false},
		{"another page", "127.0.0.1:8000", "http://evil.example", nil, nil, true},
		{"a page without origin", "127.0.0.1:8000", "null", nil, nil, true},
		{"no URL", "127.0.0.1:8000", "://", nil, nil, true},
		{"a page that is let in", "127.0.0.1:8000", "https://inspector.example", nil, []string{"https://inspector.example"}, false},
		{"any page", "127.0.0.1:8000", "null", nil, []string{"*"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
			r.Host = tt.host
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if why := (gate.Rules{Hosts: tt.hosts, Origins: tt.origins}).Foreign(r); (why != "") != tt.foreign {
				t.Errorf("Foreign() = %q", why)
			}
		})
	}
}

// TestHostileRequests refuses what a page of another origin has a browser send
// without an Origin, and nothing that a client sends which is no browser.
func TestHostileRequests(t *testing.T) {
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}
	for _, tt := range []struct {
		name           string
		host           string
		header         []string
		hosts, origins []string
		foreign        bool
	}{
		{"an image of another site", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, nil, nil, true},
		{"a link on another site", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, nil, nil, true},
		{"an image of another port", "localhost:8000", []string{"Sec-Fetch-Site", "same-site"}, nil, nil, true},
		{"a page of another port", "localhost:8000", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://localhost:5173"}, nil, nil, true},
		{"a page of another port of loopback", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:5173"}, nil, nil, true},
		{"that page, let in", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:5173"}, nil, []string{"http://localhost:5173"}, false},
		{"its image, which does not say whose it is", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "cross-site"}, nil, []string{"http://localhost:5173"}, true},
		{"any page's image", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "cross-site"}, nil, []string{"*"}, false},
		{"an address that was typed", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, nil, nil, false},
		{"a page behind a proxy of this machine", "127.0.0.1:8000", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:5173"}, nil, nil, false},
		{"Node.js", "127.0.0.1:8000", []string{"Sec-Fetch-Mode", "cors"}, nil, nil, false},
		{"HTTP/1.0 without a host", "", nil, nil, nil, false},
		{"a name that was rebound", "evil.example:8000", []string{"Origin", "http://evil.example:8000", "Sec-Fetch-Site", "same-origin"}, nil, nil, true},
		{"a container", "host.docker.internal:8000", nil, []string{"host.docker.internal"}, nil, false},
		{"all addresses", "0.0.0.0", nil, nil, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served := false
			h := gate.Rules{Hosts: tt.hosts, Origins: tt.origins}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
			r := httptest.NewRequest(http.MethodGet, "/mcp", nil)
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
			r.Host = tt.host
			for i := 0; i+1 < len(tt.header); i += 2 {
				r.Header.Set(tt.header[i], tt.header[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if served == tt.foreign || tt.foreign != (w.Code == http.StatusForbidden) {
				t.Errorf("served is %v, with %d %s", served, w.Code, w.Body)
			}
		})
	}
}

// TestPages lets pages read answers, whatever the answer itself says.
func TestPages(t *testing.T) {
	h := gate.Rules{Origins: []string{"http://a.example", "http://b.example"}}.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Access-Control-Allow-Origin"] = []string{"https://recorded.example"}
		w.WriteHeader(http.StatusTeapot)
	}))
	ask := func(method, origin string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://127.0.0.1/v1", nil)
		r.Header.Set("Origin", origin)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := ask("POST", "http://b.example")
	if got := w.Header().Values("Access-Control-Allow-Origin"); w.Code != http.StatusTeapot || len(got) != 1 || got[0] != "http://b.example" {
		t.Errorf("an answer: %d %v", w.Code, w.Header())
	}
	w = ask("OPTIONS", "http://a.example", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "content-type", "Access-Control-Request-Private-Network", "true")
	if h := w.Header(); w.Code != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "http://a.example" || h.Get("Access-Control-Allow-Headers") != "content-type" || h.Get("Access-Control-Allow-Private-Network") != "true" {
		t.Errorf("a preflight: %d %v", w.Code, h)
	}
	if w := ask("OPTIONS", "http://c.example", "Access-Control-Request-Method", "PUT"); w.Code != http.StatusForbidden || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a preflight of another: %d %v", w.Code, w.Header())
	}
}

// TestHostileTypes takes no body of a type that a form or an image can have.
func TestHostileTypes(t *testing.T) {
	for kind, want := range map[string]bool{
		"application/json": true, "Application/JSON; charset=utf-8": true,
		"": false, "text/plain": false, "text/plain; application/json": false, "application/x-www-form-urlencoded": false, "multipart/form-data; boundary=x": false,
		"application/json, text/plain": false, "application/jsonp": false, ";": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Content-Type", kind)
		if got := gate.Sent(r, "application/json"); got != want {
			t.Errorf("%q is JSON: %v, want %v", kind, got, want)
		}
	}
}

func TestBearer(t *testing.T) {
	for sent, want := range map[string]bool{"": false, "Bearer s": true, "bearer  s ": true, "BEARER s": true, "Bearer": false, "Bearer t": false, "Basic s": false, "s": false} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", sent)
		if got := gate.Bearer(r, "s"); got != want {
			t.Errorf("%q: %v, want %v", sent, got, want)
		}
		if got := gate.Token(r); (got == "s") != want {
			t.Errorf("%q has the token %q", sent, got)
		}
		if !gate.Bearer(r, "") {
			t.Errorf("%q is refused where no token is wanted", sent)
		}
	}
}
