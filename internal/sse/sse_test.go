// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// allEvents reads a stream to its end.
func allEvents(r io.Reader, limit int) (events []string, err error) {
	sse := NewReader(bufio.NewReaderSize(r, 16), limit)
	for {
		ev, err := sse.Next()
		if err != nil {
			return events, err
		}
		s := ev.Name + "|" + string(ev.Data)
		if ev.Stray {
			s = "stray " + s
		}
		if ev.Last {
			s += "|last"
		}
		events = append(events, s)
	}
}

func TestEvents(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []string{"|a"}},
		{"no space, two spaces", "data:a\n\ndata:  b\n\n", []string{"|a", "| b"}},
		{"several lines", "data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		{"name", "event: error\ndata: a\n\ndata: b\n\n", []string{"error|a", "|b"}},
		{"a name without data is forgotten", "event: x\n\ndata: a\n\n", []string{"|a"}},
		{"comments, ids, unknown fields", ": c\nid: 1\nretry: 9\nfoo: bar\ndata: a\n\n", []string{"|a"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"mixed", "data: a\rdata: b\n\r\ndata: c\r\n\n", []string{"|a\nb", "|c"}},
		{"BOM", "\ufeffdata: a\n\n", []string{"|a"}},
		{"BOM within is text", "data: \ufeffa\n\n", []string{"|\ufeffa"}},
		{"last line without newline", "data: a\n\ndata: b", []string{"|a", "|b|last"}},
		{"last event without empty line", "data: a\n", []string{"|a|last"}},
		{"empty data", "data:\n\n", []string{"|"}},
		{"colon in the value", "data: a: b\n\n", []string{"|a: b"}},
		{"stray JSON", "data: a\n\n{\"error\": 1}\n", []string{"|a", `stray |{"error": 1}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole":        strings.NewReader(tc.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.in)),
			} {
				got, err := allEvents(r, 100)
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: got error %v", how, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestBreaks(t *testing.T) {
	broken := errors.New("broken")
	got, err := allEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 100)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q and %v", got, err)
	}
	if _, err := allEvents(strings.NewReader("data: "+strings.Repeat("x", 200)), 100); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want %v", err, ErrTooLong)
	}
}

// FuzzEvents checks that how a stream is cut into reads, and which line ends it
// uses, makes no difference.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "data: a\r\rdata: b\r\n\r\n", "\ufeffevent: error\ndata: {}\n\n", ": c\n\n{\"error\":1}\ndata: x",
		"data: " + `{"choices":[{"index":0,"delta":{"content":"Hello"}}]}` + "\n\n" + "data: [DONE]\n\n", "data\n\n:\ndata:  \ndata:\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want, werr := allEvents(bytes.NewReader(in), 64)
		got, gerr := allEvents(iotest.OneByteReader(bytes.NewReader(in)), 64)
		if diff := cmp.Diff(want, got); diff != "" || (werr == io.EOF) != (gerr == io.EOF) {
			t.Errorf("byte by byte (-whole +byte by byte), errors %v and %v:\n%s", werr, gerr, diff)
		}
		if bytes.IndexByte(in, '\r') < 0 {
			crlf := bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n"))
			if got, _ := allEvents(bytes.NewReader(crlf), 64); cmp.Diff(want, got) != "" {
				t.Errorf("with CRLF: got %q, want %q", got, want)
			}
		}
	})
}

func TestIDAndRetry(t *testing.T) {
	r := NewReader(bufio.NewReader(strings.NewReader("id: 1\nretry: 1500\ndata: a\n\nid: 2\n\ndata: b\n\nid: x\x00y\nretry: soon\ndata: c\n\nid: 9\ndata: d")), 100)
	if _, ok := r.Retry(); ok {
		t.Error("a wait was asked for before there was a line")
	}
	want := []Event{
		{ID: "1", Data: []byte("a"), SetsID: true, Retry: 1500 * time.Millisecond},
		{ID: "2", Data: []byte("b")},
		{ID: "2", Data: []byte("c")},
		{ID: "2", Data: []byte("d"), Last: true},
	}
	for _, w := range want {
		ev, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(w, ev); d != "" {
			t.Errorf("event (-want +got):\n%s", d)
		}
	}
	if d, ok := r.Retry(); !ok || d != 1500*time.Millisecond {
		t.Errorf("the stream asks to wait %v (%t), want 1.5s", d, ok)
	}
}

// parsed reads a stream that comes in parts of a size.
func parsed(in []byte, size, limit int) (events []string) {
	p := Parser{Max: limit, Each: func(ev Event) {
		s := ev.Name + "|" + string(ev.Data)
		switch {
		case ev.TooLong:
			s = "too long"
		case ev.Stray:
			s = "stray " + s
		}
		if ev.Last {
			s += "|last"
		}
		events = append(events, s)
	}}
	for len(in) > 0 {
		n := min(size, len(in))
		p.Add(in[:n])
		in = in[n:]
	}
	p.End()
	return events
}

// FuzzParser checks that a stream is the same whether it is read or comes in
// parts.
func FuzzParser(f *testing.F) {
	for _, seed := range []string{"data: a\r\n\r\ndata: b\n\r\rdata: c", "\ufeffevent: x\rdata: 1\rdata: 2\r\r", "{\"a\":1}\ndata: {\n", "data: 0123456789012345678901234567890123456789\n\ndata: a\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want, err := allEvents(bytes.NewReader(in), 30)
		got := parsed(in, max(1, len(in)), 30)
		if diff := cmp.Diff(got, parsed(in, 1, 30)); diff != "" {
			t.Errorf("in one part, byte by byte (-one +bytes):\n%s", diff)
		}
		if errors.Is(err, ErrTooLong) {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read, parsed (-read +parsed):\n%s", diff)
		}
	})
}

// TestTooLong holds that a parser goes on behind an event that is too long.
func TestTooLong(t *testing.T) {
	long := strings.Repeat("x", 40)
	for _, in := range []string{
		"data: " + long + "\n\ndata: a\n\n", "data: x\n: " + long + "\n\ndata: a\n\n",
		"data: " + long[:20] + "\ndata: " + long[:20] + "\ndata: y\n\ndata: a\n\n",
	} {
		if diff := cmp.Diff([]string{"too long", "|a"}, parsed([]byte(in), 7, 30)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

// TestReset holds what a client needs that connects again: the id also of an
// event without data, but not of one that was cut off, and the time to wait.
func TestReset(t *testing.T) {
	const limit = 100
	r := NewReader(nil, limit)
	for n, tc := range []struct{ in, want, id string }{
		{"retry: 20\nid: 1\n\ndata: a\n\nid: 2\ndata: cut", "1 a,1 cut", "1"},
		{"\ufeffdata: b\r\rid: 3\r\r", "1 b", "3"},
		{"\ndata: c\n\nid:\n\n", "3 c", ""},
		{"event: half\nid: 4\n", "", ""},
		{"data: d\n\n", " d", ""},
	} {
		r.Reset(bufio.NewReader(strings.NewReader(tc.in)))
		var got []string
		for {
			ev, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || ev.Name != "" {
				t.Fatalf("stream %d: %+v, %v", n, ev, err)
			}
			got = append(got, ev.ID+" "+string(ev.Data))
		}
		if s := strings.Join(got, ","); s != tc.want || r.LastID() != tc.id {
			t.Errorf("stream %d: %q, last id %q, want %q and %q", n, s, r.LastID(), tc.want, tc.id)
		}
		if d, ok := r.Retry(); !ok || d != 20*time.Millisecond {
			t.Errorf("stream %d asks to wait %v (%t)", n, d, ok)
		}
	}
	r.Reset(bufio.NewReader(strings.NewReader("data: " + strings.Repeat("x", limit+1) + "\n\n")))
	if ev, err := r.Next(); !errors.Is(err, ErrTooLong) {
		t.Errorf("the bound after Reset: %+v, %v", ev, err)
	}
}

func allOf(parts ...[]byte) (events []Event) {
	p := Parser{Max: 100, All: true, Each: func(ev Event) {
		ev.Data = bytes.Clone(ev.Data)
		events = append(events, ev)
	}}
	for _, part := range parts {
		p.Add(part)
	}
	return events
}

// TestAll holds that a parser can deliver what has no data, and that what it
// delivers can be written again.
func TestAll(t *testing.T) {
	stream := []byte(": hello\n\nid: 1\nretry: 500\ndata: \n\nid: 2\n\nevent: message\r\nid: 2\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n" +
		"event: nothing\n\nretry: 7\n\ndata:x\n:c\n\ndata: cut off")
	want := []Event{
		{Data: []byte{}, Bare: true, Comment: true},
		{ID: "1", SetsID: true, Retry: 500 * time.Millisecond, Data: []byte{}},
		{ID: "2", SetsID: true, Data: []byte{}, Bare: true},
		{ID: "2", SetsID: true, Name: "message", Data: []byte("{\"a\":\n1}")},
		{ID: "2", Data: []byte{}, Bare: true, Retry: 7 * time.Millisecond},
		{ID: "2", Data: []byte("x"), Comment: true},
	}
	equal := cmpopts.EquateEmpty()
	for at := range stream {
		if diff := cmp.Diff(want, allOf(stream[:at], stream[at:]), equal); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", at, diff)
		}
	}
	var again []byte
	for i := range want {
		again = want[i].Append(again)
		want[i].Comment = false
	}
	if diff := cmp.Diff(want[1:], allOf(again), equal); diff != "" { // without the comment
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}

// TestBegins: how a body may begin that is a stream by the specification, and what
// is text.
func TestBegins(t *testing.T) {
	for _, tc := range []struct {
		name, body    string
		stream, short bool
	}{
		{"data", "data: x\n\n", true, false},
		{"no blank", "data:x", true, false},
		{"event", "event: x\r", true, false},
		{"id", "id: 1\r\n", true, false},
		{"retry", "retry: 5\n", true, false},
		{"comment", ": hi\n", true, false},
		{"comment of nothing", ":\r\rdata: x\r\r", true, false},
		{"BOM", "\ufeffdata: x\n\n", true, false},
		{"BOM and comment", "\ufeff:\n", true, false},
		{"empty lines", "\r\n\r\n\n\rdata: x", true, false},
		{"nothing", "", false, true},
		{"half a BOM", "\xef\xbb", false, true},
		{"a BOM alone", "\ufeff", false, true},
		{"a BOM and empty lines", "\ufeff\r\n", false, true},
		{"half a field", "\r\ndat", false, true},
		{"a field, and no colon yet", "data", false, true},
		{"JSON", "{\"data\":1}", false, false},
		{"HTML", "<p>", false, false},
		{"words", "data is missing", false, false},
		{"another field", "date: x\n", false, false},
		{"capitals", "Data: x\n", false, false},
		{"two BOMs", "\ufeff\ufeffdata: x", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if stream, short := Begins([]byte(tc.body)); stream != tc.stream || short != tc.short {
				t.Errorf("%q: %v %v, want %v %v", tc.body, stream, short, tc.stream, tc.short)
			}
		})
	}
}

func TestLines(t *testing.T) {
	const stream = "\ufeffdata: a\ndata:b\r\r\n: c\r\nid\nfoo:  d\n\ndata: \ufeffe"
	var got []string
	for l := range Lines([]byte(stream)) {
		got = append(got, string(l.Field)+"|"+stream[l.Start:l.End]+"|"+stream[l.Value:l.End])
	}
	want := []string{"data|data: a|a", "data|data:b|b", "||", "|: c|c", "id|id|", "foo|foo:  d| d", "||", "data|data: \ufeffe|\ufeffe"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// FuzzLines checks that the lines of a stream are those that it is read by.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\ufeffdata: a\n\r\n: c\rdata", "a\r\rb\n\nc\r\n\r\nd", "\r", "\n\r"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got []string
		end := 0
		for l := range Lines(in) {
			if l.Start < end || l.End < l.Start || l.Value < l.Start || l.Value > l.End {
				t.Fatalf("%+v after %d", l, end)
			}
			end = l.End
			got = append(got, string(in[l.Start:l.End]))
		}
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(in), "\ufeff"))
		var want []string
		if text != "" {
			want = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	})
}
