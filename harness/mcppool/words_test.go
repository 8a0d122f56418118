// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/telemetry"
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

// carrier is a transport that can do no more than be closed, or gone.
type carrier struct {
	transport
	closed, ended bool
}

func (c *carrier) close()                { c.closed = true }
func (c *carrier) done() <-chan struct{} { return nil }
func (c *carrier) gone() bool            { return c.ended }

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

// TestDefaults: what settings that are zero mean, and that a list which is changed
// later changes no session.
func TestDefaults(t *testing.T) {
	numbers := cmp.FilterPath(func(p cmp.Path) bool {
		return slices.Contains([]string{"Clock", "Logf", "recorder"}, p.Last().String()[1:])
	}, cmp.Ignore())
	want := Options{
		CallTimeout: time.Minute, TotalTimeout: 10 * time.Minute, ConnectTimeout: 30 * time.Second, DiscoverTimeout: time.Second,
		MaxRestarts: 3, Backoff: 500 * time.Millisecond, Slow: 5 * time.Second, MaxPages: 100, MaxFrame: 64 << 20,
		ClientName: "rehearse", ClientVersion: "0",
	}
	for name, o := range map[string]*Options{"none": nil, "zero": {}} {
		got := o.withDefaults()
		if diff := cmp.Diff(want, got, numbers); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.Clock == nil || got.Logf == nil || got.recorder != nil {
			t.Errorf("%s: clock %v, recorder %v", name, got.Clock, got.recorder)
		}
	}
	given := want
	given.CallTimeout, given.ConnectTimeout, given.DiscoverTimeout, given.MaxRestarts, given.Backoff, given.Slow = 1, 2, 3, -1, 4, -1
	given.MaxPages, given.MaxFrame, given.ClientName, given.ClientVersion, given.PassEnv = 5, 6, "c", "1", []string{"A"}
	given.TotalTimeout = 0
	got := given.withDefaults()
	given.PassEnv[0] = "B"
	want = given
	want.TotalTimeout, want.PassEnv = 10, []string{"A"}
	if diff := cmp.Diff(want, got, numbers); diff != "" {
		t.Errorf("given (-want +got):\n%s", diff)
	}
}

// TestServersInSpans: a span names the host and the port that a server is reached by,
// where it is reached over a network.
func TestServersInSpans(t *testing.T) {
	pipe := telemetry.Peer{Transport: "pipe"}
	web := func(protocol string, port int) telemetry.Peer {
		return telemetry.Peer{Transport: "tcp", Protocol: protocol, Address: "a.example", Port: port}
	}
	for _, tt := range []struct {
		name   string
		server harness.Server
		want   telemetry.Peer
	}{
		{"a process", harness.Server{Command: []string{"a"}}, pipe},
		{"in this process", harness.Server{URL: "http://a.example", Dial: func(context.Context) (io.ReadWriteCloser, error) { return nil, nil }}, pipe},
		{"an address that is none", harness.Server{URL: "http://a b"}, pipe},
		{"http", harness.Server{URL: "http://a.example/mcp"}, web("http", 80)},
		{"https", harness.Server{URL: "https://a.example/mcp"}, web("http", 443)},
		{"a port of its own", harness.Server{URL: "https://a.example:8443/mcp"}, web("http", 8443)},
		{"a WebSocket", harness.Server{URL: "ws://a.example"}, web("websocket", 80)},
		{"a WebSocket with TLS", harness.Server{URL: "wss://a.example"}, web("websocket", 443)},
	} {
		if diff := cmp.Diff(tt.want, peerOf(tt.server)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestFailuresInSpans: a span says what kind of thing went wrong.
func TestFailuresInSpans(t *testing.T) {
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Time{})
	defer cancel()
	impatient, expire := context.WithCancelCause(t.Context())
	expire(context.DeadlineExceeded)
	boom := errors.New("boom")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		gone bool
		err  error
		want string
	}{
		{"nothing", t.Context(), false, nil, ""},
		{"nothing, at the end", gaveUp, true, nil, ""},
		{"the caller's deadline", late, false, boom, "timeout"},
		{"ours", impatient, false, boom, "timeout"},
		{"given up", gaveUp, true, boom, "cancelled"},
		{"an answer of no use", t.Context(), true, fmt.Errorf("reading: %w", mcpwire.ErrUnusable), "malformed"},
		{"the server is gone", t.Context(), true, boom, "closed"},
		{"anything else", t.Context(), false, boom, "transport"},
	} {
		c := &conn{transport: &carrier{ended: tt.gone}}
		if got := c.failure(tt.ctx, tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
