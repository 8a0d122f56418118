// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package passthrough stands between a client and a real MCP server, hands on
// every byte as it came, and keeps a journal of the tool calls that went by.
//
//	p := passthrough.New(harness.Server{Name: "files", Command: []string{"mcp-server-filesystem", dir}}, nil)
//	env.Servers = append(env.Servers, harness.Server{Name: "files", Dial: p.Dial})
//	...
//	p.Journal()
//
// Servers that are a command or a pipe are reached by [Server.Dial], servers
// with a URL by [Server.Handler].
package passthrough

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Options are settings of a [Server]. Nil means all defaults.
type Options struct {
	// Clock is what calls are timed with. Default [harness.SystemClock].
	Clock harness.Clock
	// Called is told of each tools/call when it arrives, before it is handed
	// on. Nil tells nobody.
	Called func()
	// PassEnv names variables of our environment that a child process gets.
	PassEnv []string
}

// Server is a journal around one MCP server.
type Server struct {
	server harness.Server
	opts   Options

	mu       sync.Mutex // guards the rest
	journal  []harness.ToolExchange
	sessions int
	waiting  map[string]int // calls without an answer, by session and id, into journal
}

// New returns a journal around server. It starts nothing.
func New(server harness.Server, opts *Options) *Server {
	s := &Server{server: server, waiting: map[string]int{}}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Clock == nil {
		s.opts.Clock = harness.SystemClock()
	}
	if s.opts.Called == nil {
		s.opts.Called = func() {}
	}
	return s
}

// Journal returns the calls so far, in order of arrival. A call that has no
// answer yet has neither result nor error.
func (s *Server) Journal() []harness.ToolExchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.journal)
}

// Dial starts the server, or opens its pipe, and returns the connection. It
// fits [harness.Server]; closing the connection ends the server.
func (s *Server) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	var inner io.ReadWriteCloser
	var err error
	switch {
	case s.server.Dial != nil:
		inner, err = s.server.Dial(ctx)
	case len(s.server.Command) > 0:
		inner, err = mcpwire.Start(mcpwire.Command{Args: s.server.Command, Env: s.server.Env, PassEnv: s.opts.PassEnv})
	default:
		err = errors.New("it has neither command nor pipe")
	}
	if err != nil {
		return nil, fmt.Errorf("starting server %q: %w", s.server.Name, err)
	}
	session := s.session()
	return &conn{
		ReadWriteCloser: inner,
		up:              lines{each: func(frame []byte) { s.request(session, frame) }},
		down:            lines{each: func(frame []byte) { s.response(session, frame) }},
	}, nil
}

func (s *Server) session() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	return fmt.Sprint(s.sessions)
}

// request looks at a message from the client.
func (s *Server) request(session string, frame []byte) {
	m, err := mcpwire.Parse(frame)
	if err != nil || !m.IsRequest() || m.Method != "tools/call" {
		return
	}
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return // the server will have its own words for that
	}
	if string(p.Arguments) == "null" {
		p.Arguments = nil
	}
	s.opts.Called()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, harness.ToolExchange{
		Seq: len(s.journal) + 1, Server: s.server.Name, Tool: p.Name, Args: p.Arguments, Start: s.opts.Clock.Now(),
	})
	s.waiting[session+" "+m.Key()] = len(s.journal) - 1
}

// response looks at a message from the server.
func (s *Server) response(session string, frame []byte) {
	m, err := mcpwire.Parse(frame)
	if err != nil || !m.IsResponse() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := session + " " + m.Key()
	i, ok := s.waiting[key]
	if !ok {
		return
	}
	delete(s.waiting, key)
	x := &s.journal[i]
	x.Duration = s.opts.Clock.Now().Sub(x.Start)
	if m.Error != nil {
		x.RPCError, x.Failed = m.Error, true
		return
	}
	x.Content = slices.Clone(m.Result)
	if r, err := mcpwire.ParseResult(x.Content); err == nil {
		x.Text, x.Result, x.IsError, x.Failed = r.Text(), r.Value(), r.IsError, r.IsError
	}
}

// conn looks at both directions of a connection.
type conn struct {
	io.ReadWriteCloser
	up, down lines
}

// process is a connection that knows about the process behind it.
type process interface {
	Ending() string
	Stderr() string
}

// Ending and Stderr let the client say why a server went away. They are empty
// where there is no process.

func (c *conn) Ending() string {
	if p, ok := c.ReadWriteCloser.(process); ok {
		return p.Ending()
	}
	return ""
}

func (c *conn) Stderr() string {
	if p, ok := c.ReadWriteCloser.(process); ok {
		return p.Stderr()
	}
	return ""
}

func (c *conn) Write(p []byte) (int, error) {
	c.up.add(p) // before the server can answer
	return c.ReadWriteCloser.Write(p)
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.down.add(p[:n])
	return n, err
}

// lines cuts a stream into lines. A line beyond the largest frame is dropped
// up to its end.
type lines struct {
	each func(line []byte)

	mu   sync.Mutex // guards the rest: writes may be concurrent
	part []byte
	drop bool
}

func (l *lines) add(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range splitAfter(p) {
		if !l.drop {
			l.part = append(l.part, b...)
		}
		if len(l.part) > mcpwire.DefaultMaxFrame {
			l.part, l.drop = nil, true
		}
		if b[len(b)-1] != '\n' {
			return
		}
		if !l.drop {
			l.each(l.part)
		}
		l.part, l.drop = l.part[:0], false
	}
}

// splitAfter cuts p after each newline.
func splitAfter(p []byte) [][]byte {
	var out [][]byte
	for len(p) > 0 {
		n := slices.Index(p, '\n') + 1
		if n == 0 {
			n = len(p)
		}
		out = append(out, p[:n])
		p = p[n:]
	}
	return out
}
