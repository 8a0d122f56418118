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
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Options are settings of a [Server]. Nil means all defaults.
type Options struct {
	// Clock is what calls are timed with. Default [harness.SystemClock].
	Clock harness.Clock
	// Called is told of each tools/call when it arrives, before it is handed
	// on. Nil tells nobody.
	Called func(tool string)
	// PassEnv names variables of our environment that a child process gets.
	PassEnv []string
	// Abort, once closed, has child processes killed at once. Nil never does.
	Abort <-chan struct{}
	// Transport carries requests to a server with a URL. Default: one of our
	// own, which keeps no connection.
	Transport http.RoundTripper
}

// Trouble is a request that the server left without an answer, or the end of
// a server that nobody had asked to end.
type Trouble struct {
	// Request is the method, of a call with its tool: "tools/call ask". Empty
	// when the server ended without a request under way.
	Request string
	// Why says why there is no answer; empty when the server was just silent.
	Why string
}

// Server is a journal around one MCP server.
type Server struct {
	server harness.Server
	opts   Options

	mu       sync.Mutex // guards the rest
	closed   bool
	journal  []harness.ToolExchange
	sessions int
	requests int
	conns    []*conn
	waiting  map[string]*pending // requests without an answer, by session and id
	lost     []*pending          // those that were answered with what cannot be read
}

// pending is a request that a session cannot do without.
type pending struct {
	seq   int    // in order of arrival
	what  string // as in [Trouble]
	entry int    // in the journal; -1 for what is no call
	conn  *conn  // nil over HTTP
	why   string // there is no answer, where that is known
}

// New returns a journal around server. It starts nothing.
func New(server harness.Server, opts *Options) *Server {
	s := &Server{server: server, waiting: map[string]*pending{}}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Clock == nil {
		s.opts.Clock = harness.SystemClock()
	}
	if s.opts.Transport == nil {
		// Nothing is left behind after the last request.
		s.opts.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	if s.opts.Called == nil {
		s.opts.Called = func(string) {}
	}
	return s
}

// Journal returns the calls so far, in order of arrival. A call that has no
// answer yet has neither result nor error; one that will have none has failed.
func (s *Server) Journal() []harness.ToolExchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.journal)
	for _, p := range s.pending() {
		if p.entry >= 0 && (p.why != "" || p.conn != nil && p.conn.ended.Load()) {
			out[p.entry].Failed = true
		}
	}
	return out
}

// pending lists the requests without an answer. The caller holds mu.
func (s *Server) pending() []*pending {
	list := append(slices.Collect(maps.Values(s.waiting)), s.lost...)
	slices.SortFunc(list, func(a, b *pending) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// Trouble tells what the server failed to do, as far as one can see.
func (s *Server) Trouble() []Trouble {
	s.mu.Lock()
	list, conns := s.pending(), slices.Clone(s.conns)
	s.mu.Unlock()
	var out []Trouble
	for _, p := range list {
		t := Trouble{Request: p.what, Why: p.why}
		if t.Why == "" && p.conn != nil {
			t.Why = p.conn.end()
			conns = slices.DeleteFunc(conns, func(c *conn) bool { return c == p.conn })
		}
		out = append(out, t)
	}
	for _, c := range conns {
		if why := c.end(); why != "" {
			out = append(out, Trouble{Why: why})
		}
	}
	return out
}

// Close ends the connections that are still open, with the processes behind
// them. It starts no more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { _ = c.Close() }) // what is gone is gone
	}
	wg.Wait()
	return nil
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
		inner, err = mcpwire.Start(mcpwire.Command{
			Args: s.server.Command, Env: s.server.Env, PassEnv: s.opts.PassEnv, Abort: s.opts.Abort,
		})
	default:
		err = errors.New("it has neither command nor pipe")
	}
	if err != nil {
		return nil, fmt.Errorf("starting server %q: %w", s.server.Name, err)
	}
	s.mu.Lock()
	s.sessions++
	session := fmt.Sprint(s.sessions)
	c := &conn{ReadWriteCloser: inner}
	c.up.each = func(frame []byte) { s.request(session, c, frame) }
	c.down.each = func(frame []byte) { s.response(session, frame) }
	s.conns = append(s.conns, c)
	closed := s.closed
	s.mu.Unlock()
	if closed {
		_ = c.Close()
		return nil, fmt.Errorf("starting server %q: its trial is over", s.server.Name)
	}
	return c, nil
}

// request looks at a message from the client, and returns the key of what the
// server has to answer, if anything.
func (s *Server) request(session string, c *conn, frame []byte) (key string) {
	m, err := mcpwire.Parse(frame)
	if err != nil || !m.IsRequest() {
		return ""
	}
	key = session + " " + m.Key()
	switch m.Method {
	case "initialize", "tools/list":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.await(key, &pending{what: m.Method, entry: -1, conn: c})
		return key
	case "tools/call":
	default:
		return ""
	}
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return "" // the server will have its own words for that
	}
	if string(p.Arguments) == "null" {
		p.Arguments = nil
	}
	s.opts.Called(p.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, harness.ToolExchange{
		Seq: len(s.journal) + 1, Server: s.server.Name, Tool: p.Name, Args: p.Arguments, Start: s.opts.Clock.Now(),
	})
	s.await(key, &pending{what: m.Method + " " + p.Name, entry: len(s.journal) - 1, conn: c})
	return key
}

// await notes a request that is to be answered. The caller holds mu.
func (s *Server) await(key string, p *pending) {
	s.requests++
	p.seq = s.requests
	s.waiting[key] = p
}

// noAnswer notes why a request gets no answer, if it has none.
func (s *Server) noAnswer(key, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.waiting[key]; p != nil && p.why == "" {
		p.why = why
	}
}

// response looks at a message from the server.
func (s *Server) response(session string, frame []byte) {
	m, err := mcpwire.Parse(frame)
	if err != nil {
		m = mcpwire.Message{ID: mcpwire.IDOf(frame)}
	}
	if !m.IsResponse() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := session + " " + m.Key()
	p := s.waiting[key]
	if p == nil {
		return
	}
	delete(s.waiting, key)
	if err != nil {
		p.why = fmt.Sprintf("its answer cannot be read: %v", err)
		s.lost = append(s.lost, p)
	}
	if p.entry < 0 {
		return
	}
	x := &s.journal[p.entry]
	x.Duration = s.opts.Clock.Now().Sub(x.Start)
	if err != nil {
		return
	}
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
	closed   atomic.Bool // by us
	ended    atomic.Bool // by the server
}

// end says how the server ended the connection; it is empty when it did not.
func (c *conn) end() string {
	if !c.ended.Load() {
		return ""
	}
	why := "it went away"
	if how := c.Ending(); how != "" {
		why += ": " + how
	}
	if says := strings.TrimSpace(c.Stderr()); says != "" {
		const most = 5
		lines := strings.Split(says, "\n")
		why += "; its stderr ends: " + strings.Join(lines[max(0, len(lines)-most):], "\n")
	}
	return why
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
	if err != nil && !c.closed.Load() {
		c.ended.Store(true)
	}
	return n, err
}

func (c *conn) Close() error {
	c.closed.Store(true)
	return c.ReadWriteCloser.Close()
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
			if room := cap(l.part) - len(l.part); room < len(b) {
				l.part = slices.Grow(l.part, max(len(b), len(l.part))) // twice as much: frames can be long
			}
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
		if cap(l.part) > maxKept {
			l.part = nil
		}
	}
}

// maxKept is the largest buffer that is kept for the next line.
const maxKept = 1 << 20

// splitAfter cuts p after each newline.
func splitAfter(p []byte) [][]byte {
	var out [][]byte
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			n = len(p)
		}
		out = append(out, p[:n])
		p = p[n:]
	}
	return out
}
