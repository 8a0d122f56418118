// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// noise makes a text that is hard on YAML: all that recorders have been seen
// to lose is likely in it.
func noise(r *rand.Rand) string {
	pieces := []string{
		"a", "word ", " ", "  ", "\n", "\n\n", "\t", "\r\n", "\r", ":", ": ", "#", " #", "-", "- ", "|", ">", "'", `"`, `\`, `\n`, "{", "}",
		"[", "]", "&a", "*a", "!", "%", "@", "`", "~", "null", "true", "no", "1e3", "0x1f", "010", "1:30", "2026-11-28", "=", "<<", "?", ",",
		"\x00", "\x07", "\x1b", "\x7f", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe", "é", "漢", "😀", "\xff", "\xc3", "---", "...", "data: {\"a\":1}\n\n",
		strings.Repeat("long line of words ", 8),
	}
	var b strings.Builder
	for range r.IntN(9) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func noisy(r *rand.Rand) *File {
	f := &File{Path: "noise.yaml", Format: GoVCR1}
	for range 1 + r.IntN(3) {
		i := &Interaction{
			Request:  Request{Method: "POST", URL: "http://127.0.0.1/v1?q=" + noise(r), Header: http.Header{}, Body: []byte(noise(r))},
			Response: Response{Status: "200 OK", Code: 200, Header: http.Header{}, Body: []byte(noise(r)), Duration: time.Duration(r.IntN(1e9))},
			Meta:     Meta{Outcome: Complete, Attempt: 1},
		}
		for range r.IntN(3) {
			i.Request.Header[http.CanonicalHeaderKey("X"+noise(r))] = []string{noise(r), noise(r)}
			i.Response.Header[http.CanonicalHeaderKey("Y"+noise(r))] = []string{noise(r)}
		}
		if r.IntN(2) == 0 {
			i.Meta = Meta{
				Recorded: time.Unix(1_790_000_000, 0).UTC(), Outcome: Aborted, Error: noise(r), Attempt: 2, Model: noise(r),
				Chunks: []Chunk{{3, 0}, {4, 60 * time.Millisecond}},
			}
			i.Response.Trailer = http.Header{"T": {noise(r)}}
		}
		f.Interactions = append(f.Interactions, i)
	}
	return f
}

var same = cmp.Options{
	cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Interaction{}, "Line"), cmpopts.IgnoreUnexported(Meta{}),
}

// TestEncode writes texts that are hard to write, and reads them three ways:
// quickly, with a reader of all of YAML, and with go-vcr itself.
func TestEncode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 1000 {
		f := noisy(r)
		data := f.Encode()
		if _, ok := parseFast(data, false); !ok {
			t.Fatalf("file %d is not read quickly:\n%s", n, data)
		}
		for _, how := range []struct {
			name string
			read func() (*File, error)
		}{
			{"quickly", func() (*File, error) { return Parse(f.Path, data) }},
			{"in its own bytes", func() (*File, error) {
				list, _ := parseFast(bytes.Clone(data), true)
				got := &File{Path: f.Path, Interactions: list}
				for _, i := range list { // what is added to one body is not in the next
					_ = append(append(i.Request.Body, "added"...), i.Response.Body...)
					_ = append(i.Response.Body, "added"...)
				}
				return got, got.takeMeta()
			}},
			{"as YAML", func() (*File, error) { return Parse(f.Path, append(data[:len(data):len(data)], "# a comment\n"...)) }},
		} {
			got, err := how.read()
			if err != nil {
				t.Fatalf("file %d, read %s: %v\n%s", n, how.name, err, data)
			}
			if diff := cmp.Diff(f.Interactions, got.Interactions, same); diff != "" {
				t.Fatalf("file %d, read %s (-written +read):\n%s\n%s", n, how.name, diff, data)
			}
		}
		if n%10 == 0 {
			stock(t, f, data)
		}
	}
}

// asStock is an interaction as go-vcr has it. What we say of it besides goes
// by in a header of its own.
func asStock(i *Interaction) *cassette.Interaction {
	header := i.Response.Header.Clone()
	delete(header, MetaHeader)
	return &cassette.Interaction{
		Request:  cassette.Request{Body: string(i.Request.Body), Headers: i.Request.Header, URL: i.Request.URL, Method: i.Request.Method},
		Response: cassette.Response{Body: string(i.Response.Body), Headers: header, Status: i.Response.Status, Code: i.Response.Code, Duration: i.Response.Duration},
	}
}

var sameStock = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(cassette.Response{})}

// stock loads what Encode wrote with go-vcr, which finds all of it.
func stock(t *testing.T, f *File, data []byte) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cassette")
	if err := os.WriteFile(name+".yaml", data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cassette.Load(name)
	if err != nil {
		t.Fatalf("go-vcr cannot load it: %v\n%s", err, data)
	}
	var want []*cassette.Interaction
	for _, i := range f.Interactions {
		want = append(want, asStock(i))
	}
	for _, i := range c.Interactions {
		delete(i.Response.Headers, MetaHeader)
	}
	if diff := cmp.Diff(want, c.Interactions, sameStock); diff != "" {
		t.Fatalf("go-vcr reads it otherwise (-written +read):\n%s\n%s", diff, data)
	}
}

// TestReadStock reads what go-vcr wrote, all of it.
func TestReadStock(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		f := noisy(r)
		c := cassette.New(filepath.Join(t.TempDir(), "cassette"))
		for _, i := range f.Interactions {
			i.Response.Trailer = nil // it has none
			c.AddInteraction(asStock(i))
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		got, err := Read(c.File)
		if err != nil {
			t.Fatalf("file %d: %v", n, err)
		}
		var read []*cassette.Interaction
		for _, i := range got.Interactions {
			read = append(read, asStock(i))
		}
		if diff := cmp.Diff(c.Interactions, read, sameStock); diff != "" {
			data, _ := os.ReadFile(c.File)
			t.Fatalf("file %d reads otherwise (-written +read):\n%s\n%s", n, diff, data)
		}
	}
}

func TestHARBothWays(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		f := noisy(r)
		for _, i := range f.Interactions {
			i.Response.Status = "200 OK"
			for _, h := range []http.Header{i.Request.Header, i.Response.Header} {
				clear(h) // JSON holds no invalid UTF-8
				h["X-Note"] = []string{"a", "b"}
			}
			i.Request.URL = "http://127.0.0.1/v1?q=1"
		}
		data, err := f.EncodeHAR()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("x.har", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(f.Interactions, got.Interactions, same); diff != "" {
			t.Fatalf("-written +read:\n%s", diff)
		}
	}
}

func TestRefused(t *testing.T) {
	good := "---\nversion: 1\ninteractions:\n- request: {url: http://a, method: GET, body: '', headers: {}}\n  response: {code: 200, status: 200 OK, body: x, headers: {}, duration: 1ms}\n"
	tests := []struct{ name, in, want string }{
		{"good", good, ""},
		{"an empty duration", strings.Replace(good, "1ms", `""`, 1), ""},
		{"a duration in nanoseconds", strings.Replace(good, "1ms", "1000000", 1), ""},
		{"empty", "", "x.yaml:1: the file is empty"},
		{"a document of nothing", "---\n", "x.yaml:2:1: the document is null; was the recording interrupted?"},
		{"null interaction", "version: 1\ninteractions:\n- null\n", "x.yaml:3:3: an interaction is null"},
		{"version 9", "version: 9\ninteractions: []\n", `x.yaml:1:10: version "9" is unknown: want 1 (go-vcr v1 and v2, vcrpy) or 2 (go-vcr v3 and v4)`},
		{"no version", "interactions: []\n", "x.yaml:1:1: the version is missing: is this a cassette?"},
		{"no interactions", "version: 1\n", "x.yaml:1:1: the key interactions is missing: is this a cassette?"},
		{"a key twice", strings.Replace(good, "method: GET", "method: GET, method: PUT", 1), `x.yaml:4:41: duplicate key "method"; the first is at line 4`},
		{"conflict", "version: 1\n<<<<<<< HEAD\ninteractions: []\n=======\n>>>>>>> other\n", "x.yaml:2:1: the file contains merge conflict markers; choose one side, or record it again"},
		{"second document", "version: 1\ninteractions: []\n---\na: 1\n", "x.yaml:3: a cassette must hold exactly one YAML document, but this file has more"},
		{"no code", strings.Replace(good, "code: 200, ", "", 1), "x.yaml:5:13: a response has no code"},
		{"a code that is none", strings.Replace(good, "code: 200", "code: ok", 1), `x.yaml:5:20: "ok" is not a status code`},
		{"meta of the future", strings.Replace(good, "body: x, headers: {}", "body: x, headers: {X-Rehearse-Meta: [v2]}", 1), `x.yaml:4: interaction 1: X-Rehearse-Meta: version "v2" is unknown; this program knows v1`},
		{"not YAML", "version: [1\n", "x.yaml:1: not YAML: did not find expected ',' or ']'"},
		{"Latin 1", strings.Replace(good, "body: x", "body: \xe9", 1), "x.yaml:5: not YAML: invalid trailing UTF-8 octet"},
		{"a control character", strings.Replace(good, "body: x", "body: \x01", 1), "x.yaml:5: not YAML: control characters are not allowed"},
		{"wrong at the first line", "version: 1 : 2\n", "x.yaml:1: not YAML: mapping values are not allowed in this context"},
		{"a second document that is none", "version: 1\ninteractions: []\n---\na: [\n", "x.yaml:4: not YAML: did not find expected node content"},
		{"only a comment", "# later\n", "x.yaml:1: the file contains no YAML document; was the recording interrupted?"},
		{"HAR that breaks off", "{\"log\": {\n\"entries\": [\n{", "x.yaml:3: not HAR: unexpected end of JSON input"},
		{"HAR of another kind", "{\"log\": {\n\"entries\": [{\"response\": {\n\"status\": \"200\"}}]}}", "x.yaml:3: not HAR: json: cannot unmarshal string into Go struct field harResponse.log.entries.response.status of type int"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(test.in))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestForeign loads every foreign cassette of the data folder, writes it and
// reads it again.
func TestForeign(t *testing.T) {
	data := os.Getenv("REHEARSE_DATA")
	if data == "" {
		t.Skip("REHEARSE_DATA is not set: it names the folder with recorded data")
	}
	paths, err := filepath.Glob(filepath.Join(data, "cassettes", "*", "*.yaml"))
	if err != nil || len(paths) < 22 {
		t.Fatalf("found %d cassettes, want 22 or more (%v)", len(paths), err)
	}
	captures, _ := filepath.Glob(filepath.Join(data, "argo-captures", "*", "*.meta.json"))
	dirs := map[string]bool{}
	for _, c := range captures {
		dirs[filepath.Dir(c)] = true
	}
	if len(dirs) < 3 {
		t.Fatalf("found %d folders of captures, want 3", len(dirs))
	}
	for dir := range dirs {
		paths = append(paths, dir)
	}
	interactions := 0
	for _, path := range paths {
		f, err := Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		interactions += len(f.Interactions)
		for _, form := range []struct {
			name string
			data func() ([]byte, error)
		}{{"go-vcr", func() ([]byte, error) { return f.Encode(), nil }}, {"HAR", f.EncodeHAR}} {
			out, err := form.data()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse("again", out)
			if err != nil {
				t.Errorf("%s as %s: %v", path, form.name, err)
				continue
			}
			for n, i := range f.Interactions {
				g := again.Interactions[n]
				if !bytes.Equal(i.Request.Body, g.Request.Body) || !bytes.Equal(i.Response.Body, g.Response.Body) {
					t.Errorf("%s as %s: a body of interaction %d has changed", path, form.name, n+1)
				}
			}
			if diff := cmp.Diff(f.Interactions, again.Interactions, same); diff != "" {
				t.Errorf("%s as %s (-was +is):\n%s", path, form.name, diff)
			}
		}
	}
	t.Logf("%d files with %d interactions survive writing and reading", len(paths), interactions)
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "a.yaml")
	long := bytes.Repeat([]byte("0123456789"), 100)
	f := &File{Interactions: []*Interaction{{
		Request:  Request{Method: "POST", URL: "http://127.0.0.1/", Header: http.Header{}, Body: []byte("{}")},
		Response: Response{Status: "200 OK", Code: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: long},
		Meta:     Meta{Outcome: Complete, Attempt: 1},
	}}}
	if err := WriteFile(path, f, 500); err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if first.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", first.Mode())
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Interactions, got.Interactions, same); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	if data, _ := os.ReadFile(path); bytes.Contains(data, long) {
		t.Error("the long body stands in the file")
	}
	// The same again leaves the file alone.
	if err := WriteFile(path, got, 500); err != nil {
		t.Fatal(err)
	}
	if second, _ := os.Stat(path); !os.SameFile(first, second) {
		t.Error("unchanged content was written anew")
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	// A body file with other content is refused.
	bodies, _ := filepath.Glob(path + ".bodies/*")
	if err := os.WriteFile(bodies[0], []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "differs from the recording") {
		t.Errorf("a changed body was read: %v", err)
	}
	// A file of version 2 stays.
	if err := os.WriteFile(path, []byte("version: 2\ninteractions: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, f, 0); err == nil || !strings.Contains(err.Error(), "would lose fields") {
		t.Errorf("a file of version 2 was overwritten: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 5 {
		f.Add(noisy(r).Encode())
	}
	f.Add([]byte("version: 1\ninteractions:\n- request: {uri: http://a, method: GET, body: null, headers: {a: [b]}}\n  response: {status: {code: 200, message: OK}, body: {string: x}, headers: {}}\n"))
	f.Add([]byte(`{"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"http://a"},"response":{"status":200}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz", data)
		if err != nil {
			return
		}
		again, err := Parse("fuzz", file.Encode())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, file.Encode())
		}
		if diff := cmp.Diff(file.Interactions, again.Interactions, same); diff != "" {
			t.Fatal(diff)
		}
	})
}

// fill makes a cassette of about so many bytes, as of a tool-calling agent.
func fill(size int) *File {
	f := &File{}
	event := "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n"
	for n := 0; n*8000 < size; n++ {
		f.Interactions = append(f.Interactions, &Interaction{
			Request: Request{
				Method: "POST", URL: "http://127.0.0.1:1/v1/chat/completions", Header: http.Header{"Content-Type": {"application/json"}},
				Body: fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"question %d %s"}]}`, n, strings.Repeat("x", 2500)),
			},
			Response: Response{
				Status: "200 OK", Code: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body: []byte(strings.Repeat(event, 45)), Duration: time.Millisecond,
			},
		})
	}
	return f
}

func BenchmarkFile(b *testing.B) {
	f := fill(40 << 20)
	data := f.Encode()
	name := filepath.Join(b.TempDir(), "big")
	if err := os.WriteFile(name+".yaml", data, 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Read(name + ".yaml"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("load go-vcr", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := cassette.Load(name); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("save", func(b *testing.B) {
		b.ReportAllocs()
		path := filepath.Join(b.TempDir(), "ours.yaml")
		for b.Loop() {
			os.Remove(path)
			if err := WriteFile(path, f, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("save go-vcr", func(b *testing.B) {
		b.ReportAllocs()
		c, err := cassette.Load(name)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := c.Save(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	data := bytes.Repeat([]byte("0123456789"), 20_000)
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"the same", data, ""},
		{"shorter", data[:len(data)-1], "the file has 199999 of 200000 bytes"},
		{"longer", append(bytes.Clone(data), 'x'), "the content of the file differs from what was written"},
		{"another", append(bytes.Clone(data[:len(data)-1]), 'x'), "the content of the file differs from what was written"},
		{"empty", nil, "the file has 0 of 200000 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(path, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := holds(path, data); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
