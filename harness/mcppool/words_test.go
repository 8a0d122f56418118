// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestErrorsInWords: an error names what was done, the server and the last five
// lines that its process wrote.
func TestErrorsInWords(t *testing.T) {
	cause := errors.New("boom")
	e := &Error{Op: `calling "refund" on`, Server: "shop", Err: cause}
	if got := e.Error(); got != `calling "refund" on server "shop": boom` || !errors.Is(e, cause) {
		t.Errorf("got %s", got)
	}
	for n, want := range map[int]string{1: "x1", 5: "x1\nx2\nx3\nx4\nx5", 6: "x2\nx3\nx4\nx5\nx6"} {
		var lines []string
		for i := range n {
			lines = append(lines, "x"+string(rune('1'+i)))
		}
		e.Stderr = strings.Join(lines, "\n")
		if got := e.Error(); got != `calling "refund" on server "shop": boom; its stderr ends: `+want {
			t.Errorf("%d lines: %s", n, got)
		}
	}
}

// TestWaitsInWords: a wait that was too long says how long it was, and how far
// the server had come.
func TestWaitsInWords(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    *patience
		want string
	}{
		{"silence", &patience{limit: time.Second}, "no answer within 1s; then"},
		{"silence from then on", &patience{limit: time.Second, words: 2, last: "3 of 5"}, "no answer within 1s after its last progress, 3 of 5; then"},
		{"in all", &patience{limit: time.Second, total: time.Minute, words: 2, last: "3 of 5", spent: true}, "no answer within the total limit of 1m0s, although progress arrived at 3 of 5; then"},
		{"in all, and silence", &patience{limit: time.Second, total: time.Minute, spent: true}, "no answer within 1m0s; then"},
	} {
		err := tt.p.ran("; then")
		if err.Error() != tt.want || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	for want, p := range map[string]progress{
		"3": {Progress: "3"}, "3 of 5": {Progress: "3", Total: "5"}, "3, half": {Progress: "3", Message: "half"}, "3 of 5, half": {Progress: "3", Total: "5", Message: "half"},
	} {
		if got := p.String(); got != want {
			t.Errorf("progress %s, want %s", got, want)
		}
	}
}

// TestTimesOfTheLatest: P50 and P95 forget what is older than 1000 requests, Mean and
// Max do not.
func TestTimesOfTheLatest(t *testing.T) {
	s := &Session{opts: new(Options).withDefaults()}
	took := func(times int, d time.Duration) {
		for range times {
			s.measured("pinging", d, nil)
		}
	}
	is := func(want Stats) {
		t.Helper()
		if got := s.Stats(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	took(1, 4*time.Second)
	took(500, time.Second)
	took(499, 2*time.Second)
	is(Stats{Requests: 1000, Mean: 1502 * time.Millisecond, P50: time.Second, P95: 2 * time.Second, Max: 4 * time.Second})
	took(1, 2*time.Second) // and the first is forgotten
	is(Stats{Requests: 1001, Mean: 1504 * time.Second / 1001, P50: time.Second, P95: 2 * time.Second, Max: 4 * time.Second})
	took(999, 3*time.Second) // and all but the last are
	is(Stats{Requests: 2000, Mean: 4501 * time.Second / 2000, P50: 3 * time.Second, P95: 3 * time.Second, Max: 4 * time.Second})
}

// TestWhatIsToBeAnnounced: a server is asked for as much as it can announce, and for
// no resources when nobody has subscribed to one.
func TestWhatIsToBeAnnounced(t *testing.T) {
	for _, tt := range []struct {
		name, capabilities string
		subscribed         []string
		want               string
	}{
		{"nothing", `{}`, nil, `{}`},
		{"tools", `{"tools":{"listChanged":true}}`, nil, `{"toolsListChanged":true}`},
		{"tools that do not change", `{"tools":{}}`, nil, `{}`},
		{"resources", `{"resources":{"subscribe":true}}`, []string{"b", "a"}, `{"resourceSubscriptions":["a","b"]}`},
		{"resources, and no subscription", `{"resources":{"subscribe":true}}`, nil, `{}`},
		{"resources without subscriptions", `{"resources":{}}`, []string{"a"}, `{}`},
		{"no resources", `{}`, []string{"a"}, `{}`},
		{"both", `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`, []string{"a"}, `{"resourceSubscriptions":["a"],"toolsListChanged":true}`},
	} {
		s, c := &Session{subscribed: map[string]bool{}}, &conn{}
		for _, uri := range tt.subscribed {
			s.subscribed[uri] = true
		}
		if err := json.Unmarshal([]byte(tt.capabilities), &c.server); err != nil {
			t.Fatal(err)
		}
		if got := string(mcpwire.Marshal(s.wanted(c))); got != tt.want {
			t.Errorf("%s: asks for %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestConnectionThatCameTooLate: a connection that was opened while the session was
// closed is closed too.
func TestConnectionThatCameTooLate(t *testing.T) {
	s, carried := &Session{closed: true}, new(carrier)
	c := &conn{replies: newReplies(s), transport: carried}
	got, err := s.adopt(t.Context(), c, "disconnected", func(kind ErrorKind, err error) error { return &Error{Kind: kind, Err: err} })
	var e *Error
	if got != nil || !errors.As(err, &e) || e.Kind != ErrClosed || !errors.Is(err, errClosed) {
		t.Errorf("got %v, %v", got, err)
	}
	if s.conn != nil || !carried.closed || len(s.Notes()) > 0 {
		t.Errorf("kept %v, closed %t, notes %q", s.conn, carried.closed, s.Notes())
	}
}

// carrier is a transport that can do no more than be closed.
type carrier struct {
	transport
	closed bool
}

func (c *carrier) close() { c.closed = true }

// TestNotes: what is noted of a server goes to the log at once, and fifty notes
// are kept.
func TestNotes(t *testing.T) {
	logged := 0
	s := &Session{opts: Options{Logf: func(string, ...any) { logged++ }}}
	s.server.Name = "shop"
	for range maxNotes + 2 {
		s.note("said %d", 1)
	}
	if notes := s.Notes(); len(notes) != maxNotes || notes[0] != `server "shop": said 1` || logged != maxNotes+2 {
		t.Errorf("%d notes, %d logged", len(notes), logged)
	}
}
