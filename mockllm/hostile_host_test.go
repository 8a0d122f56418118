// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestHostileHost answers no page of another origin and to no other name, but
// for those that are let in; and enters nothing of it into the journal.
func TestHostileHost(t *testing.T) {
	h, err := mockllm.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m := scripted(t, mockllm.Script{Profile: "argo-proxy-3.3", Replies: []mockllm.Reply{{Say: "hello"}}}, nil)
	defer m.Close()
	url, _ := h.Mount(m)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(host, origin, site string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Content-Type", "text/plain") // which the profile takes
		for name, value := range map[string]string{"Origin": origin, "Sec-Fetch-Site": site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for _, r := range [][3]string{{"evil.example"}, {"", "http://evil.example"}, {"", "null"}, {"", "", "cross-site"}, {"host.docker.internal"}} {
		if got := ask(r[0], r[1], r[2]); got != http.StatusForbidden {
			t.Errorf("%q is answered with %d", r, got)
		}
	}
	if n := len(m.Journal()); n != 0 || m.Err() != nil {
		t.Errorf("the journal has %d entries, and the errors are %v", n, m.Err())
	}
	h.Allow([]string{"host.docker.internal"}, []string{"http://pages.example"})
	for _, r := range [][3]string{{"host.docker.internal:80"}, {"localhost"}, {"", "http://pages.example", "cross-site"}} {
		if got := ask(r[0], r[1], r[2]); got == http.StatusForbidden {
			t.Errorf("%q, which is let in, is answered with %d", r, got)
		}
	}
}

// TestHostClosesBesideASilentClient: who has connected and asks nothing keeps no
// host from closing.
func TestHostClosesBesideASilentClient(t *testing.T) {
	h, err := mockllm.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", h.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// Connections are taken in their order: once this one is answered, the host
	// has the other.
	exchange(t, h.Addr(), "GET", "/", "")
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}
