// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string // name, id and data of each event
		id       string   // at the end
		retry    time.Duration
		err      string
	}{
		{"one", "data: a\n\n", []string{"  a"}, "", 0, ""},
		{"all fields", "event: e\nid: 7\nretry: 20\ndata: a\ndata:b\n\n", []string{"e 7 a\nb"}, "7", 20 * time.Millisecond, ""},
		{"CRLF", "event: e\r\ndata: a\r\n\r\n", []string{"e  a"}, "", 0, ""},
		{"comments and unknown fields", ": hi\nfoo: bar\nnothing\ndata: a\n\n", []string{"  a"}, "", 0, ""},
		{"an id lasts", "id: 1\ndata: a\n\ndata: b\n\n", []string{" 1 a", " 1 b"}, "1", 0, ""},
		{"an id without data", "id: 1\n\nid: 2\ndata:\n\n", nil, "2", 0, ""},
		{"an id with NUL", "id: 1\x00\ndata: a\n\n", []string{"  a"}, "", 0, ""},
		{"no blank line at the end", "id: 1\ndata: a", []string{"  a"}, "", 0, ""},
		{"cut off in a field", "data: a\n\nid: 1", []string{"  a"}, "", 0, ""},
		{"a retry that is none", "retry: soon\nretry: -1\ndata: a\n\n", []string{"  a"}, "", 0, ""},
		{"too long", "data: a\n\ndata: " + strings.Repeat("x", 100) + "\n\n", []string{"  a"}, "", 0, "an event is longer than 50 bytes"},
		{"too many lines", strings.Repeat("data: x\n", 20), nil, "", 0, "an event is longer than 50 bytes"},
		{"long comments in all", strings.Repeat(": 123456789012345678901234567890\n\n", 20) + "data: a\n\n", []string{"  a"}, "", 0, ""},
		{"nothing", "", nil, "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEvents(iotest.OneByteReader(strings.NewReader(tt.in)), 50)
			var got []string
			var err error
			for {
				var ev event
				if ev, err = e.next(); err != nil {
					break
				}
				got = append(got, ev.name+" "+ev.id+" "+string(ev.data))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if e.id != tt.id || e.retry != tt.retry {
				t.Errorf("id %q, retry %v", e.id, e.retry)
			}
			if tt.err == "" && !errors.Is(err, io.EOF) || tt.err != "" && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("ended with %v, want %q", err, tt.err)
			}
		})
	}
	e := newEvents(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(io.ErrUnexpectedEOF)), 50)
	if ev, err := e.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that breaks off: %v, %v", ev, err)
	}
}

// Whatever comes, reading ends, within its bound.
func FuzzEvents(f *testing.F) {
	f.Add("event: e\nid: 7\nretry: 20\ndata: a\ndata:b\n\n")
	f.Add("data: a")
	f.Add("\r\n\r\n: x\nid:\n\ndata\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		e := newEvents(strings.NewReader(in), 100)
		for n := 0; ; n++ {
			ev, err := e.next()
			if err != nil {
				return
			}
			if len(ev.data) == 0 || len(ev.data) > 100 || n > len(in) {
				t.Fatalf("event %d: %q", n, ev.data)
			}
		}
	})
}
