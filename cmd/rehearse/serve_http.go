// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// httpServer is what the flags of both mocks say of serving them over HTTP.
type httpServer struct {
	listening  mockserver.Listening
	listen     string
	advertise  string // what clients call it
	isolate    string
	admits     gate.Rules
	token      string // of the admin API
	files      string // folder that posted files may read
	watch      time.Duration
	withParent bool // ends with its parent
}

// begin has a server wait for no reader of its log, and end with its parent
// where it is to.
func (s *httpServer) begin(ctx context.Context, p *process) (context.Context, context.CancelFunc) {
	p.detach()
	if !s.withParent {
		return ctx, func() {}
	}
	return p.parent.with(ctx, p.stdin)
}

// defaultGrace is how long requests may go on after an interrupt.
const defaultGrace = 5 * time.Second

func (s *httpServer) flags(f *pflag.FlagSet) {
	f.StringVar(&s.listen, "listen", "127.0.0.1:0", listenHelp)
	f.StringVar(&s.isolate, "isolate", "url", "what identifies a conversation besides /t/ID: url (nothing), key or header:NAME")
	f.DurationVar(&s.listening.Grace, "grace", defaultGrace, "time for requests in progress to end after an interrupt")
	advertiseFlag(f, &s.advertise, "; --listen says where it listens")
	gateFlags(f, &s.admits)
	f.StringVar(&s.token, "admin-token", "", "token that the admin API requires, as Authorization: Bearer TOKEN; @FILE reads it from a file, since other users see the flags of a process")
	f.StringVar(&s.files, "files", "", "folder that a script sent to the admin API may read (default: that of FILE, else the working folder)")
	f.StringVar(&s.listening.Cert, "tls-cert", "", "certificate file, to serve https")
	f.StringVar(&s.listening.Key, "tls-key", "", "key file of the certificate")
	f.BoolVar(&s.withParent, "with-parent", false, parentHelp)
	f.DurationVar(&s.watch, "watch", 0, "interval at which to check FILE, and the files that it refers to, for changes; 0 is never")
}

func (s *httpServer) rules() []rule {
	header, byHeader := strings.CutPrefix(s.isolate, "header:")
	tls := (s.listening.Cert == "") == (s.listening.Key == "")
	return []rule{
		{"isolate", s.isolate == "url" || s.isolate == "key" || byHeader && header != "", "url, key or header:NAME"},
		{"advertise", isHost(s.advertise), wantHost},
		{"grace", s.listening.Grace >= 0, "0 or more, such as 5s"},
		{"tls-cert", tls, "--tls-key beside it"},
		{"tls-key", tls, "--tls-cert beside it"},
		{"admin-token", s.token != "" && s.token != "@", "a token, or @FILE"},
		{"files", isFolder(s.files), "a folder"},
		{"watch", s.watch >= 0, "0 or more, such as 500ms"},
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// gate is who is answered: whoever calls by the name that is handed out, too.
func (s *httpServer) gate() gate.Rules {
	rules := s.admits
	if s.advertise != "" {
		rules.Hosts = append(slices.Clip(rules.Hosts), s.advertise)
	}
	return rules
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

// adminToken is what --admin-token says: the token, or the file that holds it.
func (s *httpServer) adminToken() (string, error) {
	file, ok := strings.CutPrefix(s.token, "@")
	if !ok {
		return s.token, nil
	}
	data, err := plainfile.Read(file, plainfile.MaxSettings)
	if err != nil {
		return "", fmt.Errorf("reading the token of the admin API: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("reading the token of the admin API: %s is empty", file)
	}
	return token, nil
}

// script is where a mock's script comes from.
type script[S any] struct {
	p      *process
	w      *watcher
	folder string // in which a script that is sent stands
	root   string // below which lies what that may read
	pick   func(*scenarios.Set) (S, error)
}

// newScript returns the script of the files or folders in paths; without any,
// one in which nothing is scripted. A script that is sent reads files below
// root; where that is empty, in the folder of the first of the files.
func newScript[S any](p *process, paths []string, root string, pick func(*scenarios.Set) (S, error)) *script[S] {
	folder := cmp.Or(root, ".")
	if len(paths) > 0 {
		folder = paths[0]
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		folder = filepath.Dir(folder)
	}
	return &script[S]{p, newWatcher(paths), folder, cmp.Or(root, folder), pick}
}

func (s *script[S]) files() string { return strings.Join(s.w.paths, " ") }

// load reads the script of the files that are watched.
func (s *script[S]) load() (loaded S, err error) {
	if len(s.w.paths) == 0 {
		return loaded, nil
	}
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

// parse reads a script that is sent, by whoever reaches the admin API: it knows
// no environment, and of files those below the root. What it refers to lies
// beside the file that it was read from, which name is; where that is empty,
// beside the first of the files.
func (s *script[S]) parse(name string, data []byte) (none S, err error) {
	path := cmp.Or(name, "posted.yaml")
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.folder, path)
	}
	if _, _, err := gate.Below(s.root, path); err != nil && name != "" {
		return none, fmt.Errorf("%s %w; see --files", path, err)
	}
	set, err := scenarios.Parse(path, data, &scenarios.Options{
		LookupEnv: func(string) (string, bool) { return "", false }, Offline: true, Root: s.root,
	})
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
	Problems() []error
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
	url, admin := urls(called(listener.Addr(), s.advertise))
	p.ready(p.stdout, url, admin)
	p.logf("the journal as it grows, in a browser: %s/", admin)
	err = mock.Serve(ctx, listener, &s.listening)
	cancel()
	watching.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return ended(err, mock.Problems(), what)
}
