// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// whatwg reads a whole stream as the specification says, word for word, to
// judge both the writer and the reader by: decode, cut in lines, interpret.
func whatwg(stream string) (events []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	var name, data string
	lines := strings.Split(stream, "\n")
	for _, line := range lines[:len(lines)-1] { // what no end follows is dropped
		if line == "" {
			if data != "" {
				events = append(events, name+"|"+strings.TrimSuffix(data, "\n"))
			}
			name, data = "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			data += value + "\n"
		}
	}
	return events
}

// dribble is a reader that gives a few bytes at a time.
type dribble struct {
	b []byte
	r *rand.Rand
}

func (p *dribble) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.b[:min(len(p.b), 1+p.r.IntN(4))])
	p.b = p.b[n:]
	return n, nil
}

// FuzzPair writes events and reads them back, over any framing that is
// allowed and any pieces.
func FuzzPair(f *testing.F) {
	f.Add("", `{"a":1}`, "error", "two\nlines", uint64(0))
	f.Add("message_start", "", "", "\n\r\n\r", uint64(0x13))
	f.Add("x", " leading", "", "\ufeffBOM", uint64(0xff))
	f.Add("", "data: data:", "", ":comment", uint64(0x2a))
	f.Fuzz(func(t *testing.T, name1, data1, name2, data2 string, how uint64) {
		if strings.ContainsAny(name1+name2, "\r\n") {
			return // a name is one line
		}
		r := rand.New(rand.NewPCG(how, 1))
		var out []byte
		if how&1 != 0 {
			out = append(out, "\ufeff"...)
		}
		var want []string
		for _, e := range []struct{ name, data string }{{name1, data1}, {name2, data2}} {
			if how&2 != 0 {
				out = append(out, ": comment\n\nid: 7\nretry: 9\n"...)
			}
			out = append(out, Data(e.name, []byte(e.data))...)
			want = append(want, e.name+"|"+strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(e.data))
		}
		switch how >> 2 & 3 {
		case 1:
			out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
		case 2:
			out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r"))
		case 3:
			out = bytes.ReplaceAll(out, []byte("data: "), []byte("data:"))
			if strings.HasPrefix(data1+"\n"+data2, " ") || strings.Contains("\n"+data1+"\n"+data2, "\n ") ||
				strings.Contains(data1+data2+name1+name2, "data: ") || strings.ContainsAny(data1+data2, "\r") {
				return // the space would be taken for the field's
			}
		}
		if got := whatwg(string(out)); data1 != "" && data2 != "" {
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%q by the specification (-written +read):\n%s", out, d)
			}
		}
		events := NewReader(bufio.NewReaderSize(&dribble{out, r}, 16), 1<<20)
		var got []string
		for {
			ev, err := events.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || ev.Stray || ev.Last {
				t.Fatalf("%q: %+v, %v", out, ev, err)
			}
			got = append(got, ev.Name+"|"+string(ev.Data))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-written +read):\n%s", out, d)
		}
	})
}
