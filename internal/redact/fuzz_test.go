// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// FuzzInteraction redacts anything: it ends, it does not change what it is
// given, chunks fit, and twice is the same as once.
func FuzzInteraction(f *testing.F) {
	for _, c := range table() {
		f.Add(c.i.Request.URL, c.i.Request.Header.Get("Content-Type"), c.i.Request.Body, c.i.Response.Header.Get("Content-Type"), c.i.Response.Body)
	}
	f.Add("%%%41%", "multipart/form-data; boundary=x", []byte("--x"), "text/event-stream", []byte("data: {\"a\":\"\\ud83d\n\ndata:data"))
	r, err := New(rules())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, u, askedKind string, asked []byte, kind string, body []byte) {
		i := post("")
		i.Request.URL, i.Request.Body, i.Response.Body = u, asked, body
		i.Request.Header["Content-Type"], i.Response.Header["Content-Type"] = []string{askedKind}, []string{kind}
		for n := len(body); n > 0; n -= 7 {
			i.Meta.Chunks = append(i.Meta.Chunks, vcr.Chunk{Size: min(n, 7)})
		}
		before := deepCopy(i)
		got := r.Interaction(i)
		if diff := cmp.Diff(before, i, same); diff != "" {
			t.Fatalf("the argument was changed (-before +after):\n%s", diff)
		}
		size := 0
		for _, c := range got.Meta.Chunks {
			if c.Size < 0 {
				t.Fatalf("a chunk of %d bytes", c.Size)
			}
			size += c.Size
		}
		if size != len(got.Response.Body) {
			t.Fatalf("chunks of %d bytes for a body of %d", size, len(got.Response.Body))
		}
		if diff := cmp.Diff(got, r.Interaction(got), same); diff != "" {
			t.Fatalf("not the same when done twice (-once +twice):\n%s", diff)
		}
		if strings.Contains(string(got.Request.Body)+string(got.Response.Body)+got.Request.URL, literal) {
			t.Fatalf("a literal is left in %+v", got)
		}
	})
}

// FuzzScan scans anything.
func FuzzScan(f *testing.F) {
	for _, c := range table() {
		f.Add((&vcr.File{Interactions: []*vcr.Interaction{c.i}}).Encode())
	}
	for _, end := range []string{`\`, "\r", "\\\r"} { // what may stand before the end of a line
		f.Add([]byte("a" + end))
	}
	r, err := New(rules())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := bytes.Count(data, []byte{'\n'}) + 1
		for _, found := range r.Scan(data) {
			if found.Line < 1 || found.Line > lines || found.Rule == "" {
				t.Errorf("found %v in %d lines", found, lines)
			}
		}
	})
}

func BenchmarkInteraction(b *testing.B) {
	var stream strings.Builder
	for stream.Len() < 1<<20 {
		fmt.Fprintf(&stream, chat, "some words of an answer ")
	}
	for _, c := range []struct {
		name string
		i    *vcr.Interaction
	}{
		{"stream", sse(stream.String())},
		{"json", answer("application/json", `{"content":"`+strings.Repeat("a sentence of an answer, with /some/path in it: done. ", 20_000)+`"}`)},
		{"image", answer("application/json", `{"data":"`+b64(strings.Repeat("\x89PNG\xff\x00\x13noise\xe0", 60_000))+`"}`)},
	} {
		r, err := New(rules())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.i.Response.Body)))
			for b.Loop() {
				r.Interaction(c.i)
			}
		})
		b.Run(c.name+" scanned", func(b *testing.B) {
			data := (&vcr.File{Interactions: []*vcr.Interaction{c.i}}).Encode()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r.Scan(data)
			}
		})
	}
}
