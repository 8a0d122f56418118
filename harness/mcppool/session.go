// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcppool opens client sessions with MCP servers: child processes
// over stdio, streamable HTTP, and pipes to servers in this process.
//
//	s, err := mcppool.Open(ctx, harness.Server{Name: "files", Command: []string{"mcp-server-filesystem", dir}}, nil)
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	tools, warnings, err := s.Tools(ctx)
//	result, err := s.Call(ctx, "read_file", json.RawMessage(`{"path": "a.txt"}`))
//
// Negotiation is mcp-go's; the wire below it is ours, since a tester must not
// lose what a server really sent: tool schemas and results are kept as raw
// JSON, the code and data of errors too, and lines that are no JSON-RPC are
// quoted when a call runs into its deadline.
package mcppool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Options are settings of a [Session]. nil means all defaults.
type Options struct {
	// CallTimeout bounds each tools/call. Default 60 s.
	CallTimeout time.Duration
	// ConnectTimeout bounds the start of the server with its handshake, and
	// each tools/list. Default 30 s.
	ConnectTimeout time.Duration
	// DiscoverTimeout bounds the wait for an answer to server/discover before
	// the server counts as one of the initialize era. Default 1 s.
	DiscoverTimeout time.Duration
	// CloseGrace is how long a child process may take to end after its input
	// was closed, and again after it was told to terminate. Default 2 s.
	CloseGrace time.Duration
	// Abort, once closed, has child processes killed at once. nil never does.
	Abort <-chan struct{}
	// PassEnv names variables of our environment that a child process gets
	// beside the few that every program needs (PATH, HOME, ...) and those of
	// [harness.Server].
	PassEnv []string
	// MaxPages bounds the pages of one tools/list. Default 100.
	MaxPages int
	// MaxFrame bounds one answer in bytes. Default 64 MiB.
	MaxFrame int
	// ClientName and ClientVersion are what servers are told. Default
	// "rehearse" and "0".
	ClientName, ClientVersion string
	// Logf takes a line for what went wrong and was survived. nil drops it.
	Logf func(format string, args ...any)
}

func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.CallTimeout = cmp.Or(c.CallTimeout, 60*time.Second)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 30*time.Second)
	c.DiscoverTimeout = cmp.Or(c.DiscoverTimeout, time.Second)
	c.MaxPages = cmp.Or(c.MaxPages, 100)
	c.MaxFrame = cmp.Or(c.MaxFrame, mcpwire.DefaultMaxFrame)
	c.ClientName = cmp.Or(c.ClientName, "rehearse")
	c.ClientVersion = cmp.Or(c.ClientVersion, "0")
	c.PassEnv = slices.Clone(c.PassEnv)
	if c.Logf == nil {
		c.Logf = func(string, ...any) {}
	}
	return c
}

// ErrorKind says what became of a request that got no result.
type ErrorKind string

// The kinds of [Error].
const (
	ErrRPC       ErrorKind = "rpc"       // the server answered with a JSON-RPC error
	ErrTimeout   ErrorKind = "timeout"   // no answer within the time limit
	ErrCancelled ErrorKind = "cancelled" // the caller's context ended
	ErrClosed    ErrorKind = "closed"    // the server went away
	ErrMalformed ErrorKind = "malformed" // the request or the answer cannot be used
	ErrTransport ErrorKind = "transport" // HTTP answered with an error, or not at all
)

// Error is what is returned when a request got no result.
type Error struct {
	Kind   ErrorKind
	Server string
	Op     string // "connecting to", "listing the tools of", `calling "refund" on`
	// RPC is the error object of the server, for the kind rpc.
	RPC *harness.RPCError
	// Stderr is the end of what the server's process wrote there.
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s server %q: %v", e.Op, e.Server, e.Err)
	if e.Stderr != "" {
		s += "; its stderr ends: " + lastLines(e.Stderr, 5)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Session is an open session with one server. Its methods may be called
// concurrently.
type Session struct {
	server  harness.Server
	opts    Options
	changed atomic.Bool // the list of tools has changed since it was asked for

	mu     sync.Mutex // guards the fields below
	conn   *conn
	notes  []string
	closed bool
}

// Open connects to a server and shakes hands. The error is of type [*Error].
func Open(ctx context.Context, server harness.Server, opts *Options) (*Session, error) {
	s := &Session{server: server, opts: opts.withDefaults()}
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.conn = c
	return s, nil
}

// Name returns the server's name as configured.
func (s *Session) Name() string { return s.server.Name }

// ProtocolVersion returns the version that was agreed on.
func (s *Session) ProtocolVersion() string { return s.current().client.ProtocolVersion() }

// ListChanged reports whether the server said that its tools changed after
// the last call of [Session.Tools] began.
func (s *Session) ListChanged() bool { return s.changed.Load() }

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

// Close ends the session and waits until nothing of it is left. A child
// process is ended with all processes that it started.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	c := s.conn
	s.mu.Unlock()
	c.close()
	return nil
}

func (s *Session) current() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// do sends one request by f, within a time limit, and keeps what was
// answered. A session that the server has forgotten is opened anew and the
// request sent again, once: the server has not looked at it.
func (s *Session) do(ctx context.Context, op string, limit time.Duration, f func(context.Context, *conn) error) (*capture, error) {
	c := s.current()
	for attempt := 1; ; attempt++ {
		kept, err := s.try(ctx, op, limit, c, f)
		if attempt > 1 || !errors.Is(err, transport.ErrSessionTerminated) || !c.legacyHTTP {
			return kept, err
		}
		again, reErr := s.reconnect(ctx, c)
		if reErr != nil {
			return kept, errors.Join(err, reErr)
		}
		c = again
	}
}

func (s *Session) try(ctx context.Context, op string, limit time.Duration, c *conn, f func(context.Context, *conn) error) (*capture, error) {
	kept := new(capture)
	inner, cancel := context.WithTimeout(context.WithValue(ctx, captureKey{}, kept), limit)
	defer cancel()
	err := f(inner, c)
	if err == nil || kept.result != nil { // a result that mcp-go cannot read is still a result
		return kept, nil
	}
	return kept, s.explain(ctx, inner, op, limit, c, kept, err)
}

// explain makes an [*Error] of an error of mcp-go's.
func (s *Session) explain(outer, inner context.Context, op string, limit time.Duration, c *conn, kept *capture, err error) error {
	e := &Error{Server: s.server.Name, Op: op, Err: err, Kind: ErrTransport}
	switch {
	case kept.rpc != nil:
		e.Kind, e.RPC, e.Err = ErrRPC, kept.rpc, fmt.Errorf("MCP error %d: %s", kept.rpc.Code, kept.rpc.Message)
		return e
	case errors.Is(err, errMalformed):
		e.Kind = ErrMalformed
	case outer.Err() != nil:
		e.Kind, e.Err = ErrCancelled, context.Cause(outer)
		return e
	case inner.Err() != nil:
		e.Kind = ErrTimeout
		e.Err = fmt.Errorf("no answer within %v%s: %w", limit, c.babble(), context.DeadlineExceeded)
	case errors.Is(err, transport.ErrLegacySSEServer): // HTTP 4xx, in mcp-go's guess
		e.Err = errors.New("it refuses the request that begins a session: is this the URL of an MCP server? One of the older HTTP+SSE transport needs transport: sse")
	case c.gone():
		e.Kind = ErrClosed
		e.Err = fmt.Errorf("the server went away%s%s", c.ending(), c.babble())
	case strings.Contains(err.Error(), "unexpected nil response"):
		e.Kind = ErrMalformed
		e.Err = errors.New("the answer's stream ended without an answer")
	}
	e.Stderr = c.stderr()
	return e
}

func (s *Session) reconnect(ctx context.Context, old *conn) (*conn, error) {
	if c := s.current(); c != old {
		return c, nil // another call was first
	}
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed || s.conn != old {
		current, closed := s.conn, s.closed
		s.mu.Unlock()
		c.close()
		if closed {
			return nil, errors.New("the session was closed")
		}
		return current, nil
	}
	s.conn = c
	s.mu.Unlock()
	old.close()
	s.note("forgot our session; opened a new one")
	return c, nil
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
