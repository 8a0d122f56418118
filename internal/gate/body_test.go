// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.done); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// TestHostileBodies cuts bodies that do not end, and leaves alone an answer
// that takes long and a body that is large.
func TestHostileBodies(t *testing.T) {
	for _, tc := range []struct {
		name  string
		body  func(io.Writer) // of a chunked request
		want  string
		after time.Duration // at the most
	}{
		{"nothing comes", func(io.Writer) {}, "the body did not end: 0 bytes in 30s", 31 * time.Second},
		{"a byte now and then", func(w io.Writer) {
			for {
				time.Sleep(7 * time.Second)
				if _, err := io.WriteString(w, "1\r\nx\r\n"); err != nil {
					return
				}
			}
		}, "the body did not end: 4 bytes in 30s", 31 * time.Second},
		{"a slow one that ends", func(w io.Writer) {
			piece := fmt.Sprintf("20000\r\n%s\r\n", strings.Repeat("x", 0x20000)) // two seconds' worth
			for range 60 {
				time.Sleep(time.Second)
				_, _ = io.WriteString(w, piece)
			}
			_, _ = io.WriteString(w, "0\r\n\r\n")
		}, "7864320 bytes", 10 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := gate.Rules{}.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					data, err := io.ReadAll(r.Body)
					var slow *gate.SlowBodyError
					if err != nil && !errors.As(err, &slow) {
						t.Errorf("the error is %v, want a SlowBodyError", err)
					}
					if err != nil {
						http.Error(w, err.Error(), http.StatusRequestTimeout)
						return
					}
					time.Sleep(5 * time.Minute) // an answer may take its time
					fmt.Fprintf(w, "%d bytes", len(data))
				}))
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				served := make(chan struct{})
				go func() {
					defer close(served)
					_ = srv.Serve(l)
				}()
				ours, theirs := net.Pipe()
				l.conns <- theirs
				start := time.Now()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					_, _ = io.WriteString(ours, "POST /v1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
					tc.body(ours)
				}()
				res, err := http.ReadResponse(bufio.NewReader(ours), nil)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]byte, len(tc.want))
				_, _ = io.ReadFull(res.Body, got)
				if string(got) != tc.want || time.Since(start) > tc.after {
					t.Errorf("after %v %q, want %q", time.Since(start), got, tc.want)
				}
				ours.Close()
				srv.Close()
				<-served
				<-sent
			})
		})
	}
}

// TestClientLeaves: a handler hears that its client has left once the body is
// read, and so stops what nobody waits for.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan error, 1)
		reading := make(chan struct{})
		srv := gate.Rules{}.Server(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
			close(reading)
			<-r.Context().Done()
			heard <- r.Context().Err()
		}))
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(l)
		}()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		if _, err := io.WriteString(ours, "POST /v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
			t.Fatal(err)
		}
		<-reading
		time.Sleep(time.Hour) // it is waited for as long as it is there
		select {
		case err := <-heard:
			t.Errorf("the handler was told %v while its client waited", err)
		default:
		}
		ours.Close()
		if err := <-heard; err == nil {
			t.Error("the handler was not told that its client left")
		}
		srv.Close()
		<-served
	})
}
