// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"net/url"
	"testing"
)

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		from, to      string
		same, secured bool
	}{
		{"http://a.test/mcp", "http://a.test/mcp/", true, false},
		{"http://a.test/mcp", "http://A.test:80/mcp", true, false},
		{"https://a.test:443/mcp", "https://a.test/mcp", true, false},
		{"http://a.test/mcp", "http://a.test:8080/mcp", false, false},
		{"http://a.test/mcp", "http://b.test/mcp", false, false},
		{"http://a.test/mcp", "http://x.a.test/mcp", false, false},
		{"http://a.test/mcp", "https://a.test/mcp", false, true},
		{"http://a.test:80/mcp", "https://A.test/mcp", false, true},
		{"http://a.test/mcp", "https://b.test/mcp", false, false},
		{"http://a.test/mcp", "https://a.test:8443/mcp", false, false},
		{"http://a.test:8080/mcp", "https://a.test/mcp", false, false},
		{"https://a.test/mcp", "http://a.test/mcp", false, false},
	} {
		from, err := url.Parse(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(tt.to)
		if err != nil {
			t.Fatal(err)
		}
		if same, secured := Same(from, to), Secured(from, to); same != tt.same || secured != tt.secured {
			t.Errorf("%s, %s: same %t, secured %t; want %t, %t", tt.from, tt.to, same, secured, tt.same, tt.secured)
		}
	}
}
