// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// httpServer is what the flags of both mocks say of serving them over HTTP.
type httpServer struct {
	listening mockserver.Listening
	listen    string
	isolate   string
	origin    string
	watch     time.Duration
}

// defaultGrace is how long requests may go on after an interrupt.
const defaultGrace = 5 * time.Second

func (s *httpServer) flags(f *pflag.FlagSet) {
	f.StringVar(&s.listen, "listen", "127.0.0.1:0", listenHelp)
	f.StringVar(&s.isolate, "isolate", "url", "what tells conversations apart beside /t/ID: url (nothing), key or header:NAME")
	f.DurationVar(&s.listening.Grace, "grace", defaultGrace, "time for requests to end by themselves after an interrupt, when new connections are refused")
	f.StringVar(&s.origin, "cors", "", "origin whose pages a browser lets in; * is any")
	f.StringVar(&s.listening.Cert, "tls-cert", "", "file with a certificate, to serve https")
	f.StringVar(&s.listening.Key, "tls-key", "", "file with its key")
	f.DurationVar(&s.watch, "watch", 0, "look every so often whether FILE, or a file that it refers to, has changed; 0 never does")
}

func (s *httpServer) rules() []rule {
	header, byHeader := strings.CutPrefix(s.isolate, "header:")
	tls := (s.listening.Cert == "") == (s.listening.Key == "")
	return []rule{
		{"isolate", s.isolate == "url" || s.isolate == "key" || byHeader && header != "", "url, key or header:NAME"},
		{"grace", s.listening.Grace >= 0, "0 or more, such as 5s"},
		{"tls-cert", tls, "--tls-key beside it"},
		{"tls-key", tls, "--tls-cert beside it"},
		{"watch", s.watch >= 0, "0 or more, such as 500ms"},
	}
}

// isolation finds the conversation of a request, as --isolate says.
func (s *httpServer) isolation() func(*http.Request) string {
	if header, ok := strings.CutPrefix(s.isolate, "header:"); ok {
		return mockserver.ByHeader(header)
	} else if s.isolate == "key" {
		return mockserver.ByKey
	}
	return nil
}

// secure is what stands behind "http" or "ws" in a URL.
func (s *httpServer) secure() string {
	if s.listening.Cert != "" {
		return "s"
	}
	return ""
}

// script is where a mock's script comes from.
type script[S any] struct {
	p    *process
	w    *watcher
	pick func(*scenarios.Set) (S, error)
}

func newScript[S any](p *process, paths []string, pick func(*scenarios.Set) (S, error)) *script[S] {
	return &script[S]{p, newWatcher(paths), pick}
}

func (s *script[S]) files() string { return strings.Join(s.w.paths, " ") }

// load reads the script of the files that are watched.
func (s *script[S]) load() (loaded S, err error) {
	set, err := scenarios.Load(s.w.paths, &scenarios.Options{LookupEnv: s.p.getenv})
	s.w.read = set.Files
	if err != nil {
		return loaded, err
	}
	if loaded, err = s.pick(set); err != nil {
		return loaded, fmt.Errorf("serving %s: %w", s.files(), err)
	}
	return loaded, nil
}

// parse reads a script that is sent. What it refers to lies beside the first
// of the files.
func (s *script[S]) parse(data []byte) (none S, err error) {
	name := filepath.Join(filepath.Dir(s.w.paths[0]), "posted.yaml")
	set, err := scenarios.Parse(name, data, &scenarios.Options{LookupEnv: s.p.getenv})
	if err != nil {
		return none, err
	}
	return s.pick(set)
}

// mockOf is a mock that plays scripts over HTTP.
type mockOf[S any] interface {
	Load(script S) error
	Failed(err error)
	Serve(ctx context.Context, l net.Listener, opts *mockserver.Listening) error
	Err() error
	Close()
}

// serveHTTP serves a mock until ctx ends, and loads its script again when it is
// to be. urls are those of the mock and of its admin API; what is the word for
// what was not answered as scripted.
func serveHTTP[S any](ctx context.Context, s *httpServer, from *script[S], mock mockOf[S], urls func(host string) (url, admin string), what string) error {
	p := from.p
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		mock.Close()
		return fmt.Errorf("listening for the mock: %w", err)
	}
	s.listening.Abort = p.abort
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	hangups := p.hangup.take() // before anybody knows where to send one
	watching.Go(func() {
		from.w.reload(ctx, p, s.watch, hangups, func() (func() error, error) {
			loaded, err := from.load()
			return func() error { return mock.Load(loaded) }, err
		}, mock.Failed)
	})
	url, admin := urls(listener.Addr().String())
	p.ready(p.stdout, url, admin)
	err = mock.Serve(ctx, listener, &s.listening)
	cancel()
	watching.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return ended(err, mock.Err(), what)
}
