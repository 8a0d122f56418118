// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"strings"
	"testing"
)

// TestHostileGateway lets no page of another origin into a trial.
func TestHostileGateway(t *testing.T) {
	g, err := newGateway("")
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	asked := 0
	base, unmount := g.mount(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer unmount()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, header := range []http.Header{{"Origin": {"http://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Host": {"evil.example"}}, {}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header, r.Host = header, header.Get("Host")
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if refused := res.StatusCode == http.StatusForbidden; refused != (len(header) > 0) {
			t.Errorf("%v is answered with %d", header, res.StatusCode)
		}
	}
	if asked != 1 {
		t.Errorf("%d requests came through, want one", asked)
	}
}

// TestAdvertised: a run that is called by a name is let in by it, on loopback.
func TestAdvertised(t *testing.T) {
	for _, tt := range []struct{ host, base, err string }{
		{"host.docker.internal", "http://host.docker.internal:", ""},
		{"localhost", "http://localhost:", ""},
		{"0.0.0.0", "", "nobody can call that address"},
		{"192.0.2.1", "", "want a name, or an IP address of this machine"},
	} {
		g, err := newGateway(tt.host)
		if err != nil {
			if tt.err == "" || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.host, err)
			}
			continue
		}
		defer g.close()
		base, unmount := g.mount(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer unmount()
		if tt.err != "" || !strings.HasPrefix(base, tt.base) {
			t.Fatalf("%s is called %s", tt.host, base)
		}
		for name, want := range map[string]int{tt.host: http.StatusOK, "evil.example": http.StatusForbidden} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(base, "host.docker.internal", "127.0.0.1", 1), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = name
			res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s by the name %s is answered with %d", tt.host, name, res.StatusCode)
			}
		}
	}
}
