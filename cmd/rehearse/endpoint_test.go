// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

const liveScenario = `scenario: live
model: {stream: %t}
servers:
  s:
    tools:
      - name: echo
        description: Says it again.
        input: {type: object, properties: {text: {}}}
        results: [{text: heard}]
turns:
  - user: go
    expect: [{answer: {contains: [done]}}]
`

// completion is a whole reply with a message.
func completion(message string) string {
	return `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",` + message + `},"finish_reason":"stop"}]}`
}

// calls is a message that calls echo; the argument text is given as JSON.
func calls(arguments string) string {
	return `"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"echo","arguments":` + arguments + `}}]`
}

// long answers with head, n times fill, and tail.
func long(head string, n int, fill, tail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { endless(w, head, n, fill, tail) }
}

// around is a reply with a long message in the place of the @.
func around(message string, n int, fill string) http.HandlerFunc {
	head, tail, _ := strings.Cut(completion(message), "@")
	return long(head, n, fill, tail)
}

// says answers with a body.
func says(body string) http.HandlerFunc { return long(body, 0, "", "") }

// brokenOff announces more than it says.
func brokenOff(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, body)
	}
}

// playLive plays the scenario against an endpoint.
func playLive(t *testing.T, stream bool, endpoint http.HandlerFunc) leftover {
	t.Helper()
	upstream := httptest.NewServer(endpoint)
	defer upstream.Close()
	dir := t.TempDir()
	put(t, dir, "s.yaml", fmt.Sprintf(liveScenario, stream))
	return rehearse(t, dir, "run", "s.yaml", "--mode", "live", "--base-url", upstream.URL+"/v1", "--model", "m", "--out", "out")
}

// TestHostileEndpoint has endpoints whose answer cannot be used: an error of
// the infrastructure, in words.
func TestHostileEndpoint(t *testing.T) {
	t.Parallel()
	const (
		mb100   = 100_000 // kilos
		tooLong = "the reply is longer than 33554432 bytes"
		tooDeep = "exceeded max depth"
		argsCut = `arguments of tool call "echo" are longer than 1048576 bytes`
	)
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	piece := func(delta string) string { return `data: {"choices":[{"index":0,"delta":{` + delta + `}}]}` + "\n\n" }
	text, call := piece(`"content":"`+kilo("x")+`"`), piece(`"tool_calls":[{"index":0,"id":"a","function":{"name":"echo","arguments":"`+kilo("x")+`"}}]`)
	begun, _, _ := strings.Cut(text, "xxx")
	tests := []struct {
		name     string
		stream   bool
		endpoint http.HandlerFunc
		says     string
	}{
		{"100 MB of text", false, around(`"content":"@"`, mb100, kilo("x")), tooLong},
		{"100 MB of text in pieces", true, long("", mb100, text, ""), tooLong},
		{"100 MB of text in one piece", true, long(begun, mb100, kilo("x"), `"}}]}`), "event of a stream too long: more than 8388608 bytes"},
		{"100 MB of arguments", false, around(calls(`"{\"text\":\"@\"}"`), mb100, kilo("x")), tooLong},
		{"100 MB of arguments in pieces", true, long("", mb100, call, ""), argsCut},
		{"2 MB of arguments", false, around(calls(`"{\"text\":\"@\"}"`), 2_000, kilo("x")), argsCut},
		{"100 MB of white space", false, long("", mb100, kilo("\n"), ""), "begins with 4096 bytes of white space"},
		{"100 MB of comments", true, long("", mb100, ": "+kilo("x")+"\n", ""), tooLong},
		{"100 MB of HTML", false, long("<html><title>", mb100, kilo("x"), ""), "an HTML page that begins with"},
		{"100 MB of an error", false, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			endless(w, `{"error":{"message":"`, mb100, kilo("x"), `"}}`)
		}, "HTTP 400"},
		{
			"a hundred thousand calls", false,
			around(`"tool_calls":[@{"id":"z","function":{"name":"echo","arguments":"{}"}}]`, mb100, `{"id":"c","function":{"name":"echo","arguments":"{}"}},`),
			"more than 1024 tool calls",
		},
		{"a deep reply", false, says(deep), tooDeep},
		{"a deep reply that does not end", false, long("", mb100/4, kilo("["), ""), tooDeep},
		{"a deep content", false, says(completion(`"content":` + deep)), tooDeep},
		{"a deep member that nobody needs", false, says(completion(`"content":"done","x":` + deep)), tooDeep},
		{"a deep event", true, says("data: " + deep + "\n\ndata: [DONE]\n\n"), tooDeep},
		{"a program", false, says("\x7fELF\x02\x01\x01\x00\x00"), "a body that is not JSON"},
		{"compressed garbage", false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8b\x08garbage")
		}, "broke off"},
		{"a reply that breaks off", false, brokenOff(completion(`"content":"done"`)), "broke off: unexpected EOF"},
		{"a stream that breaks off", true, brokenOff(text), "broke off: unexpected EOF"},
		{"a redirect to itself", false, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, `redirects to "/v1/chat/completions" (HTTP 302): use that address`},
		{"11 MB of headers", false, func(w http.ResponseWriter, _ *http.Request) {
			for i := range 11_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), kilo("h"))
			}
		}, "server response headers exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			playLive(t, tt.stream, tt.endpoint).wants(t, trials.CauseEndpoint, tt.says)
		})
	}
}

// TestHostileReply has replies that can be used, odd as they are: the loop
// goes on, with a result that the model can read.
func TestHostileReply(t *testing.T) {
	t.Parallel()
	quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
	const notJSON = "the arguments of echo are not a JSON object"
	tests := []struct {
		name, message string
		told          string // the result of the call
		args          string // as the server got them; empty when it got none
	}{
		{"20 MB of text", "", "", ""},
		{"arguments nested 100,000 deep", calls(quoted(nested(100_000))), notJSON, ""},
		{"arguments nested as deep as JSON is read", calls(quoted(nested(9_990))), "JSON nests deeper than 1000 levels", ""},
		{"arguments nested 2,000 deep", calls(quoted(nested(2_000))), "JSON nests deeper than 1000 levels", ""},
		{"arguments with an escaped NUL", calls(`"{\"text\":\"a\\u0000b\"}"`), "heard", `{"text":"a\u0000b"}`},
		{"arguments with a NUL", calls(`"{\"text\":\"a\u0000b\"}"`), notJSON, ""},
		{"arguments that are no UTF-8", calls("\"{\\\"text\\\":\\\"a\xff\xfeb\\\"}\""), "heard", "{\"text\":\"a\ufffd\ufffdb\"}"},
		{"arguments with half a surrogate pair", calls(`"{\"text\":\"a\ud800b\"}"`), "heard", "{\"text\":\"a\ufffdb\"}"},
		{"arguments with half a surrogate pair, escaped", calls(`"{\"text\":\"a\\ud800b\"}"`), "heard", `{"text":"a\ud800b"}`},
		{"arguments that are a program", calls(`"\u007fELF\u0001\u0000"`), notJSON, ""},
		{"a name that is no UTF-8", strings.Replace(calls(`"{}"`), `"echo"`, "\"\\u0000\\u001b[31m\\ud800\xff\"", 1), "there is no tool", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			e := playLive(t, false, func(w http.ResponseWriter, _ *http.Request) {
				switch {
				case requests.Add(1) > 1:
					_, _ = io.WriteString(w, completion(`"content":"done \u0000\u001b[31m\ud800"`))
				case tt.message == "":
					around(`"content":"done@"`, 20_000, kilo("x"))(w, nil)
				default:
					_, _ = io.WriteString(w, completion(tt.message))
				}
			})
			_, detail := e.wants(t, "")
			reported := detail.Transcript.Turns[0].Calls
			if tt.told == "" {
				return
			}
			if len(reported) != 1 || !strings.Contains(reported[0].Result, tt.told) {
				t.Errorf("calls %+v, want one whose result says %q", reported, tt.told)
			}
			switch {
			case tt.args == "" && len(detail.Tools) > 0 && !detail.Tools[0].IsError, tt.args != "" && len(detail.Tools) != 1:
				t.Errorf("the server saw %+v", detail.Tools)
			case tt.args != "" && !sameJSON(detail.Tools[0].Args, tt.args):
				t.Errorf("the server got %s, want %s", detail.Tools[0].Args, tt.args)
			}
		})
	}
}

// sameJSON compares JSON but for the space between its tokens.
func sameJSON(a []byte, b string) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, []byte(b)) == nil && x.String() == y.String()
}
