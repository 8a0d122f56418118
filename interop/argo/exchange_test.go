// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestCorpus holds that every case has a file of its own, and that each
// dialect of a release is asked for, with every trouble.
func TestCorpus(t *testing.T) {
	for version, dialects := range map[string][]string{
		"2.8.9": {"/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings"},
		"3.3.3": {"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/v1beta/models/argo:gpt-4o:streamGenerateContent"},
	} {
		names, paths := map[string]bool{}, map[string]map[string]bool{}
		for _, c := range corpus(version) {
			if names[c.name] {
				t.Errorf("%s: two cases are named %s", version, c.name)
			}
			names[c.name] = true
			path, _, _ := strings.Cut(c.path, "?")
			if paths[path] == nil {
				paths[path] = map[string]bool{}
			}
			paths[path][c.says.trouble] = true
		}
		for _, d := range dialects {
			for _, trouble := range []string{"", "drop", "cut", "reset"} {
				if !paths[d][trouble] {
					t.Errorf("%s: no case of %s with trouble %q", version, d, trouble)
				}
			}
		}
	}
}

// TestStandIn holds that the stand-in does what it is told, and keeps it.
func TestStandIn(t *testing.T) {
	g, err := newStandIn()
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, tt := range []struct {
		name, path, body string
		says             said
		status           int
		text             string
		err              error
		note             string
	}{
		{"plain", "/v1/chat/completions", `{"model":"gpt4o"}`, said{text: []string{"Hel", "lo"}}, 200, `"content": "Hello"`, nil, "### gateway -> proxy\nHTTP/1.1 200 OK"},
		{"stream", "/v1/messages", `{"model":"claudeopus45","stream":true}`, said{text: []string{"Hel", "lo"}}, 200, "event: message_stop", nil, "data: {\"type\": \"message_start\""},
		{"old", "/api/v1/resource/chat/", `{"model":"gemini25flash","tools":[{}]}`, said{calls: []toolCall{{"search", "{}"}}, trouble: "bare-call"}, 200, `"tool_calls": {"id"`, nil, `"tool_calls": {`},
		{"status", "/v1/chat/completions", `{}`, said{status: 429, kind: "application/json", body: "{}"}, 429, "{}", nil, "Retry-After: 7"},
		{"cut", "/v1/chat/completions", `{"stream":true}`, said{text: []string{"Hel", "lo"}, trouble: "cut"}, 200, "Hel", io.ErrUnexpectedEOF, "(then aborted)"},
		{"reset", "/v1/chat/completions", `{"stream":true}`, said{text: []string{"Hel", "lo"}, trouble: "reset"}, 200, "Hel", errBroken, "(then reset)"},
		{"error event", "/v1/messages", `{"model":"claudeopus45","stream":true}`, said{text: []string{"Hel", "lo"}, trouble: "late-error-event"}, 200, "overloaded_error", nil, "event: error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := g.play(tt.says)
			res, err := client.Post(g.url+tt.path, "application/json", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if res.StatusCode != tt.status || !strings.Contains(string(text), tt.text) {
				t.Errorf("status %d: %s", res.StatusCode, text)
			}
			if tt.err == errBroken && err == nil || tt.err != errBroken && !errors.Is(err, tt.err) {
				t.Errorf("reading ends in %v, want %v", err, tt.err)
			}
			if log := now.text(); !strings.Contains(log, tt.note) || !strings.Contains(log, "### proxy -> gateway\nPOST "+tt.path) {
				t.Errorf("no %q in\n%s", tt.note, log)
			}
		})
	}
}

var errBroken = errors.New("any")

func TestComplete(t *testing.T) {
	for _, tt := range []struct {
		method, text string
		want         bool
	}{
		{"POST", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false},
		{"POST", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true},
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true},
		{"OPTIONS", "HTTP/1.1 204 No Content\r\n\r\n", true},
		{"POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", false},
		{"POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", true},
		{"POST", "HTTP/1.1 200 OK\r\nContent-Le", false},
	} {
		if got := isComplete([]byte(tt.text), tt.method); got != tt.want {
			t.Errorf("%s %q: %t", tt.method, tt.text, got)
		}
	}
}
