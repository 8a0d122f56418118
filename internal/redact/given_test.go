// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestGivenHeaders: of headers that are handed over for a server the values are
// secrets that are long enough and no plain words, without their scheme.
func TestGivenHeaders(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        []string
	}{
		{"X-Key", "k7Qx9z", []string{"k7Qx9z"}},
		{"X-Key", "k7Qx9", nil},
		{"X-Key", " k7Qx9z ", nil}, // the blank before it is no scheme's
		{"X-Key", "Token k7Qx9z", []string{"k7Qx9z"}},
		{"X-Key", "elevenchars k7Qx9z", []string{"k7Qx9z"}},
		{"X-Key", "twelvecharss k7Qx9z", []string{"twelvecharss k7Qx9z"}},
		{"X-Key", "a k7Qx9z,b", []string{"a k7Qx9z,b"}},
		{"X-Key", "a k7Qx9z;b", []string{"a k7Qx9z;b"}},
		{"X-Key", "verbose", nil},
		{"Authorization", "verbose", []string{"verbose"}},
		{"Authorization", "short", nil},
		{"accept", "k7Qx9zPw3Lm", nil},
		{"User-Agent", "k7Qx9zPw3Lm", nil},
	} {
		if got := HeaderSecrets(http.Header{tt.name: {tt.value}}); tt.value == " k7Qx9z " && len(got) > 1 || tt.value != " k7Qx9z " && !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q has %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
	if got := HeaderSecrets(http.Header{"X-B": {"k7Qx9z", "k7Qx9z"}, "X-A": {"k7Qx9z", "a1b2c3"}}); !slices.Equal(got, []string{"a1b2c3", "k7Qx9z"}) {
		t.Errorf("several have %q, want each once, in order", got)
	}
}

// TestDroppedHeaders: what a header held that is not kept is not in the answer
// either.
func TestDroppedHeaders(t *testing.T) {
	const secret, other = "k7Qx9zPw3Lm", "p4Wm8vNc2Rt"
	for _, tt := range []struct {
		name, value string
		gone        []string
	}{
		{"Authorization", "Bearer " + secret, []string{secret}},
		{"Authorization", "elevenchars " + secret, []string{secret}},
		{"Authorization", "twelvecharss " + secret, nil},
		{"Authorization", secret, []string{secret}},
		{"Cookie", "sid=" + secret + "; tok=" + other, []string{secret, other}},
		{"Cookie", "sid=" + secret, []string{secret}},
		{"Authorization", "Basic " + b64("ann:"+secret), []string{secret, b64("ann:" + secret)}},
		{"Authorization", "Basic " + b64(secret), []string{b64(secret)}},
		{"X-Nobody-Knows", secret, nil},
	} {
		i := with(func(i *vcr.Interaction) {
			i.Request.Header = http.Header{tt.name: {tt.value}}
			i.Response.Body = []byte("it says " + tt.value + " and " + secret + " and " + other)
		})
		got := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}}).Interaction(i)
		if got.Request.Header.Get(tt.name) != "" {
			t.Errorf("%s: %q is kept", tt.name, tt.value)
		}
		if body := string(got.Response.Body); tt.gone == nil && tt.name == "Authorization" && body != string(i.Response.Body) {
			t.Errorf("%s: %q: the answer becomes %s", tt.name, tt.value, body)
		}
		for _, s := range []string{secret, other, b64("ann:" + secret), b64(secret)} {
			body := string(got.Response.Body)
			if there := strings.Contains(body, s); there && slices.Contains(tt.gone, s) {
				t.Errorf("%s: %q: %s is in the answer: %s", tt.name, tt.value, s, body)
			} else if !there && strings.Contains(string(i.Response.Body), s) && !slices.Contains(tt.gone, s) && tt.gone != nil && s == other {
				t.Errorf("%s: %q: %s is gone from the answer: %s", tt.name, tt.value, s, body)
			}
		}
	}
}

// TestHeadersKept: of headers those are written that are listed, also by their
// beginning, and a value that is secret by the name of its header is not.
func TestHeadersKept(t *testing.T) {
	r := newRedactor(t, &Rules{RequestHeaders: []string{"x-team", "X-Trace-*", "X-Api-Key"}, ResponseHeaders: []string{}, Users: []string{}, Places: []Place{}})
	i := with(func(i *vcr.Interaction) {
		i.Request.Header = http.Header{"X-Team": {"a", "b"}, "X-Trace-Id": {"1"}, "X-Tracer": {"2"}, "Accept": {"*/*"}, "X-Api-Key": {"word", "***", "true"}}
		i.Response.Header = http.Header{"Content-Type": {"text/plain"}}
		i.Response.Trailer = http.Header{"X-Sum": {"1"}, "X-Api-Key": {"word"}}
	})
	got := r.Interaction(i)
	mark := r.mark("header", "word")
	if h := got.Request.Header; len(h) != 3 || !slices.Equal(h["X-Team"], []string{"a", "b"}) || h.Get("X-Trace-Id") != "1" || !slices.Equal(h["X-Api-Key"], []string{mark, "***", "true"}) {
		t.Errorf("of the request %v are kept", h)
	}
	if len(got.Response.Header) != 0 || len(got.Response.Trailer) != 1 || got.Response.Trailer.Get("X-Sum") != "1" {
		t.Errorf("of the answer %v and %v are kept", got.Response.Header, got.Response.Trailer)
	}
	if i.Request.Header = nil; r.Interaction(i).Request.Header != nil {
		t.Error("a request without headers has got some")
	}
}

// TestHere: the folders of this process are those of its home and of what is
// temporary.
func TestHere(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	want := []Place{{"temp", os.TempDir()}, {"temp", "/tmp"}, {"temp", "/var/tmp"}, {"home", home}}
	if got := Here(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	t.Setenv("USER", "zoe.miller")
	if got := string(newRedactor(t, nil).Interaction(post("by zoe.miller in " + home + "/x")).Request.Body); strings.Contains(got, "miller") || strings.Contains(got, home) {
		t.Errorf("by default %s is kept", got)
	}
	t.Setenv("HOME", "")
	if got := Here(); len(got) != 3 {
		t.Errorf("without a home: %v", got)
	}
}

// TestRememberedAreBounded: of secrets that were found so many are kept, and no
// more.
func TestRememberedAreBounded(t *testing.T) {
	r := newRedactor(t, nil)
	found := map[string]string{}
	for n := range maxSeen + 2 {
		found[fmt.Sprintf("k7Qx9zPw3Lm%d", n)] = "header"
	}
	if r.remember(found); len(r.seen) != maxSeen {
		t.Errorf("%d are kept, want %d", len(r.seen), maxSeen)
	}
}

// TestScanOnce: what stands in a file several times is found once, where it
// stands first.
func TestScanOnce(t *testing.T) {
	found := newRedactor(t, nil).Scan([]byte("a\n" + githubKey + "\n" + awsKey + " " + githubKey + "\n"))
	if len(found) != 2 || found[0].Line != 2 || found[1].Line != 3 || found[0].String() != "line 2: github: ghp_… (40 bytes)" {
		t.Errorf("found %v", found)
	}
}

// TestExcerpt: of a long secret the first four bytes are told, but for those
// that a terminal would take for something else, and of one that people have
// chosen or named nothing is.
func TestExcerpt(t *testing.T) {
	for _, tt := range []struct{ name, secret, rule, want string }{
		{"long", "~ 0123456789abcdefghi", "header", "~ 01… (21 bytes)"},
		{"at the bound", "0123456789abcdefghij", "header", "0123… (20 bytes)"},
		{"short", "0123456789abcdefghi", "header", "… (19 bytes)"},
		{"a literal", "0123456789abcdefghij", "literal", "… (20 bytes)"},
		{"a value of JSON", "0123456789abcdefghij", "json", "… (20 bytes)"},
		{"an assigned value", "0123456789abcdefghij", "value", "… (20 bytes)"},
		{"a parameter", "0123456789abcdefghij", "query", "… (20 bytes)"},
		{"control characters", "\x1b\x7f ~0123456789abcdef", "header", "?? ~… (20 bytes)"},
		{"a letter beyond ASCII", "aéb0123456789abcdefg", "header", "a?b… (21 bytes)"},
		{"cut in a letter", "abcé0123456789abcdefg", "header", "abc?… (22 bytes)"},
	} {
		if got := mask([]byte(tt.secret), tt.rule); got != tt.want {
			t.Errorf("%s: %q is told as %q, want %q", tt.name, tt.secret, got, tt.want)
		}
	}
}

// TestScanOfCassettes: a file of recorded traffic is looked at as such: what
// only its form says is secret is found, on the line of its exchange, and who
// asks is a guess unless the rules name them.
func TestScanOfCassettes(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		guess      bool
		i          *vcr.Interaction
	}{
		{"a code in an address", "query", false, at("https://h.example/cb?grant_type=authorization_code&code=" + word)},
		{"a user whom the rules name", "user", false, post(zip(`{"user":"rstevens"}`))},
		{"another user", "field", true, post(zip(`{"user":"jbezos"}`))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := append([]byte("\n\n"), (&vcr.File{Interactions: []*vcr.Interaction{post("{}"), tt.i}}).Encode()...)
			f, err := vcr.Parse("a.yaml", data)
			if err != nil {
				t.Fatal(err)
			}
			found := newRedactor(t, rules()).Scan(data)
			if len(found) != 1 || found[0].Rule != tt.rule || found[0].Guess != tt.guess || found[0].Line != f.Interactions[1].Line {
				t.Errorf("found %+v, want %s on line %d", found, tt.rule, f.Interactions[1].Line)
			}
		})
	}
}
