// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"testing"
)

// TestHostileGateway lets no page of another origin into a trial.
func TestHostileGateway(t *testing.T) {
	g, err := newGateway()
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
