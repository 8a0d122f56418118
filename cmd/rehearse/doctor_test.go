// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDoctorInterrupted ends a look at an endpoint that does not answer.
func TestDoctorInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		<-r.Context().Done()
	}))
	defer server.Close()
	e := interruptible(t, ctx, t.TempDir(), "doctor", "--base-url", server.URL+"/v1", "--timeout", "10m")
	if e.code != int(exitKilled) || e.stdout != "" || !strings.Contains(e.stderr, "interrupted before everything was looked at") {
		t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
}

// TestDoctorAnswers has endpoints that answer in other ways than with a list.
func TestDoctorAnswers(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		code       exitCode
		want       string
	}{
		{"no list", "no", 404, exitPassed, "ok      endpoint URL: it does not list its models (HTTP 404)"},
		{"a wrong key", "no", 401, exitFailed, "failed  endpoint URL: it answers, and refuses the key: HTTP 401"},
		{"elsewhere", "", 307, exitFailed, "failed  endpoint URL: it redirects to http://127.0.0.1:1/v1/models with HTTP 307, which is not followed: if that is the endpoint, give its address"},
		{"broken", "<html>bad gateway</html>", 502, exitFailed, "failed  endpoint URL: it answers with HTTP 502: <html>bad gateway</html>"},
		{"another model", `{"data": [{"id": "a"}]}`, 200, exitPassed, `ok      endpoint URL: 1 model, "m" is not among them by this name`},
		{"this model", `{"data": [{"id": "m"}]}`, 200, exitPassed, "ok      endpoint URL: 1 model\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" {
					http.NotFound(w, r)
					return
				}
				if tc.status == http.StatusTemporaryRedirect {
					w.Header().Set("Location", "http://127.0.0.1:1/v1/models")
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			e := inProcess(t, t.TempDir(), "doctor", "--base-url", server.URL+"/v1", "--model", "m")
			if got := strings.ReplaceAll(e.stdout, server.URL+"/v1", "URL"); e.code != int(tc.code) || !strings.Contains(got, tc.want) {
				t.Errorf("exit code %d\n%s%s", e.code, got, e.stderr)
			}
		})
	}
}
