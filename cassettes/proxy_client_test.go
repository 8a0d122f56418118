// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
)

// stopped is a clock that stands still: who sleeps by it waits for the end of
// the context.
type stopped struct{ harness.Clock }

func (stopped) Now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func (stopped) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// say writes to a server what no client library would, and returns all that it
// answers.
func say(t *testing.T, address, text string, halfClose bool) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if halfClose {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := io.ReadAll(conn) // which may be reset
	return string(got)
}

// TestProxyBrokenClients: a client that does not send its whole request, or ends
// its side of the connection, is not told that all is fine.
func TestProxyBrokenClients(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/slow" {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "fine")
	}))
	defer endpoint.Close()
	upstream, _ := url.Parse(endpoint.URL)
	path := filepath.Join(t.TempDir(), "a.yaml")
	const head = " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
	const whole = head + "Content-Length: 2\r\n\r\n{}"
	play := func(opts cassettes.Options, upstream *url.URL, name, text string, half bool, want string) {
		t.Helper()
		rec := open(t, path, opts)
		proxy := httptest.NewServer(rec.Proxy(upstream))
		got := say(t, proxy.URL, text, half)
		proxy.Close()
		_ = rec.Close() // nothing, or failures
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: answered %q, want %q", name, got, want)
		}
	}
	record := cassettes.Options{Mode: cassettes.Record}
	play(record, upstream, "a whole request", "POST /v1/a"+whole, false, "HTTP/1.1 200 OK")
	for _, opts := range []cassettes.Options{record, {}} {
		to := upstream
		if opts.Mode == "" {
			to = nil
		}
		play(opts, to, "a body that ends early", "POST /v1/a"+head+"Content-Length: 100\r\n\r\n{}", true, "HTTP/1.1 400 Bad Request")
		play(opts, to, "a malformed chunk", "POST /v1/a"+head+"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}", false, "HTTP/1.1 400 Bad Request")
	}
	play(cassettes.Options{Speed: 1, Clock: stopped{harness.SystemClock()}}, nil, "half closed while a replay waits", "POST /v1/a"+whole, true, "")
	play(record, upstream, "half closed", "POST /v1/slow"+whole, true, "")
}
