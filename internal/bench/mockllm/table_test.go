// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestServers asks each server for each fixture: they give the same bytes.
func TestServers(t *testing.T) {
	for i, f := range fixtures() {
		t.Run(f.name, func(t *testing.T) {
			answers := map[string]string{}
			for _, kind := range []string{bare, mock, flushed} {
				rec := httptest.NewRecorder()
				handlerOf(kind, i).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(f.body)))
				if rec.Code != http.StatusOK {
					t.Fatalf("%s: %d %s", kind, rec.Code, rec.Body)
				}
				answers[kind] = rec.Body.String()
			}
			if answers[mock] != answers[bare] || answers[flushed] != answers[bare] {
				t.Errorf("the answers differ: %q", answers)
			}
			n := 0
			for event := range strings.SplitSeq(answers[mock], "\n\n") {
				n += min(strings.Count(event, strings.TrimSpace(chunk)), 1)
			}
			if strings.HasPrefix(f.name, "32") && n != chunks {
				t.Errorf("%d chunks of text, want %d", n, chunks)
			}
		})
	}
}

func TestReadResponse(t *testing.T) {
	for _, tc := range []struct {
		name, response string
		fails          bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false},
		{"refused", "HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n", true},
		{"cut", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := bufio.NewReader(strings.NewReader(tc.response))
			err := readResponse(r)
			if (err != nil) != tc.fails {
				t.Errorf("error %v", err)
			}
			if err == nil && r.Buffered() != 0 {
				t.Errorf("%d bytes are left", r.Buffered())
			}
		})
	}
}
