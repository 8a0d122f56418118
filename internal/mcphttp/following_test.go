// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// redirects answers each URL with a status and a place, and any other with 200.
type redirects struct {
	to  map[string]string // "307 http://a/b", by URL
	got []string
}

func (s *redirects) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // it has no errors
	}
	s.got = append(s.got, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+string(body))
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
	if status, place, ok := strings.Cut(s.to[r.URL.String()], " "); ok {
		resp.StatusCode = map[string]int{"302": http.StatusFound, "307": http.StatusTemporaryRedirect, "308": http.StatusPermanentRedirect}[status]
		resp.Header.Set("Location", place)
	}
	return resp, nil
}

// TestFollowing: a message is sent again, whole, where the same host has it; any other
// place would get our keys, and is left to the client.
func TestFollowing(t *testing.T) {
	const message = " Bearer k {}"
	for _, tt := range []struct {
		name   string
		to     map[string]string
		want   []string // that were asked
		status int
		err    string
	}{
		{"no redirect", nil, []string{"http://a/"}, 200, ""},
		{"for now", map[string]string{"http://a/": "307 /b"}, []string{"http://a/", "http://a/b"}, 200, ""},
		{"for good, and on", map[string]string{"http://a/": "308 http://a/b", "http://a/b": "307 c"}, []string{"http://a/", "http://a/b", "http://a/c"}, 200, ""},
		{"one that drops the message", map[string]string{"http://a/": "302 /b"}, []string{"http://a/"}, 302, ""},
		{"another host", map[string]string{"http://a/": "307 http://b/"}, []string{"http://a/"}, 307, ""},
		{"another host, later", map[string]string{"http://a/": "307 /b", "http://a/b": "308 http://b/"}, []string{"http://a/", "http://a/b"}, 308, ""},
		{"another port", map[string]string{"http://a/": "308 http://a:81/"}, []string{"http://a/"}, 308, ""},
		{"another scheme", map[string]string{"http://a/": "308 https://a/"}, []string{"http://a/"}, 308, ""},
		{"nowhere", map[string]string{"http://a/": "307 "}, []string{"http://a/"}, 307, ""},
		{"itself", map[string]string{"http://a/": "307 /"}, []string{
			"http://a/", "http://a/", "http://a/", "http://a/", "http://a/", "http://a/", "http://a/", "http://a/", "http://a/", "http://a/",
		}, 0, "it redirects endlessly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &redirects{to: tt.to}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer k")
			resp, err := Following{s}.RoundTrip(r)
			status := 0
			if err == nil {
				status = resp.StatusCode
				resp.Body.Close()
			}
			if status != tt.status || tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) {
				t.Errorf("status %d, %v; want %d, %q", status, err, tt.status, tt.err)
			}
			var want []string
			for _, url := range tt.want {
				want = append(want, "POST "+url+message)
			}
			if diff := cmp.Diff(want, s.got); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
	s := &redirects{to: map[string]string{"http://a/": "307 /b"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Following{s}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if diff := cmp.Diff([]string{"GET http://a/  ", "GET http://a/b  "}, s.got); diff != "" {
		t.Errorf("without a message, asked (-want +got):\n%s", diff)
	}
}
