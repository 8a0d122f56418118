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
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Options are settings of a [Server]. Nil means all defaults.
type Options struct {
	// Clock is what calls are timed with. Default [harness.SystemClock].
	Clock harness.Clock
	// Called is told of each tools/call when it arrives, before it is handed
	// on. Nil tells nobody.
	Called func(tool string)
	// Seen is told each message as it goes by, from the client where in is set. It
	// must not keep it. Nil is told nothing.
	Seen func(session string, in bool, frame []byte)
	// PassEnv names variables of our environment that a child process gets.
	PassEnv []string
	// Grace is how long a child process may take to end once its input was
	// closed, and again once it was told to. Default 2 s.
	Grace time.Duration
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
	conns    []*mcpwire.Tap
	pairings map[string]*mcpwire.Pairing // by session
	waiting  map[string]*pending         // requests without an answer, by session and id
	lost     []*pending                  // those that were answered with what cannot be read
}

// pending is a request that a session cannot do without.
type pending struct {
	seq   int          // in order of arrival
	what  string       // as in [Trouble]
	entry int          // in the journal; -1 for anything that is not a call
	conn  *mcpwire.Tap // nil over HTTP
	why   string       // there is no answer, where that is known
}

// New returns a journal around server. It starts nothing.
func New(server harness.Server, opts *Options) *Server {
	s := &Server{server: server, pairings: map[string]*mcpwire.Pairing{}, waiting: map[string]*pending{}}
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
	if s.opts.Seen == nil {
		s.opts.Seen = func(string, bool, []byte) {}
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
		if p.entry >= 0 && (p.why != "" || p.conn != nil && p.conn.Ended()) {
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
			t.Why = end(p.conn)
			conns = slices.DeleteFunc(conns, func(c *mcpwire.Tap) bool { return c == p.conn })
		}
		out = append(out, t)
	}
	for _, c := range conns {
		if why := end(c); why != "" {
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
	if s.server.Dial == nil && len(s.server.Command) == 0 {
		err = errors.New("it has neither command nor pipe")
	} else {
		inner, err = mcpwire.Dial(ctx, s.server, mcpwire.DialOptions{PassEnv: s.opts.PassEnv, Abort: s.opts.Abort, Grace: s.opts.Grace})
	}
	if err != nil {
		return nil, fmt.Errorf("starting server %q: %w", s.server.Name, err)
	}
	s.mu.Lock()
	s.sessions++
	session := fmt.Sprint(s.sessions)
	var c *mcpwire.Tap
	torn := false // the server has ended inside a line
	out := &mcpwire.Lines{Each: func(frame []byte) {
		s.opts.Seen(session, false, frame)
		messages, junk := mcpwire.ParseAll(frame)
		s.answers(session, messages, junk, torn)
	}}
	c = mcpwire.NewTap(inner, &mcpwire.Lines{Each: func(frame []byte) { s.request(session, c, frame) }}, out, func() {
		torn = true
		out.Flush()
	})
	s.conns = append(s.conns, c)
	closed := s.closed
	s.mu.Unlock()
	if closed {
		_ = c.Close()
		return nil, fmt.Errorf("starting server %q: its trial is over", s.server.Name)
	}
	return c, nil
}

// request looks at a message from the client, and returns the id of a request.
func (s *Server) request(session string, c *mcpwire.Tap, frame []byte) json.RawMessage {
	s.opts.Seen(session, true, frame)
	m, err := mcpwire.Parse(frame)
	switch {
	case err != nil:
		return nil
	case m.Method == mcpwire.NoticeCancelled:
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if exactjson.Unmarshal(m.Params, &p) == nil {
			s.leave(session, p.ID)
		}
		return nil
	case !m.IsRequest():
		return nil
	}
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	// Of a call that cannot be read, the server will have its own words.
	call := m.Method == mcpwire.MethodCall && exactjson.Unmarshal(m.Params, &p) == nil
	if call {
		s.opts.Called(p.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pairing(session).Ask(m)
	x := &pending{what: m.Method, entry: -1, conn: c}
	switch {
	case call:
		if string(p.Arguments) == "null" {
			p.Arguments = nil
		}
		s.journal = append(s.journal, harness.ToolExchange{
			Seq: len(s.journal) + 1, Server: s.server.Name, Tool: p.Name, Args: p.Arguments, Start: s.opts.Clock.Now(),
		})
		x.what, x.entry = m.Method+" "+p.Name, len(s.journal)-1
	case m.Method != mcpwire.MethodInitialize && m.Method != mcpwire.MethodTools:
		return m.ID
	}
	s.requests++
	x.seq = s.requests
	s.waiting[keyOf(session, m.ID)] = x
	return m.ID
}

func keyOf(session string, id json.RawMessage) string { return session + " " + mcpwire.Key(id) }

// pairing pairs the messages of a session. The caller holds mu.
func (s *Server) pairing(session string) *mcpwire.Pairing {
	p := s.pairings[session]
	if p == nil {
		p = new(mcpwire.Pairing)
		s.pairings[session] = p
	}
	return p
}

// leave notes that the client waits for an answer no longer.
func (s *Server) leave(session string, id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pairing(session)
	p.Leave(mcpwire.Key(id))
	s.accuse(session, p)
}

// noAnswer notes why a request gets no answer, if it has none.
func (s *Server) noAnswer(session string, id json.RawMessage, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.waiting[keyOf(session, id)]; p != nil && p.why == "" {
		p.why = why
	}
}

// answers looks at what the server sent: messages, and what is none. It reads them
// as the client of rehearse does, so that both witnesses see the same answers.
// What the end of the server has torn is no answer.
func (s *Server) answers(session string, messages []mcpwire.Message, junk *mcpwire.JunkError, torn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pairing(session)
	if junk != nil {
		messages = append(messages, junk.Salvage()...)
		if junk.ID != nil && !torn {
			p.Drop(mcpwire.Key(junk.ID))
			s.unusable(keyOf(session, junk.ID), fmt.Sprintf("its answer is unreadable: %s", junk.Why))
		}
	}
	for _, m := range messages {
		if !m.IsResponse() {
			continue
		}
		if key, match := p.Answer(m); match != mcpwire.MatchNone {
			s.answer(session+" "+key, m)
		}
		s.accuse(session, p)
	}
}

// accuse gives up the requests that no answer will come for any more. The caller
// holds mu.
func (s *Server) accuse(session string, p *mcpwire.Pairing) {
	for key, err := range p.Accused() {
		s.unusable(session+" "+key, err.Error())
	}
}

// unusable ends a request whose answer is of no use. The caller holds mu.
func (s *Server) unusable(key, why string) {
	if p := s.take(key); p != nil {
		p.why = why
		s.lost = append(s.lost, p)
	}
}

// take takes a request that waits no longer. The caller holds mu.
func (s *Server) take(key string) *pending {
	p := s.waiting[key]
	delete(s.waiting, key)
	if p != nil && p.entry >= 0 {
		x := &s.journal[p.entry]
		x.Duration = s.opts.Clock.Now().Sub(x.Start)
	}
	return p
}

// answer notes the answer to a request. The caller holds mu.
func (s *Server) answer(key string, m mcpwire.Message) {
	p := s.take(key)
	if p == nil || p.entry < 0 {
		return
	}
	x := &s.journal[p.entry]
	if m.Error != nil {
		x.RPCError, x.Failed = m.Error, true
		return
	}
	x.Content = slices.Clone(m.Result)
	if r, err := mcpwire.ParseResult(x.Content); err == nil {
		x.Text, x.Result, x.IsError, x.Failed = r.Text(), r.Value(), r.IsError, r.IsError
	}
}

// end says how the server ended the connection; it is empty when it did not.
func end(c *mcpwire.Tap) string {
	if !c.Ended() {
		return ""
	}
	why := "it disconnected"
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
