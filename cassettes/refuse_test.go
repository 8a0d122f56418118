// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func says(body string) endpoint {
	return func(*http.Request) (*http.Response, error) { return respond(200, "application/json", body), nil }
}

// TestOpaque: what nobody can judge is written byte for byte, with a warning
// at most: signatures, encrypted reasoning, images, sounds, embeddings.
func TestOpaque(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "a.yaml")
	encodings := []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding}
	shapes := []string{
		`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":%q}}}]}}]}`,
		`{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":%q},{"type":"text","text":"hi"}]}`,
		`{"content":[{"type":"redacted_thinking","data":%q}]}`,
		`{"output":[{"type":"reasoning","encrypted_content":%q,"summary":[]}]}`,
		`{"data":[{"object":"embedding","index":0,"embedding":%q}]}`,
		`{"data":[{"b64_json":%q}]}`,
		`{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":%q}}]}}]}`,
		`{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]}`,
		`{"choices":[{"message":{"audio":{"id":"a","data":%q}}}]}`,
		`{"blob":%q}`,
		`{"choices":[{"message":{"content":%q}}]}`,
		`{"state":{"opaque":[%q]}}`,
		`{"continuation":%q}`,
	}
	refused := 0
	for n := range 200 {
		blob := make([]byte, 96+r.IntN(1400))
		for i := range blob {
			blob[i] = byte(r.Uint32())
		}
		body := fmt.Sprintf(shapes[n%len(shapes)], encodings[n/len(shapes)%len(encodings)].EncodeToString(blob))
		rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: says(body)})
		want(t, rec, `{"q":1}`, body)
		if err := rec.Close(); err != nil {
			t.Errorf("%d bytes: %v", len(body), err)
			refused++
			continue
		}
		if got := answers(t, path); len(got) != 1 || got[0] != body {
			t.Errorf("recorded %s\nfor %s", got, body)
		}
	}
	t.Logf("200 opaque values: %d refused", refused)
}

// TestKept: what looks like a secret is written as it came where that is said,
// but not what is known to be one.
func TestKept(t *testing.T) {
	secret := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	for _, test := range []struct {
		name, body string
		keep       []string
	}{
		{"a name", `{"sample":"` + secret + `"}`, []string{"sample"}},
		{"a path", `{"a":[{"sample":"` + secret + `"}]}`, []string{"a[0].sample"}},
		{"as a message says it", `{"a":[{"sample":"` + secret + `"}]}`, []string{"response body a[0].sample"}},
		{"any depth", `{"a":[{"token":"` + secret + `"}]}`, []string{"**.token"}},
		{"over events", "data: {\"delta\":\"" + secret[:20] + "\"}\n\ndata: {\"delta\":\"" + secret[20:] + "\"}\n\n", []string{"delta"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: says(test.body), Secrets: &redact.Rules{Keep: test.keep}})
			want(t, rec, `{"q":1}`, test.body)
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			if got := answers(t, path); len(got) != 1 || got[0] != test.body {
				t.Errorf("recorded %q", got)
			}
			rec = open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: says(test.body), Secrets: &redact.Rules{Keep: test.keep, Literals: []string{secret}}})
			want(t, rec, `{"q":1}`, test.body)
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			if got := answers(t, path); strings.Contains(got[0], secret[:20]) {
				t.Errorf("what is known to be secret is kept: %q", got)
			}
		})
	}
}

// TestReplacesNothing: a recording of another subject, or of less, leaves the
// file as it is, and is not lost.
func TestReplacesNothing(t *testing.T) {
	for _, test := range []struct {
		name        string
		was, is     string // subjects
		before, now int    // exchanges
		force       bool
		err         string
	}{
		{"less", "", "", 5, 2, false, "it has 5 exchanges, but this recording has 2; --force replaces it"},
		{"less, on purpose", "", "", 5, 2, true, ""},
		{"as much", "", "", 2, 2, false, ""},
		{"another subject", "my-agent", "rehearse-agent", 1, 3, false, `it records "my-agent", but this recording is of "rehearse-agent"; --force replaces it`},
		{"another subject, on purpose", "my-agent", "rehearse-agent", 1, 3, true, ""},
		{"the same subject", "my-agent", "my-agent", 1, 1, false, ""},
		{"a subject that nobody knows", "", "my-agent", 1, 1, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			recordN := func(subject string, n int, force bool) error {
				r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: echo(), Subject: subject, Force: force})
				for i := range n {
					_, _ = post(t, r, fmt.Sprint(subject, i, n))
				}
				return r.Close()
			}
			if err := recordN(test.was, test.before, false); err != nil {
				t.Fatal(err)
			}
			old, _ := os.ReadFile(path)
			err := recordN(test.is, test.now, test.force)
			if test.err == "" {
				if err != nil || len(answers(t, path)) != test.now {
					t.Errorf("got %v and %d exchanges", err, len(answers(t, path)))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			if now, _ := os.ReadFile(path); string(now) != string(old) {
				t.Error("the file has changed")
			}
			at := strings.TrimSuffix(path, ".yaml") + ".refused.yaml"
			f, readErr := vcr.Read(at)
			if readErr != nil || len(f.Interactions) != test.now {
				t.Errorf("what was refused: %v", readErr)
			}
			if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("its mode: %v, %v", info, err)
			}
			first, _ := os.ReadFile(at)
			again := strings.TrimSuffix(path, ".yaml") + ".refused-2.yaml"
			if err := recordN(test.is, test.now, test.force); err == nil || !strings.Contains(err.Error(), again) {
				t.Errorf("refused again: %v", err)
			}
			if f, err := vcr.Read(again); err != nil || len(f.Interactions) != test.now {
				t.Errorf("what was refused again: %v", err)
			}
			if now, _ := os.ReadFile(at); string(now) != string(first) {
				t.Error("what was refused first has changed")
			}
		})
	}
}

// TestLeftAtTheEnd: a client that leaves after the last event has had it all.
func TestLeftAtTheEnd(t *testing.T) {
	for _, test := range []struct {
		name, kind, body string
		whole            bool
	}{
		{"openai", "text/event-stream; charset=utf-8", "data: {\"a\":1}\n\ndata: [DONE]\n\n", true},
		{"openai, without the last line", "text/event-stream", "data:{\"a\":1}\n\ndata:[DONE]\n", true},
		{"anthropic", "text/event-stream", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", true},
		{"responses", "text/event-stream", "event: response.completed\r\ndata: {\"type\":\"response.completed\",\"response\":{}}\r\n\r\n", true},
		{"before its end", "text/event-stream", "data: {\"a\":1}\n\n", false},
		{"in two lines", "text/event-stream", "data: {\"type\":\ndata: \"message_stop\"}\n\n", true},
		{"a comment behind the last", "text/event-stream", "data: [DONE]\r\r: bye\r\r", true},
		{"a text that says so", "text/plain", "data: [DONE]\n\n", false},
		{"said in a text", "text/event-stream", "data: {\"a\":\"data: [DONE]\"}\n\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(*http.Request) (*http.Response, error) {
				resp := respond(200, test.kind, test.body)
				resp.ContentLength = -1
				return resp, nil
			})})
			req, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1:1/v1/chat/completions", strings.NewReader("{}"))
			resp, err := rec.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, len(test.body))); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			f, err := vcr.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Interactions[0].Meta.Outcome; (got == vcr.Complete) != test.whole {
				t.Errorf("outcome %s", got)
			}
		})
	}
}

// TestIgnoredPaths: a path may stand as a miss prints it, and one that is in no
// request is told.
func TestIgnoredPaths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), `{"messages":[{"content":"at 10:00"}],"a":1}`)
	const asked = `{"messages":[{"content":"at 11:00"}],"a":1,"extra":true}`
	for _, test := range []struct {
		ignore []string
		open   string // the error
		err    string
	}{
		{[]string{"body.messages[0].content", "extra"}, "", ""},
		{[]string{`messages[0].content =~ \d\d:\d\d`, "extra"}, "", ""},
		{[]string{"messages.0.content", "extra", "messages[1].content"}, "", `no request has anything at "messages[1].content", which --ignore names`},
		{[]string{"messages[0.content"}, "not closed", ""},
	} {
		r, err := cassettes.Open(path, &cassettes.Options{Match: &key.Rules{Also: test.ignore}, LookupEnv: noCI})
		if test.open != "" {
			if err == nil || !strings.Contains(err.Error(), test.open) {
				t.Errorf("%q: %v", test.ignore, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := post(t, r, asked); err != nil {
			t.Errorf("%q: %v", test.ignore, err)
		}
		if err := r.Close(); (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %v, want %q", test.ignore, err, test.err)
		}
		if misses := r.Misses(); len(misses) > 0 { // which it says after its end, too
			t.Errorf("%q: %v", test.ignore, misses)
		}
	}
}
