// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

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
			if why := mcpwire.Foreign(r, tt.hosts, tt.origins); (why != "") != tt.foreign {
				t.Errorf("Foreign() = %q", why)
			}
		})
	}
}
