// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mockserver serves one script to many tests at once, in any
// language: each has a conversation of its own, told apart by URL, API key or
// header, and an admin API to verify it with.
//
//	s, err := mockserver.New(script, nil)
//	http.Serve(listener, s) // http://host/v1, http://host/t/any-id/v1
//
// # Paths
//
// Below /t/ID is the conversation ID, which begins with the first request;
// without it, the one that [Options.Isolate] finds, else the default one.
// Below /rehearse is the admin API, for a conversation below /t/ID/rehearse.
//
// [Server] is that for a mock model, [MCP] for a mock MCP server.
package mockserver

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/profile"
)

// Options are the settings of a [Server]. Nil means the defaults.
type Options struct {
	// Mock are the settings of each conversation's mock.
	Mock mockllm.Options
	// Isolate finds the conversation of a request that is not below /t/.
	// Empty and nil find the default one.
	Isolate func(*http.Request) string
	// Parse reads a script that is sent to the admin API. Nil refuses all.
	Parse func(data []byte) (mockllm.Script, error)
	// Prepare changes each script before it is played. Nil leaves it.
	Prepare func(*mockllm.Script)
	// Origin is the origin whose pages a browser lets in, * for any. Empty
	// lets in none.
	Origin string
	// MaxConversations bounds the conversations that are kept; a request for
	// one more is answered 503. 0 means 10,000.
	MaxConversations int
}

// Server is an [http.Handler]. It is safe for concurrent use.
type Server struct {
	opts    Options
	metrics metrics

	stock[mockllm.Script, *conversation]
	retired map[*conversation]bool // replaced, and still being asked; guarded by mu
}

// conversation is one playing of the script.
type conversation struct {
	mock   *mockllm.Mock
	active int // requests being answered
	gone   bool
}

func (c *conversation) reset() { c.mock.Reset() }

const defaultConversations = 10_000

// New returns a server of script. The error says why it cannot be played.
func New(script mockllm.Script, opts *Options) (*Server, error) {
	s := &Server{retired: map[*conversation]bool{}}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.MaxConversations <= 0 {
		s.opts.MaxConversations = defaultConversations
	}
	if s.opts.Mock.Memory == nil {
		s.opts.Mock.Memory = new(mockllm.Memory)
	}
	if s.opts.Mock.Logf == nil {
		s.opts.Mock.Logf = func(string, ...any) {}
	}
	s.opts.Mock.Observe = s.metrics.observe
	if err := s.Load(script); err != nil {
		return nil, err
	}
	return s, nil
}

// Load puts script in the place of the one that is played: all conversations
// start over with it, requests that are being answered end with the old one.
// On an error everything is as before.
func (s *Server) Load(script mockllm.Script) error {
	if s.opts.Prepare != nil {
		s.opts.Prepare(&script)
	}
	first, err := s.conversation("", script)
	if err != nil {
		return err
	}
	s.mu.Lock()
	idle := s.retire(s.put(script, first))
	s.mu.Unlock()
	closeAll(idle)
	return nil
}

// conversation returns a new one, which is not known to the server yet.
func (s *Server) conversation(id string, script mockllm.Script) (c *conversation, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, ok := p.(string)
			if !ok || !strings.HasPrefix(text, "mockllm: ") {
				panic(p)
			}
			err = errors.New(strings.TrimPrefix(text, "mockllm: "))
		}
	}()
	opts := s.opts.Mock
	if id != "" {
		logf := opts.Logf
		opts.Logf = func(format string, args ...any) { logf("conversation %q: %s", id, fmt.Sprintf(format, args...)) }
	}
	return &conversation{mock: mockllm.New(script, &opts)}, nil
}

// retire takes conversations away and returns those to be closed at once;
// the others are when their last request ends. s.mu is held.
func (s *Server) retire(list []*conversation) (idle []*conversation) {
	for _, c := range list {
		c.gone = true
		if c.active == 0 {
			idle = append(idle, c)
		} else {
			s.retired[c] = true
		}
	}
	return idle
}

func closeAll(list []*conversation) {
	for _, c := range list {
		c.mock.Close()
	}
}

var errTooMany = errors.New("too many conversations: DELETE those that are over at /t/ID/rehearse/conversation")

// enter returns a conversation, a new one where there is none, and counts a
// request of it that leave ends.
func (s *Server) enter(id string) (*conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.live[id]
	if c == nil {
		if len(s.live) >= s.opts.MaxConversations {
			return nil, errTooMany
		}
		var err error
		if c, err = s.conversation(id, s.script); err != nil {
			return nil, err
		}
		s.live[id] = c
	}
	c.active++
	return c, nil
}

func (s *Server) leave(c *conversation) {
	s.mu.Lock()
	c.active--
	over := c.gone && c.active == 0
	if over {
		delete(s.retired, c)
	}
	s.mu.Unlock()
	if over {
		c.mock.Close()
	}
}

// replace starts a conversation over with a script of its own.
func (s *Server) replace(id string, script mockllm.Script) error {
	if s.opts.Prepare != nil {
		s.opts.Prepare(&script)
	}
	c, err := s.conversation(id, script)
	if err != nil {
		return err
	}
	s.mu.Lock()
	var idle []*conversation
	if old := s.live[id]; old != nil {
		idle = s.retire([]*conversation{old})
	}
	s.live[id] = c
	s.mu.Unlock()
	closeAll(idle)
	return nil
}

// forget takes a conversation away; the next request begins it anew.
func (s *Server) forget(id string) {
	s.mu.Lock()
	var idle []*conversation
	if c := s.live[id]; c != nil {
		delete(s.live, id)
		idle = s.retire([]*conversation{c})
	}
	s.mu.Unlock()
	closeAll(idle)
}

// Err returns the misses, refusals and script errors of all conversations,
// joined; nil when there were none. Conversations that started over or were
// deleted have no part in it.
func (s *Server) Err() error {
	var all []error
	_, list := s.conversations()
	for _, c := range list {
		all = append(all, problems(c.mock)...)
	}
	return errors.Join(all...)
}

func problems(m *mockllm.Mock) []error {
	return unjoin(m.Err())
}

// Close ends the replies being paced and waits for their requests. Later
// requests are answered 503.
func (s *Server) Close() {
	s.mu.Lock()
	s.stopping = true
	all := slices.Concat(slices.Collect(maps.Values(s.live)), slices.Collect(maps.Keys(s.retired)))
	s.mu.Unlock()
	closeAll(all)
}

// ServeHTTP answers a request to a conversation or to the admin API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.opts.Origin != "" && allowOrigin(w, r, s.opts.Origin) {
		return
	}
	id, path, named := split(r)
	if named {
		r = below(r, path)
	}
	s.mu.Lock()
	name := s.script.Profile
	s.mu.Unlock()
	switch admin, ok := strings.CutPrefix(r.URL.Path+"/", "/rehearse/"); {
	case ok:
		admin = strings.TrimSuffix(admin, "/")
		s.serveAdmin(w, r, target{id: id, all: !named}, admin)
		return
	case !named && r.URL.Path == "/health" && !ownHealth(name):
		s.serveHealth(w)
		return
	case !named && s.opts.Isolate != nil:
		id = s.opts.Isolate(r)
	}
	s.converse(w, r, id)
}

// converse hands a request to the mock of a conversation.
func (s *Server) converse(w http.ResponseWriter, r *http.Request, id string) {
	c, err := s.enter(id)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	defer s.leave(c)
	m := s.metrics.begin(w, r)
	defer m.end()
	c.mock.ServeHTTP(m, r)
}

// split finds the conversation in a path, and what is below it.
func split(r *http.Request) (id, path string, named bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/t/")
	if !ok {
		return "", "", false
	}
	segment, path, _ := strings.Cut(rest, "/")
	id, err := url.PathUnescape(segment)
	if err != nil || id == "" {
		return "", "", false
	}
	return id, "/" + path, true
}

// below returns a request with an escaped path in place of its own.
func below(r *http.Request, path string) *http.Request {
	plain, err := url.PathUnescape(path)
	if err != nil {
		plain = path // as it was unescaped before, it can be
	}
	u := *r.URL
	u.Path, u.RawPath = plain, path
	out := *r
	out.URL = &u
	return &out
}

// ownHealth reports whether a profile's endpoint answers /health itself.
func ownHealth(name string) bool {
	p, ok := profile.Lookup(name)
	return ok && p.Proxy() && p.Has("/health")
}

// allowOrigin answers preflights, which it reports, and lets pages in.
func allowOrigin(w http.ResponseWriter, r *http.Request, origin string) (done bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "*")
	if origin != "*" {
		h.Add("Vary", "Origin")
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
	if want := r.Header.Values("Access-Control-Request-Headers"); len(want) > 0 {
		h["Access-Control-Allow-Headers"] = want
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// ByKey finds the conversation by the API key, wherever a client puts it.
func ByKey(r *http.Request) string {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(key)
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	return r.URL.Query().Get("key")
}

// ByHeader finds the conversation by the value of a header.
func ByHeader(name string) func(*http.Request) string {
	return func(r *http.Request) string { return r.Header.Get(name) }
}
