// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// sending is a handler that sends one body.
func sending(m *Mock, b dialect.Body) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.send(&exchange{entry: &entry{}, m: m, w: w, r: r}, &b)
	})
}

func events(texts ...string) []dialect.Frame {
	var out []dialect.Frame
	for _, s := range texts {
		out = append(out, dialect.Frame{Data: sse.Data("", []byte(s))})
	}
	return out
}

// then returns frames of which the last is followed by t.
func then(t dialect.Then, frames ...dialect.Frame) []dialect.Frame {
	frames[len(frames)-1].Then = t
	return frames
}

const (
	noError = iota
	noAnswer
	unexpectedEnd
	wasReset
	badFraming
)

// TestSend: what a client sees of each way to send a body is the same over a
// socket and in memory.
func TestSend(t *testing.T) {
	plain := http.Header{"Content-Type": {"application/json"}}
	for _, tc := range []struct {
		name   string
		body   dialect.Body
		status int
		text   string
		err    int
	}{
		{"stream", dialect.Body{Stream: true, Frames: events("a", "b")}, 200, "data: a\n\ndata: b\n\n", noError},
		{"whole", dialect.Body{Status: 201, Header: plain, Frames: []dialect.Frame{{Data: []byte("{}")}}}, 201, "{}", noError},
		{"empty", dialect.Body{}, 200, "", noError},
		{"small writes", dialect.Body{Stream: true, Writes: 3, Frames: events("abcdef", "ghijkl")}, 200, "data: abcdef\n\ndata: ghijkl\n\n", noError},
		{"end early", dialect.Body{Stream: true, Frames: append(then(dialect.ThenEnd, events("a")...), events("b")...)}, 200, "data: a\n\n", noError},
		{"cut", dialect.Body{Stream: true, Frames: then(dialect.ThenCut, events("a")...)}, 200, "data: a\n\n", unexpectedEnd},
		{"cut before the head", dialect.Body{Stream: true, Frames: []dialect.Frame{{Then: dialect.ThenCut}}}, 0, "", noAnswer},
		{"reset", dialect.Body{Stream: true, Frames: then(dialect.ThenReset, events("a")...)}, 200, "data: a\n\n", wasReset},
		{"reset before the head", dialect.Body{Stream: true, Frames: []dialect.Frame{{Then: dialect.ThenReset}}}, 0, "", wasReset},
		{"raw bytes", dialect.Body{Stream: true, Frames: append(events("a"), dialect.Frame{Data: []byte("HTTP/1.1 502 Bad Gateway\r\n\r\n"), Raw: true}, events("b")[0])}, 200, "data: a\n\n", badFraming},
		{"raw chunk", dialect.Body{Stream: true, Frames: append(events("a"), dialect.Frame{Data: []byte("2\r\nhi\r\n"), Raw: true}, events("b")[0])}, 200, "data: a\n\nhidata: b\n\n", noError},
		{"wrong length", dialect.Body{RawHead: true, Header: http.Header{"Content-Length": {"10"}}, Frames: []dialect.Frame{{Data: []byte("{}")}}}, 200, "{}", unexpectedEnd},
		{"raw head", dialect.Body{Status: 299, RawHead: true, Header: http.Header{"Transfer-Encoding": {"chunked"}}, Frames: events("a")}, 299, "data: a\n\n", noError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMock(t, Script{}, nil)
			defer m.Close()
			h := sending(m, tc.body)
			check := func(t *testing.T, rt http.RoundTripper, url string) {
				req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
				if err != nil {
					t.Fatal(err)
				}
				status, text, err := fetch(rt, req)
				if status != tc.status || text != tc.text || kindOf(err) != tc.err {
					t.Errorf("status %d, body %q, error %v; want %d, %q, kind %d", status, text, err, tc.status, tc.text, tc.err)
				}
			}
			t.Run("socket", func(t *testing.T) {
				s := httptest.NewServer(h)
				defer s.Close()
				rt := &http.Transport{DisableKeepAlives: true}
				check(t, rt, s.URL)
			})
			t.Run("memory", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { check(t, transport{h}, "http://x") })
			})
		})
	}
}

func fetch(rt http.RoundTripper, req *http.Request) (status int, text string, err error) {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func kindOf(err error) int {
	switch {
	case err == nil:
		return noError
	case errors.Is(err, syscall.ECONNRESET):
		return wasReset
	case errors.Is(err, io.ErrUnexpectedEOF):
		return unexpectedEnd
	case errors.Is(err, io.EOF):
		return noAnswer
	case strings.Contains(err.Error(), "chunk"):
		return badFraming
	}
	return -1
}

// TestSendPace reads what is due when, in virtual time.
func TestSendPace(t *testing.T) {
	for _, tc := range []struct {
		name  string
		body  dialect.Body
		first time.Duration // the head
		total time.Duration
	}{
		{"paced", dialect.Body{Stream: true, Frames: []dialect.Frame{{Data: []byte("a")}, {Data: []byte("b"), Tokens: 2}, {Data: []byte("c"), Delay: time.Second}}}, time.Second, 3 * time.Second},
		{"early head", dialect.Body{Stream: true, EarlyHead: true, Frames: []dialect.Frame{{Data: []byte("a")}}}, 0, time.Second},
		{"slow head", dialect.Body{HeadDelay: time.Second, Frames: []dialect.Frame{{Data: []byte("a"), Tokens: 1}}}, 2500 * time.Millisecond, 2500 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMock(t, Script{}, &Options{TimeToFirstToken: time.Second, TokensPerSecond: 2})
				start := time.Now()
				req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://x", nil)
				resp, err := transport{sending(m, tc.body)}.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != tc.first {
					t.Errorf("head after %v, want %v", got, tc.first)
				}
				if _, err := io.ReadAll(resp.Body); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != tc.total {
					t.Errorf("took %v, want %v", got, tc.total)
				}
				m.Close()
			})
		})
	}
}

// TestSendHang: a hanging answer ends with its client, and with the mock.
func TestSendHang(t *testing.T) {
	frames := map[string][]dialect.Frame{
		"hang":     then(dialect.ThenHang, events("a")...),
		"raw hang": {{Data: []byte("a")}, {Data: []byte("1\r\nb\r\n"), Raw: true, Then: dialect.ThenHang}},
	}
	for name, frames := range frames {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMock(t, Script{}, nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", "http://x", nil)
				_, text, err := fetch(transport{sending(m, dialect.Body{Stream: true, Frames: frames})}, req)
				if !strings.Contains(text, "a") || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("client ended: %q, %v", text, err)
				}
				req, _ = http.NewRequestWithContext(t.Context(), "GET", "http://x", nil)
				go func() {
					time.Sleep(time.Minute)
					m.cancel()
				}()
				_, text, err = fetch(transport{sending(m, dialect.Body{Stream: true, Frames: frames})}, req)
				if !strings.Contains(text, "a") || err == nil {
					t.Errorf("mock ended: %q, %v", text, err)
				}
				m.Close()
			})
		})
	}
}

// lazyClock sleeps longer than it is asked to.
type lazyClock struct{ harness.Clock }

const oversleep = 7 * time.Millisecond

func (c lazyClock) Sleep(ctx context.Context, d time.Duration) error {
	return c.Clock.Sleep(ctx, d+oversleep)
}

// TestPaceDoesNotDrift: a machine that sleeps too long is late once, and not
// once for each token.
func TestPaceDoesNotDrift(t *testing.T) {
	for _, fragments := range []*dialect.Fragments{nil, {Unit: dialect.UnitToken}} { // the quick way, and the other
		synctest.Test(t, func(t *testing.T) {
			m := newMock(t, Script{Replies: []Reply{{Say: strings.Repeat(" word", 100)}}, Fragments: fragments},
				&Options{Clock: lazyClock{harness.SystemClock()}, TokensPerSecond: 50})
			start := time.Now()
			req, _ := http.NewRequestWithContext(t.Context(), "POST", m.URL+"/chat/completions",
				strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`))
			if _, _, err := fetch(m.Transport(), req); err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), 2*time.Second+oversleep; got != want {
				t.Errorf("fragments %v: took %v, want %v", fragments, got, want)
			}
			m.Close()
		})
	}
}
