// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcppool opens client sessions with MCP servers: child processes over
// stdio, streamable HTTP, HTTP+SSE, WebSockets, and pipes to servers in this
// process.
//
//	s, err := mcppool.Open(ctx, harness.Server{Name: "files", Command: []string{"mcp-server-filesystem", dir}}, nil)
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	tools, warnings, err := s.Tools(ctx)
//	result, err := s.Call(ctx, "read_file", json.RawMessage(`{"path": "a.txt"}`))
//
// A tester must not lose what a server really sent: tool schemas and results
// are kept as raw JSON, the code and data of errors too, and lines that are no
// JSON-RPC are quoted when a call runs into its deadline. The client is held
// against mcp-go's servers, and mcp-go's types check what handlers return.
package mcppool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/breaker"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/retry"
	"github.com/rehearse-dev/rehearse/internal/telemetry"
)

// Era restricts which protocol is spoken.
type Era string

// The eras of the protocol.
const (
	EraAuto   Era = ""       // the new one if the server speaks it
	EraLegacy Era = "legacy" // initialize: up to 2025-11-25
	EraModern Era = "modern" // without initialize: 2026-07-28
)

// Options are settings of a [Session]. nil means all defaults.
type Options struct {
	// CallTimeout bounds the wait in each tools/call for an answer, or for
	// word of progress, which begins it anew. Default 60 s.
	CallTimeout time.Duration
	// TotalTimeout bounds each tools/call however much progress it reports.
	// Default ten times CallTimeout.
	TotalTimeout time.Duration
	// Clock is what the time limits of calls and lists run by, and the wait before
	// the stream of an answer is resumed. nil means [harness.SystemClock].
	Clock harness.Clock
	// ConnectTimeout bounds the start of the server with its handshake, and
	// each tools/list. Default 30 s.
	ConnectTimeout time.Duration
	// DiscoverTimeout bounds the wait for an answer to server/discover before
	// the server counts as one of the initialize era. Default 1 s.
	DiscoverTimeout time.Duration
	// CloseGrace is how long a child process may take to end after its input
	// was closed, and again after it was told to terminate. Default 2 s.
	CloseGrace time.Duration
	// MaxRestarts is how often in a row a server that disconnected is started
	// again, or connected to again, for the next request. An answer begins the
	// count anew, and 30 s after the last restart there may be one more. Default
	// 3; a negative number means never.
	MaxRestarts int
	// PerCall opens a connection for each request and closes it again: of a child
	// process, there is one for each call, and none between. A server can announce no
	// changes then, and nothing is connected to a second time. Default: one
	// connection for all.
	PerCall bool
	// Backoff is the wait before the second restart in a row; the first is made at
	// once, and each further wait is twice as long, up to 30 s. Default 500 ms.
	Backoff time.Duration
	// Slow is how long a request may take before a note says that it was slow.
	// Default 5 s; a negative value means any time.
	Slow time.Duration
	// Abort, once closed, has child processes killed at once. nil never does.
	Abort <-chan struct{}
	// Breaker stops calls of a server that fails again and again: they return an
	// error of the kind [ErrOpen]. Calls that got no answer count, and HTTP errors
	// but 4xx without 408 and 429; what a server refuses does not. It runs by Clock.
	// nil means that every call is made.
	Breaker *Breaker
	// CircuitChanged is given each change of a server's circuit. It must not make a
	// call. nil drops them.
	CircuitChanged func(CircuitChange)
	// PassEnv names variables of our environment that a child process gets
	// beside the few that every program needs (PATH, HOME, ...) and those of
	// [harness.Server].
	PassEnv []string
	// DialContext opens the connections that HTTP goes over. nil means those of
	// the server's own DialContext, or of the network.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxPages bounds the pages of one tools/list. Default 100.
	MaxPages int
	// MaxFrame bounds one answer in bytes. Default 64 MiB.
	MaxFrame int
	// Era restricts which protocol is spoken. Default [EraAuto].
	Era Era
	// ClientName and ClientVersion are what servers are told. Default
	// "rehearse" and "0".
	ClientName, ClientVersion string
	// Sampling, Elicitation and Roots answer what servers ask for, in both
	// eras. Without one its capability is not declared, and what is asked for
	// all the same is refused.
	Sampling, Elicitation, Roots Handler
	// LogLevel asks servers that have a log to send what is at least as
	// severe: debug, info, warning, error. Empty leaves it to them.
	LogLevel string
	// Notified is given each notification of a server, with its params. It runs
	// where answers are read, so it must not wait for one. nil drops them.
	Notified func(server, method string, params json.RawMessage)
	// Logf takes a line for what went wrong and was survived. nil drops it.
	Logf func(format string, args ...any)
	// Telemetry records each request as a span, whose context goes into the _meta of
	// the request, and its duration as a metric. Times are those of Clock. nil
	// records nothing.
	Telemetry *Telemetry

	recorder *telemetry.Recorder // of Telemetry
}

func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.CallTimeout = cmp.Or(c.CallTimeout, 60*time.Second)
	c.TotalTimeout = cmp.Or(c.TotalTimeout, 10*c.CallTimeout)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 30*time.Second)
	c.DiscoverTimeout = cmp.Or(c.DiscoverTimeout, time.Second)
	c.MaxRestarts = cmp.Or(c.MaxRestarts, 3)
	c.Backoff = cmp.Or(c.Backoff, 500*time.Millisecond)
	c.Slow = cmp.Or(c.Slow, 5*time.Second)
	c.MaxPages = cmp.Or(c.MaxPages, 100)
	c.MaxFrame = cmp.Or(c.MaxFrame, mcpwire.DefaultMaxFrame)
	c.ClientName = cmp.Or(c.ClientName, "rehearse")
	c.ClientVersion = cmp.Or(c.ClientVersion, "0")
	if c.Clock == nil {
		c.Clock = harness.SystemClock()
	}
	c.PassEnv = slices.Clone(c.PassEnv)
	if c.Logf == nil {
		c.Logf = func(string, ...any) {}
	}
	if c.recorder == nil { // a pool has one for all its sessions
		c.recorder = telemetry.New(c.Telemetry, c.Clock.Now)
	}
	return c
}

// Session is an open session with one server. Its methods may be called
// concurrently.
type Session struct {
	server  harness.Server
	opts    Options
	changes atomic.Int64 // how often the list of tools has changed
	pooled  bool         // its pool closes it
	life    context.Context
	end     context.CancelFunc
	// renewing is held by who opens the connection anew.
	renewing     chan struct{}
	circuit      *breaker.Breaker
	apart        sync.WaitGroup // connections of one request; added to while mu is held and closed is false
	acknowledged chan struct{}  // the server announces changes

	mu         sync.Mutex // guards the fields below
	conn       *conn
	notes      []string
	closed     bool
	restarts   *retry.Attempts // since the last answer; nil when there were none
	restarted  time.Time       // when the last one was made
	heard      time.Time       // when the server answered last
	stats      Stats
	took       []time.Duration      // of the latest requests
	subscribed map[string]bool      // resources, by URI
	tokens     int64                // how many progress tokens were given out
	patient    map[string]*patience // the calls under way, by progress token
	noted      map[string]bool      // the notes of which one is enough
}

// Open connects to a server and shakes hands. The error is of type [*Error].
func Open(ctx context.Context, server harness.Server, opts *Options) (*Session, error) {
	s := &Session{
		server: server, opts: opts.withDefaults(),
		renewing: make(chan struct{}, 1), acknowledged: make(chan struct{}, 1), patient: map[string]*patience{}, noted: map[string]bool{}, subscribed: map[string]bool{},
	}
	if s.opts.DialContext == nil {
		s.opts.DialContext = server.DialContext
	}
	s.circuit = breaker.New(server.Name, s.opts.Breaker, s.opts.Clock.Now, s.opts.CircuitChanged)
	s.life, s.end = context.WithCancel(context.Background())
	c, err := s.connect(ctx)
	if err != nil {
		s.end()
		return nil, err
	}
	s.conn, s.heard = c, s.opts.Clock.Now()
	if s.opts.PerCall {
		c.close()
	}
	return s, nil
}

// Name returns the server's name as configured.
func (s *Session) Name() string { return s.server.Name }

// Info returns what the server says of itself.
func (s *Session) Info() Info { return s.current().info }

// ProtocolVersion returns the version that was agreed on.
func (s *Session) ProtocolVersion() string { return s.current().version }

// ListChanges counts how often the server said that its tools changed, and how
// often it was started anew. Whoever has listed the tools compares it with what
// it was before: a session may have several users.
func (s *Session) ListChanges() int64 { return s.changes.Load() }

// Notes are remarks about the connection for a report: a probe that timed
// out, lines that were no JSON-RPC, a session that was opened anew.
func (s *Session) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// maxNotes bounds what a babbling server makes us keep.
const maxNotes = 50

func (s *Session) note(format string, args ...any) {
	line := fmt.Sprintf("server %q: ", s.server.Name) + fmt.Sprintf(format, args...)
	s.opts.Logf("%s", line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) < maxNotes {
		s.notes = append(s.notes, line)
	}
}

// once notes what may happen often and needs to be said once.
func (s *Session) once(format string, args ...any) {
	s.mu.Lock()
	known := s.noted[format]
	s.noted[format] = true
	s.mu.Unlock()
	if !known {
		s.note(format, args...)
	}
}

// Close ends the session and waits until nothing of it is left. A child
// process is ended with all processes that it started. A session of a [Pool]
// stays open for its other users until the pool closes it.
func (s *Session) Close() error {
	if !s.pooled {
		s.close()
	}
	return nil
}

func (s *Session) close() {
	s.mu.Lock()
	s.closed = true
	c := s.conn
	s.mu.Unlock()
	s.end()
	c.close()
	s.apart.Wait()
}

func (s *Session) current() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// Result is the result of a call.
type Result struct {
	Raw        json.RawMessage   // the whole result object, byte for byte
	Content    []json.RawMessage // content blocks, those of unknown type too
	Text       string            // text blocks, joined with newlines
	Structured json.RawMessage   // structured content, or null
	IsError    bool
}

// Tool is a tool as its server lists it.
type Tool struct {
	harness.Tool                 // Schema is the input schema, byte for byte
	Output       json.RawMessage // output schema, or null
	Raw          json.RawMessage // the whole entry, byte for byte
}

// Info is what a server says of itself.
type Info struct {
	Name, Version string
	Protocol      string // the version that was agreed on
	Instructions  string
}
