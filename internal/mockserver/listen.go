// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// Listening are the settings of [Server.Serve]. Nil means the defaults.
type Listening struct {
	// Cert and Key are the files of a certificate. Empty means no TLS.
	Cert, Key string
	// Grace is how long requests may go on once the context has ended. 0
	// cuts them at once.
	Grace time.Duration
	// Abort ends the grace when it is closed. Nil never does.
	Abort <-chan struct{}
}

// Serve answers requests from l until ctx ends, then lets those go on that are
// being answered; what clients of an MCP server listen to ends. New connections
// are refused from then on, and those that outlast the grace are cut, which is no
// error.
func (s *Server) Serve(ctx context.Context, l net.Listener, opts *Listening) error {
	return serve(ctx, l, s, s.logf, opts)
}

// Serve is [Server.Serve].
func (s *MCP) Serve(ctx context.Context, l net.Listener, opts *Listening) error {
	return serve(ctx, l, s, s.logf, opts)
}

// drain has nothing to end: a request ends when it is answered.
func (s *Server) drain(context.Context) {}

func (h *host[S, O, M]) underWay() int { return h.metrics.underWay() }

// mock is what serve serves.
type mock interface {
	http.Handler
	// Stop says that the end is near.
	Stop()
	// underWay is how many requests are being answered.
	underWay() int
	// drain ends what would not end by itself, such as a stream that a client
	// listens to, when nothing else goes on or ctx ends.
	drain(ctx context.Context)
	Close()
}

func serve(ctx context.Context, l net.Listener, s mock, logf func(string, ...any), opts *Listening) error {
	var o Listening
	if opts != nil {
		o = *opts
	}
	// Shutdown would wait five seconds for connections without a request.
	var fresh sync.Map
	server := gate.NewServer(s)
	server.ErrorLog = log.New(logWriter(logf), "", 0)
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			fresh.Store(c, nil)
		} else {
			fresh.Delete(c)
		}
	}
	done := make(chan error, 1)
	go func() {
		if o.Cert != "" {
			done <- server.ServeTLS(l, o.Cert, o.Key)
		} else {
			done <- server.Serve(l)
		}
	}()
	select {
	case err := <-done:
		s.Close()
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.Stop()
	if n := s.underWay(); n > 0 && o.Grace > 0 {
		logf("stopping: requests under way (%d) may end within %v; new connections are refused", n, o.Grace)
	}
	fresh.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		return true
	})
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-o.Abort: // never, when it is nil
			cancel()
		case <-ended:
		}
	}()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drain(grace)
	}()
	err := server.Shutdown(grace)
	<-drained
	s.Close()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = server.Close()
	}
	<-done
	return err
}

type logWriter func(format string, args ...any)

func (f logWriter) Write(p []byte) (int, error) {
	n := len(p)
	if n > 0 && p[n-1] == '\n' {
		p = p[:n-1]
	}
	f("%s", p)
	return n, nil
}
