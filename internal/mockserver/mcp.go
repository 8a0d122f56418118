// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// MCPOptions are the settings of an [MCP]. Nil means the defaults.
type MCPOptions struct {
	// Mock are the settings of each conversation's server. The hosts and
	// origins that it lets in are those that the admin API lets in.
	Mock mockmcp.Options
	// Transport is http, sse or ws. Empty means http.
	Transport string
	// Isolate finds the conversation of a request that is not below /t/.
	// Empty and nil find the default one.
	Isolate func(*http.Request) string
	// Parse reads a script that is sent to the admin API. Nil refuses all.
	Parse func(data []byte) (mockmcp.Script, error)
	// Origin is the origin whose pages a browser lets in, * for any. Empty
	// lets in none.
	Origin string
	// MaxConversations bounds the conversations that are kept; a request for
	// one more is answered 503. 0 means 10,000.
	MaxConversations int
	// Grace is how long a server that is replaced may go on with what it is
	// answering. 0 cuts it at once.
	Grace time.Duration
}

// MCP serves one script of a mock MCP server to many tests at once, each with
// a server of its own. It is an [http.Handler] like [Server], with the same
// paths; the server of a conversation is at /mcp, /sse or /ws. It is safe for
// concurrent use.
type MCP struct {
	opts    MCPOptions
	metrics metrics
	ending  sync.WaitGroup // servers that were replaced

	stock[mockmcp.Script, *stage]
	tools map[string]bool // of the script; guarded by mu
}

// stage is the server of one conversation.
type stage struct {
	server  *mockmcp.Server
	handler http.Handler
}

func (g *stage) reset() { g.server.Reset() }

// NewMCP returns a server of script. The error says why it cannot be played.
func NewMCP(script mockmcp.Script, opts *MCPOptions) (*MCP, error) {
	s := &MCP{}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.Transport = cmp.Or(s.opts.Transport, "http")
	if s.opts.MaxConversations <= 0 {
		s.opts.MaxConversations = defaultConversations
	}
	if s.opts.Mock.Logf == nil {
		s.opts.Mock.Logf = func(string, ...any) {}
	}
	if s.opts.Origin != "" {
		s.opts.Mock.Origins = append(slices.Clone(s.opts.Mock.Origins), s.opts.Origin)
	}
	told := s.opts.Mock.OnCall
	s.opts.Mock.OnCall = func(tool string) {
		s.metrics.called(s.known(tool))
		if told != nil {
			told(tool)
		}
	}
	if err := s.Load(script); err != nil {
		return nil, err
	}
	return s, nil
}

// Path is where the server of the default conversation is.
func (s *MCP) Path() string {
	if s.opts.Transport == "http" {
		return "/mcp"
	}
	return "/" + s.opts.Transport
}

// Default is the server of the default conversation as it is now.
func (s *MCP) Default() *mockmcp.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[""].server
}

// Load puts script in the place of the one that is played: all conversations
// start over with it, and their clients have to connect again. On an error
// everything is as before.
func (s *MCP) Load(script mockmcp.Script) error {
	first, err := s.stage("", script)
	if err != nil {
		return err
	}
	s.mu.Lock()
	old := s.put(script, first)
	s.tools = make(map[string]bool, len(script.Tools))
	for _, t := range script.Tools {
		s.tools[t.Name] = true
	}
	s.mu.Unlock()
	s.retire(old)
	return nil
}

// known is a tool that metrics may name: those of the script.
func (s *MCP) known(tool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools[tool] {
		return tool
	}
	return "other"
}

// stage makes the server of a conversation that is not known yet.
func (s *MCP) stage(id string, script mockmcp.Script) (*stage, error) {
	opts := s.opts.Mock
	if id != "" {
		logf := opts.Logf
		opts.Logf = func(format string, args ...any) { logf("conversation %q: %s", id, fmt.Sprintf(format, args...)) }
	}
	server, err := mockmcp.New(script, &opts)
	if err != nil {
		return nil, err
	}
	g := &stage{server: server}
	switch s.opts.Transport {
	case "sse":
		g.handler = server.SSEHandler()
	case "ws":
		g.handler = server.WSHandler()
	default:
		g.handler = server.Handler()
	}
	return g, nil
}

// retire ends servers, each once it has answered what it is answering.
func (s *MCP) retire(list []*stage) {
	for _, g := range list {
		s.ending.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.opts.Grace)
			defer cancel()
			_ = g.server.Shutdown(ctx) // what is left then is cut
		})
	}
}

// find returns the server of a conversation, a new one where there is none.
func (s *MCP) find(id string) (*stage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.live[id]; g != nil {
		return g, nil
	}
	if s.stopping {
		return nil, errors.New("the mock server is stopping")
	}
	if len(s.live) >= s.opts.MaxConversations {
		return nil, errTooMany
	}
	g, err := s.stage(id, s.script)
	if err != nil {
		return nil, err
	}
	s.live[id] = g
	return g, nil
}

// replace starts a conversation over with a script of its own.
func (s *MCP) replace(id string, script mockmcp.Script) error {
	g, err := s.stage(id, script)
	if err != nil {
		return err
	}
	s.mu.Lock()
	old := s.live[id]
	s.live[id] = g
	s.mu.Unlock()
	if old != nil {
		s.retire([]*stage{old})
	}
	return nil
}

// forget takes a conversation away; the next request begins it anew.
func (s *MCP) forget(id string) {
	s.mu.Lock()
	old := s.live[id]
	delete(s.live, id)
	s.mu.Unlock()
	if old != nil {
		s.retire([]*stage{old})
	}
}

// Err returns the misses and script errors of all conversations, joined; nil
// when there were none. Conversations that started over or were deleted have
// no part in it.
func (s *MCP) Err() error {
	var all []error
	_, list := s.conversations()
	for _, g := range list {
		all = append(all, unjoin(g.server.Err())...)
	}
	return errors.Join(all...)
}

// unjoin returns the errors that one was joined from.
func unjoin(err error) []error {
	list, _ := err.(interface{ Unwrap() []error })
	switch {
	case list != nil:
		return list.Unwrap()
	case err != nil:
		return []error{err}
	}
	return nil
}

// Serve answers requests from l until ctx ends, then ends streams and lets
// calls go on that are being answered. Those that outlast the grace are cut,
// which is no error.
func (s *MCP) Serve(ctx context.Context, l net.Listener, opts *Listening) error {
	return serve(ctx, l, s, s.opts.Mock.Logf, opts)
}

// drain ends all servers once they have answered what they are answering, or
// when ctx ends.
func (s *MCP) drain(ctx context.Context) {
	var all sync.WaitGroup
	_, list := s.conversations()
	for _, g := range list {
		all.Go(func() { _ = g.server.Shutdown(ctx) })
	}
	all.Wait()
}

// Close ends all servers and waits for them. Later requests are answered 503.
func (s *MCP) Close() {
	s.Stop()
	_, list := s.conversations()
	for _, g := range list {
		g.server.Close()
	}
	s.ending.Wait()
}

// ServeHTTP answers a request to a conversation or to the admin API.
func (s *MCP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.opts.Origin != "" && allowOrigin(w, r, s.opts.Origin) {
		return
	}
	id, path, named := split(r)
	if named {
		r = below(r, path)
	}
	admin, isAdmin := strings.CutPrefix(r.URL.Path, "/rehearse/")
	health := !named && r.URL.Path == "/health"
	switch {
	case (isAdmin || health) && mcpwire.Foreign(r, s.opts.Mock.Hosts, s.opts.Mock.Origins) != "":
		writeError(w, http.StatusForbidden, errors.New(mcpwire.Foreign(r, s.opts.Mock.Hosts, s.opts.Mock.Origins)))
	case isAdmin:
		s.serveAdmin(w, r, target{id: id, all: !named}, admin)
	case health:
		s.serveHealth(w)
	default:
		if !named && s.opts.Isolate != nil {
			id = s.opts.Isolate(r)
		}
		s.converse(w, r, id)
	}
}

// converse hands a request to the server of a conversation.
func (s *MCP) converse(w http.ResponseWriter, r *http.Request, id string) {
	if path := r.URL.Path; path != s.Path() && !(s.opts.Transport == "sse" && path == "/message") && !strings.HasPrefix(path, "/.well-known/") {
		writeError(w, http.StatusNotFound, fmt.Errorf("there is nothing at %s; the mock server is at %s", path, s.Path()))
		return
	}
	g, err := s.find(id)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	m := s.metrics.begin(w, r)
	defer m.end()
	g.handler.ServeHTTP(m, r)
}
