// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// TestProxyPaths: the endpoint gets the path as the client sent it, and a replay
// tells apart what it tells apart.
func TestProxyPaths(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) }))
	defer endpoint.Close()
	paths := []string{"/v1/models/meta/llama", "/v1/models/meta%2Fllama", "/v1/a//b", "/v1/a/b", "/v1/a/./b", "/v1/a%20b/?c=%2F", "/v1/a/"}
	for _, base := range []string{"", "/", "/base", "/base%2F1/"} {
		for _, set := range []string{"", "/test/one%20two", "header"} {
			dir := t.TempDir()
			upstream, _ := url.Parse(endpoint.URL + base)
			for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.Replay} {
				if mode == cassettes.Replay {
					upstream = nil
				}
				var handler http.Handler
				var end func() error
				opts := cassettes.Options{Mode: mode, LookupEnv: func(string) (string, bool) { return "", false }}
				if set == "" {
					rec := open(t, filepath.Join(dir, "a.yaml"), opts)
					handler, end = rec.Proxy(upstream), rec.Close
				} else {
					s, err := cassettes.OpenSet(dir, &opts)
					if err != nil {
						t.Fatal(err)
					}
					handler, end = s.Proxy(upstream), s.Close
				}
				proxy := httptest.NewServer(handler)
				for _, path := range paths {
					req, _ := http.NewRequest(http.MethodGet, proxy.URL+strings.TrimSuffix(set, "header")+path, nil)
					if set == "header" {
						req.Header.Set(cassettes.TestHeader, "one")
					}
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					got, _ := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if want := strings.TrimRight(base, "/") + path; string(got) != want {
						t.Errorf("%s, base %q, set %q: %s is answered %s", mode, base, set, path, got)
					}
				}
				proxy.Close()
				if err := end(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestProxyRedirects: a client that follows the endpoint to itself stays with the
// proxy, while recording and in a replay, and one that is sent elsewhere goes.
func TestProxyRedirects(t *testing.T) {
	var endpoint *httptest.Server
	endpoint = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		if to == "" {
			fmt.Fprint(w, "fine")
			return
		}
		w.Header().Set("Location", strings.ReplaceAll(to, "HOST", strings.TrimPrefix(endpoint.URL, "http://")))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer endpoint.Close()
	for _, tt := range []struct{ base, prefix, to, want string }{
		{"", "", "http://HOST/v1/b?x=1#f", "PROXY/v1/b?x=1#f"},
		{"", "", "//HOST/v1/b%2Fc", "PROXY/v1/b%2Fc"},
		{"", "", "/v1/b", "PROXY/v1/b"},
		{"", "", "http://HOST", "PROXY/"},
		{"", "", "http://HOST//example.com/", "PROXY//example.com/"},
		{"", "", "b?to=", "b?to="},
		{"", "", "https://HOST/v1/b", "https://HOST/v1/b"},
		{"", "", "http://example.com/v1/b", "http://example.com/v1/b"},
		{"/base", "", "http://HOST/base/v1/b", "PROXY/v1/b"},
		{"/base", "", "/base/v1/b", "PROXY/v1/b"},
		{"/base", "", "/base", "PROXY/"},
		{"/base", "", "http://HOST/other", "http://HOST/other"},
		{"/base", "/test/one", "http://HOST/base/v1/b", "PROXY/test/one/v1/b"},
		{"", "/test/one", "/v1/b", "PROXY/test/one/v1/b"},
	} {
		dir := t.TempDir()
		upstream, _ := url.Parse(endpoint.URL + tt.base)
		host := upstream.Host
		var got [2]string
		for n, mode := range []cassettes.Mode{cassettes.Record, cassettes.Replay} {
			opts := cassettes.Options{Mode: mode, LookupEnv: func(string) (string, bool) { return "", false }}
			set, err := cassettes.OpenSet(dir, &opts)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(set.Proxy(upstream))
			req, _ := http.NewRequest(http.MethodGet, proxy.URL+tt.prefix+"/v1/a?to="+url.QueryEscape(tt.to), nil)
			if tt.prefix == "" {
				req.Header.Set(cassettes.TestHeader, "one")
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			got[n] = strings.ReplaceAll(strings.ReplaceAll(resp.Header.Get("Location"), proxy.URL, "PROXY"), host, "HOST")
			proxy.Close()
			if err := set.Close(); err != nil {
				t.Error(err)
			}
			upstream = nil
		}
		if diff := cmp.Diff([2]string{tt.want, tt.want}, got); diff != "" {
			t.Errorf("base %q, %s: recorded and replayed (-want +got):\n%s", tt.base, tt.to, diff)
		}
	}
}

// TestProxyAddsNothing: what an endpoint does not say, the proxy does not say for
// it, and what it says behind the body comes in a replay, too.
func TestProxyAddsNothing(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if r.Method == http.MethodHead {
			return
		}
		w.Header().Set("Trailer", "X-Request-Id")
		fmt.Fprint(w, "<html>")
		w.Header().Set("X-Request-Id", "3")
	}))
	defer endpoint.Close()
	upstream, _ := url.Parse(endpoint.URL)
	path := filepath.Join(t.TempDir(), "a.yaml")
	for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.Replay} {
		rec := open(t, path, cassettes.Options{Mode: mode})
		proxy := httptest.NewServer(rec.Proxy(upstream))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req, _ := http.NewRequest(method, proxy.URL+"/v1/a", nil)
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if _, said := resp.Header["Content-Type"]; said || err != nil {
				t.Errorf("%s %s: %v, %v", mode, method, resp.Header, err)
			}
			if method == http.MethodHead && resp.ContentLength >= 0 {
				t.Errorf("%s: the answer to HEAD says that the body has %d bytes", mode, resp.ContentLength)
			}
			if method == http.MethodGet && (string(body) != "<html>" || resp.Trailer.Get("X-Request-Id") != "3") {
				t.Errorf("%s: %q, trailer %v", mode, body, resp.Trailer)
			}
		}
		proxy.Close()
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
	}
}
