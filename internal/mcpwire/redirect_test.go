// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestRedirects: a message goes on to where its server says, on the same host and
// not where others can read it; no other host hears of it or of its keys.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
		status         int
		want           string // the error; none: it is followed
	}{
		{"another path", "http://a.test/mcp", "http://a.test/mcp/", 307, ""},
		{"another port", "http://a.test/mcp", "http://a.test:8080/mcp", 308, "it redirects to http://a.test:8080/mcp, another server"},
		{"another host", "http://a.test/mcp", "http://b.test/mcp", 307, "it redirects to http://b.test/mcp, another server"},
		{"a host below it", "http://a.test/mcp", "http://x.a.test/mcp", 308, "it redirects to http://x.a.test/mcp, another server"},
		{"another host with a password", "http://a.test/mcp", "http://u:pass@b.test/mcp?key=secret", 308, "it redirects to http://b.test/mcp?key=..., another server"},
		{"without the message", "http://a.test/mcp", "http://a.test/login", 302, "it redirects to http://a.test/login with HTTP 302, which drops the message: if that is the server, give its URL"},
		{"for ever", "http://a.test/mcp", "http://a.test/mcp", 307, "it redirects endlessly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var heard []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				at := "http://" + r.Host + r.URL.Path
				heard = append(heard, at+" "+r.Header.Get("X-Api-Key")+" "+string(body))
				if at == tt.from {
					http.Redirect(w, r, tt.to, tt.status)
				}
			}))
			defer server.Close()
			client := mcpwire.NewHTTPClient(func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
			})
			defer client.CloseIdleConnections()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.from, strings.NewReader("message"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Api-Key", "key")
			res, err := client.Do(req)
			if err == nil {
				res.Body.Close()
			}
			if tt.want == "" {
				if last := heard[len(heard)-1]; err != nil || last != tt.to+" key message" {
					t.Errorf("%v; heard %q", err, heard)
				}
				return
			}
			if err = mcpwire.InURL(err); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			for _, line := range heard {
				if !strings.HasPrefix(line, "http://a.test/mcp ") {
					t.Errorf("heard %q", line)
				}
			}
		})
	}
	req := func(url string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	follow := mcpwire.NewHTTPClient(nil).CheckRedirect
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"http://a.test/mcp", "https://a.test/mcp", true},
		{"https://a.test/mcp", "http://a.test/mcp", false},
	} {
		if err := follow(req(tt.to), []*http.Request{req(tt.from)}); (err == nil) != tt.ok {
			t.Errorf("from %s to %s: %v", tt.from, tt.to, err)
		}
	}
}
