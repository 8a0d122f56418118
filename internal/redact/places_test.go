// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestLayers: what is decoded knows of each byte where it came from, also where
// an escape is cut off.
func TestLayers(t *testing.T) {
	for _, tt := range []struct {
		name, in, text string
		at             []int
		decode         func([]byte) *layer
	}{
		{"plain", "ab", "ab", []int{0, 1, 2}, unescape},
		{"letters", `\n\t\r\b\f\/\"\\`, "\n\t\r  /\"\\", []int{0, 2, 4, 6, 8, 10, 12, 14, 16}, unescape},
		{"characters", `\u0041\x42\U00000043.`, "ABC.", []int{0, 6, 10, 20, 21}, unescape},
		{"of two bytes", `\u00e9x`, "éx", []int{0, 0, 6, 7}, unescape},
		{"cut off", `\u004`, "\x04", []int{0, 5}, unescape},
		{"cut off at once", `\u`, "\x00", []int{0, 2}, unescape},
		{"no digit", `\u00g1`, "\x00g1", []int{0, 4, 5, 6}, unescape},
		{"a backslash at the end", `a\`, `a\`, []int{0, 1, 2}, unescape},
		{"a line of YAML", "a\\\n \tb", "ab", []int{0, 5, 6}, unescape},
		{"percent", "%41%7ab", "Azb", []int{0, 3, 6, 7}, unpercent},
		{"capitals", "%4F%c3", "O\xc3", []int{0, 3, 6}, unpercent},
		{"no digits", "%4g%", "%4g%", []int{0, 1, 2, 3, 4}, unpercent},
		{"cut off", "x%4", "x%4", []int{0, 1, 2, 3}, unpercent},
		{"at the end", "x%41", "xA", []int{0, 1, 4}, unpercent},
	} {
		l := tt.decode([]byte(tt.in))
		if string(l.text) != tt.text || cmp.Diff(tt.at, l.at) != "" {
			t.Errorf("%s: %q is %q at %v, want %q at %v", tt.name, tt.in, l.text, l.at, tt.text, tt.at)
		}
	}
	for in, want := range map[string]string{"plain": "plain", `a"b\c`: `a\"b\\c`} {
		if got := escapeJSON(in); got != want {
			t.Errorf("%q in JSON is %q", in, got)
		}
	}
	for in, want := range map[string]string{"plain-_.": "plain-_.", "a+b": "a%2Bb", "a&b": "a%26b", "a%b": "a%25b", `a"b`: "a%22b"} {
		if got := escapeQuery(in); got != want {
			t.Errorf("%q in a query is %q", in, got)
		}
	}
}

// TestEdits: edits that overlap become one, what is certain before what is
// guessed, and the parts of a body grow with what is put into them.
func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []edit
		want []edit
	}{
		{"none", nil, nil},
		{"in another order", []edit{{5, 6, "b", "x"}, {1, 2, "a", "x"}}, []edit{{1, 2, "a", "x"}, {5, 6, "b", "x"}}},
		{"side by side", []edit{{1, 3, "a", "x"}, {3, 5, "b", "y"}}, []edit{{1, 3, "a", "x"}, {3, 5, "b", "y"}}},
		{"over each other", []edit{{1, 4, "a", "x"}, {3, 6, "b", "y"}}, []edit{{1, 6, "a", "x"}}},
		{"one in the other", []edit{{2, 3, "b", "y"}, {1, 6, "a", "x"}}, []edit{{1, 6, "a", "x"}}},
		{"the longer first", []edit{{1, 3, "b", "y"}, {1, 6, "a", "x"}}, []edit{{1, 6, "a", "x"}}},
		{"a guess", []edit{{1, 6, "", guessRule}, {2, 3, "b", "y"}}, []edit{{1, 6, "b", "y"}}},
	} {
		if d := cmp.Diff(tt.want, tidy(tt.in), cmp.AllowUnexported(edit{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
	sizes := func(list ...int) (out []vcr.Chunk) {
		for _, n := range list {
			out = append(out, vcr.Chunk{Size: n})
		}
		return out
	}
	for _, tt := range []struct {
		name     string
		in, want []vcr.Chunk
		edits    []edit
	}{
		{"no edit", sizes(3, 4), sizes(3, 4), nil},
		{"no part", nil, nil, []edit{{0, 1, "abc", ""}}},
		{"in the first", sizes(3, 4), sizes(5, 4), []edit{{0, 1, "abc", ""}}},
		{"in the second", sizes(3, 4), sizes(3, 6), []edit{{3, 4, "abc", ""}}},
		{"at the end of the first", sizes(3, 4), sizes(5, 4), []edit{{2, 3, "abc", ""}}},
		{"over both", sizes(3, 4), sizes(5, 2), []edit{{2, 5, "abc", ""}}},
		{"over three", sizes(3, 1, 4), sizes(5, 0, 3), []edit{{2, 5, "abc", ""}}},
		{"in both", sizes(3, 4), sizes(5, 6), []edit{{0, 1, "abc", ""}, {4, 5, "abc", ""}}},
		{"taken out", sizes(3, 4), sizes(1, 4), []edit{{0, 2, "", ""}}},
	} {
		if d := cmp.Diff(tt.want, fitChunks(tt.in, tt.edits)); d != "" {
			t.Errorf("parts with an edit %s (-want +got):\n%s", tt.name, d)
		}
	}
	if got := string(apply([]byte("abcdef"), []edit{{1, 2, "XY", ""}, {4, 6, "", ""}})); got != "aXYcd" {
		t.Errorf("applied: %s", got)
	}
}

// TestKeysOverLines: a key that is broken into lines is gone with its last
// letters, and a word below a whole key stays.
func TestKeysOverLines(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	key := githubKey[:30] + "wxyzabcd" // which is none without its last letters
	mark := r.mark("github", key)
	for text, want := range map[string]string{
		"use " + key[:20] + "\n" + key[20:] + " now":               "use " + mark + " now",
		"use " + key[:30] + "\n" + key[30:] + " now":               "use " + mark + " now",
		"use " + key[:10] + "\n" + key[10:30] + "\n" + key[30:]:    "use " + mark,
		"use " + githubKey + "\nword by word":                      "use " + r.mark("github", githubKey) + "\nword by word",
		"| " + key[:30] + " |\n| " + key[30:] + " |\n| and more |": "| " + mark + " |\n| and more |",
	} {
		if got := string(r.Interaction(post(text)).Request.Body); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
	}
}

// TestMorePlaces are secrets in places of which others of the kind have a test:
// a plain event, the end of an address, a user that only the answer names.
func TestMorePlaces(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
	key, user := r.mark("github", githubKey), Mark("user")
	for want, i := range map[string]*vcr.Interaction{
		"data: key " + key + "\n\n":                        sse("data: key " + githubKey + "\n\n"),
		"event: x\ndata: key " + key + "\n\n":              answer("", "event: x\ndata: key "+githubKey+"\n\n"),
		"id: 1\n: " + key + "\n":                           answer("text/plain", "id: 1\n: "+githubKey+"\n"),
		`{"user":"` + user + `","note":"by ` + user + `"}`: answer("application/json", `{"user":"jdoe42","note":"by jdoe42"}`),
		`{"user":"` + user + `","note":"by"}`:              answer("application/json", `{"user":"j d","note":"by"}`),
	} {
		if got := string(r.Interaction(i).Response.Body); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", i.Response.Body, got, want)
		}
	}
	for in, want := range map[string]string{
		"https://h/x?y=1#" + githubKey: "https://h/x?y=1#" + key, "https://h/x#" + githubKey: "https://h/x#" + key, "https://h/x?a=1;key=word;b=2": "https://h/x?a=1;key=" + r.mark("query", "word") + ";b=2",
		"https://h/x?key=": "https://h/x?key=", "https://h/x?" + githubKey + "=1": "https://h/x?" + key + "=1", "https://h/x?key": "https://h/x?key", "https://h/x?code=abc": "https://h/x?code=abc", "https://h/x?key=***": "https://h/x?key=***",
		"https://h/x?a=b&&c=" + githubKey: "https://h/x?a=b&&c=" + key,
	} {
		if got := r.Request(vcr.Request{URL: in}).URL; got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, want)
		}
	}
	// A field of a form is taken out whole, whatever lines are in it, and what
	// only begins as gzip is a text.
	if got := string(r.Interaction(multipart("api_key", "first\n\nsecond")).Request.Body); strings.Contains(got, "first") || strings.Contains(got, "second") || !strings.Contains(got, "whisper") {
		t.Errorf("a field over lines: %s", got)
	}
	torn := multipart("model", "x")
	torn.Request.Body = []byte("the first half with " + githubKey)
	if got := string(r.Interaction(torn).Request.Body); got != "the first half with "+key {
		t.Errorf("a form without what stands between its parts: %s", got)
	}
	if got := string(r.Interaction(post(zip("x")[:10] + " key " + githubKey)).Request.Body); strings.Contains(got, githubKey) {
		t.Errorf("what begins as gzip: %q", got)
	}
	// What only begins as a text in base64 hides no key before it.
	half := b64(strings.Repeat("words of a text ", 4) + strings.Repeat("\x00\xff", 9))
	if got, want := string(r.Interaction(post("key "+githubKey+" and "+half)).Request.Body), "key "+key+" and "+half; got != want {
		t.Errorf("before base64: %s, want %s", got, want)
	}
	// What is compressed is unpacked and packed again, also where it was cut off.
	cut := zip(`{"password":"` + word + `","note":"` + strings.Repeat("more of it, ", 9) + `"}`)
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	_, _ = zw.Write([]byte(`{"password":"` + word + `"}`)) // a buffer takes all
	_ = zw.Close()
	for name, tt := range map[string]struct {
		body string
		open func(io.Reader) (io.ReadCloser, error)
	}{
		"zlib":              {z.String(), zlib.NewReader},
		"gzip, without end": {cut[:len(cut)-8], func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	} {
		zr, err := tt.open(bytes.NewReader(r.Interaction(post(tt.body)).Request.Body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if plain, err := io.ReadAll(zr); err != nil || !strings.HasPrefix(string(plain), `{"password":"`+r.mark("json", word)+`"`) {
			t.Errorf("%s: packed again it holds %q, %v", name, plain, err)
		}
	}
	// What ends before it could say that it is compressed is a text, too.
	for _, text := range []string{"x", "\x1f", "\x1f\x8b", "x\x9c"} {
		if got := string(r.Interaction(post(text)).Request.Body); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	// A short key counts as a word of its own alone.
	i := with(func(i *vcr.Interaction) {
		i.Request.Header = http.Header{"Authorization": {"Bearer k7Qx9z"}}
		i.Response.Body = []byte("ak7Qx9z k7Qx9zb k7Qx9z-c k7Qx9z")
	})
	if got := string(r.Interaction(i).Response.Body); !strings.HasPrefix(got, "ak7Qx9z k7Qx9zb k7Qx9z-c REDACTED-header-") {
		t.Errorf("a short key: %s", got)
	}
}

// TestPacked: a body whose format is not unpacked is named, and no other.
func TestPacked(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"a text", "PK", ""},
		{"nothing", "", ""},
		{"gzip", zip("a text"), ""},
		{"gzip, twice", zip(zip("a text")), "gzip or zlib, twice"},
		{"zip", "PK\x03\x04a", "zip"},
		{"zip in gzip", zip("PK\x03\x04a"), "zip"},
		{"zstd", "\x28\xB5\x2F\xFDa", "zstd"},
		{"gzip that is none", "\x1F\x8Ba", "broken gzip"},
	} {
		if got := Packed([]byte(tt.body)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestUserinfoIsLearned: the password of an address in a text is taken out wherever it
// stands, also alone.
func TestUserinfoIsLearned(t *testing.T) {
	i := post(`{"messages":[{"role":"user","content":"see https://rick:` + word + `@g.example/v1"}]}`)
	i.Response.Header = map[string][]string{"Content-Type": {"text/plain"}}
	i.Response.Body = []byte("The last part was " + word + ", was it not?")
	got := newRedactor(t, nil).Interaction(i)
	if strings.Contains(string(got.Request.Body), word) || strings.Contains(string(got.Response.Body), word) {
		t.Errorf("kept it in\n%s\n%s", got.Request.Body, got.Response.Body)
	}
}

// TestEmptyBody: what a body without bytes is said to have come in stays.
func TestEmptyBody(t *testing.T) {
	i := post(`{"a":1}`)
	i.Response.Body, i.Meta.Chunks = nil, []vcr.Chunk{{}}
	if got := newRedactor(t, nil).Interaction(i); len(got.Meta.Chunks) != 1 || len(got.Response.Body) != 0 {
		t.Errorf("%d chunks, %d bytes", len(got.Meta.Chunks), len(got.Response.Body))
	}
}
