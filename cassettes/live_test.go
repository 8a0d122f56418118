// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// endings is an endpoint whose streams end in all the ways in which streams
// end. It sends its second event when the client has the first, and ends when
// the client has the second, as read says, so that nothing is lost on the way.
type endings struct {
	*httptest.Server
	read chan struct{}
	gone chan struct{} // a client has left
}

func newEndings(t *testing.T) *endings {
	e := &endings{read: make(chan struct{}), gone: make(chan struct{}, 1)}
	e.Server = httptest.NewServer(e)
	t.Cleanup(func() {
		e.CloseClientConnections() // of a test that fails
		e.Close()
	})
	return e
}

func (e *endings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for n := range 2 {
		fmt.Fprintf(w, "data: %d\n\n", n)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-e.read:
		case <-r.Context().Done():
			e.gone <- struct{}{}
			return
		}
	}
	switch r.URL.Path {
	case "/complete":
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/reset":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// TestEndings records streams over TCP that end in different ways, as a
// transport and through the proxy, and replays them: the client sees the same
// both times, at full and at no speed.
func TestEndings(t *testing.T) {
	for _, test := range []struct {
		name      string
		close     bool // by the client, which has the first event
		outcome   vcr.Outcome
		transport error // what the client of the transport sees
		proxy     error // and that of the proxy
	}{
		{"complete", false, vcr.Complete, nil, nil},
		{"abort", false, vcr.Aborted, io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
		{"reset", false, vcr.Aborted, syscall.ECONNRESET, io.ErrUnexpectedEOF},
		{"close", true, vcr.ClientClosed, nil, nil},
	} {
		for _, proxied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, proxied %v", test.name, proxied), func(t *testing.T) {
				e := newEndings(t)
				path := filepath.Join(t.TempDir(), "a.yaml")
				want := test.transport
				if proxied {
					want = test.proxy
				}
				wantText := "data: 0\n\ndata: 1\n\n"
				if test.close {
					wantText = "data: 0\n\n"
				}
				play := func(opts cassettes.Options, live bool) {
					t.Helper()
					upstream := &http.Transport{}
					defer upstream.CloseIdleConnections()
					opts.Upstream, opts.Grace = upstream, time.Minute
					rec := open(t, path, opts)
					client, base := &http.Client{Transport: rec}, e.URL
					if proxied {
						to, _ := url.Parse(e.URL)
						if !live {
							to = nil
						}
						proxy := httptest.NewServer(rec.Proxy(to))
						defer proxy.Close()
						client, base = proxy.Client(), proxy.URL
					}
					got, err := e.client(client, base+"/"+test.name, live, test.close)
					if got != wantText || !errors.Is(err, want) || (err == nil) != (want == nil) {
						t.Errorf("live %v, speed %v: got %q, %v, want %q, %v", live, opts.Speed, got, err, wantText, want)
					}
					if live && test.close {
						select {
						case <-e.gone:
						case <-time.After(time.Minute):
							t.Error("the endpoint is not told that its client has left")
						}
					}
					if err := rec.Close(); err != nil {
						t.Error(err)
					}
				}
				play(cassettes.Options{Mode: cassettes.Record}, true)
				f, err := vcr.Read(path)
				if err != nil || len(f.Interactions) != 1 || f.Interactions[0].Meta.Outcome != test.outcome {
					t.Fatalf("recorded %+v, %v, want the outcome %s", f, err, test.outcome)
				}
				play(cassettes.Options{}, false)
				play(cassettes.Options{Speed: 1}, false)
			})
		}
	}
}

// client reads a stream, event by event while it is live.
func (e *endings) client(client *http.Client, address string, live, leave bool) (string, error) {
	resp, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var got []byte
	buf := make([]byte, len("data: 0\n\n"))
	for {
		n, err := io.ReadFull(resp.Body, buf)
		got = append(got, buf[:n]...)
		switch {
		case errors.Is(err, io.EOF):
			return string(got), nil
		case err != nil:
			return string(got), err
		case leave:
			return string(got), nil
		case live:
			e.read <- struct{}{}
		}
	}
}

// late is a clock of a machine that wakes up late, each time.
type late struct {
	harness.Clock
	by time.Duration
}

func (c late) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d + c.by):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestPaceDoesNotDrift: a timer that goes off late makes one event late, and
// not all that follow by ever more.
func TestPaceDoesNotDrift(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	var parts []string
	for n := range 100 {
		parts = append(parts, fmt.Sprintf("data: %d\n\n", n))
	}
	synctest.Test(t, func(t *testing.T) {
		r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: stream(10*time.Millisecond, parts, nil)})
		live, err := read(t, r, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = open(t, path, cassettes.Options{Speed: 1, Clock: late{harness.SystemClock(), 2 * time.Millisecond}})
		played, err := read(t, r, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range live {
			live[i].At += 2 * time.Millisecond
		}
		if diff := cmp.Diff(live, played); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
