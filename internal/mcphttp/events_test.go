// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/sse"
)

func TestEvents(t *testing.T) {
	l := &link{opts: Options{MaxFrame: 50}}
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
		{"CR", "event: e\rid: 7\rdata: a\rdata: b\r\rdata: c\r\r", []string{"e 7 a\nb", " 7 c"}, "7", 0, ""},
		{"line ends of each kind", "data: a\r\rdata: b\n\ndata: c\r\n\r\ndata: d\r\n\n", []string{"  a", "  b", "  c", "  d"}, "", 0, ""},
		{"a byte order mark", "\ufeffdata: a\n\ndata: \ufeffb\n\n", []string{"  a", "  \ufeffb"}, "", 0, ""},
		{"comments and unknown fields", ": hi\nfoo: bar\nnothing\ndata: a\n\n", []string{"  a"}, "", 0, ""},
		{"an id lasts", "id: 1\ndata: a\n\ndata: b\n\n", []string{" 1 a", " 1 b"}, "1", 0, ""},
		{"an id without data", "id: 1\n\nid: 2\ndata:\n\n", nil, "2", 0, ""},
		{"an id with NUL", "id: 1\x00\ndata: a\n\n", []string{"  a"}, "", 0, ""},
		{"no blank line at the end", "id: 1\ndata: a", []string{"  a"}, "", 0, ""},
		{"cut off in a field", "data: a\n\nid: 1", []string{"  a"}, "", 0, ""},
		{"a retry that is none", "retry: soon\nretry: -1\ndata: a\n\n", []string{"  a"}, "", 0, ""},
		{"too long", "data: a\n\ndata: " + strings.Repeat("x", 100) + "\n\n", []string{"  a"}, "", 0, "an event is longer than 50 bytes"},
		{"too many lines", strings.Repeat("data: x\n", 30), nil, "", 0, "an event is longer than 50 bytes"},
		{"long comments in all", strings.Repeat(": 123456789012345678901234567890\n\n", 20) + "data: a\n\n", []string{"  a"}, "", 0, ""},
		{"JSON of no field", "data: a\n{\"error\":1}\n\n", []string{"  a"}, "", 0, ""},
		{"nothing", "", nil, "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := sse.NewReader(bufio.NewReader(iotest.OneByteReader(strings.NewReader(tt.in))), 50)
			var events []sse.Event // whose data stay, whatever comes after
			var err error
			for {
				var ev sse.Event
				if ev, err = l.next(e); err != nil {
					break
				}
				events = append(events, ev)
			}
			var got []string
			for _, ev := range events {
				got = append(got, ev.Name+" "+ev.ID+" "+string(ev.Data))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if retry, _ := e.Retry(); e.LastID() != tt.id || retry != tt.retry {
				t.Errorf("id %q, retry %v", e.LastID(), retry)
			}
			if tt.err == "" && !errors.Is(err, io.EOF) || tt.err != "" && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("ended with %v, want %q", err, tt.err)
			}
		})
	}
	e := sse.NewReader(bufio.NewReader(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(io.ErrUnexpectedEOF))), 50)
	if ev, err := l.next(e); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that breaks off: %v, %v", ev, err)
	}
}
