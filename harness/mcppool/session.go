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
	"context"
	"encoding/json"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
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
	// PassEnv names variables of our environment that a child process gets
	// beside the few that every program needs (PATH, HOME, ...) and those of
	// [harness.Server].
	PassEnv []string
	// MaxPages bounds the pages of one tools/list. Default 100.
	MaxPages int
	// ClientName and ClientVersion are what servers are told. Default
	// "rehearse" and "0".
	ClientName, ClientVersion string
	// Logf takes a line for what went wrong and was survived. nil drops it.
	Logf func(format string, args ...any)
}

// Tool is a tool as its server lists it.
type Tool struct {
	harness.Tool                 // Schema is the input schema, byte for byte
	Output       json.RawMessage // output schema, or null
	Raw          json.RawMessage // the whole entry, byte for byte
}

// Result is the result of a call.
type Result struct {
	Raw        json.RawMessage   // the whole result object, byte for byte
	Content    []json.RawMessage // content blocks, those of unknown type too
	Text       string            // text blocks, joined with newlines
	Structured json.RawMessage   // structured content, or null
	IsError    bool
}

// ErrorKind says what became of a request that got no result.
type ErrorKind string

// The kinds of [Error].
const (
	ErrRPC       ErrorKind = "rpc"       // the server answered with a JSON-RPC error
	ErrTimeout   ErrorKind = "timeout"   // no answer within the time limit
	ErrClosed    ErrorKind = "closed"    // the server went away
	ErrMalformed ErrorKind = "malformed" // the answer cannot be used
	ErrStart     ErrorKind = "start"     // the server could not be started or reached
)

// Error is what is returned when a request got no result.
type Error struct {
	Kind   ErrorKind
	Server string
	Op     string // "starting", "listing tools of", "calling refund on"
	// RPC is the error object of the server, for the kind rpc.
	RPC *harness.RPCError
	// Stderr is the end of what the server's process wrote there.
	Stderr string
	Err    error
}

func (e *Error) Error() string { panic("todo") }
func (e *Error) Unwrap() error { return e.Err }

// Session is an open session with one server. Its methods may be called
// concurrently.
type Session struct{}

// Open connects to a server and shakes hands.
func Open(ctx context.Context, server harness.Server, opts *Options) (*Session, error) {
	panic("todo")
}

// Name returns the server's name as configured.
func (s *Session) Name() string { panic("todo") }

// Tools lists the tools of the server, walking all pages. A tool that cannot
// be used is left out and costs a warning, never the list.
func (s *Session) Tools(ctx context.Context) (tools []Tool, warnings []string, err error) {
	panic("todo")
}

// Call calls a tool. args must be a JSON object or empty. A result that says
// isError is a result; errors are of type [*Error].
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage) (*Result, error) {
	panic("todo")
}

// ListChanged reports whether the server said that its tools changed after
// the last call of [Session.Tools] began.
func (s *Session) ListChanged() bool { panic("todo") }

// Notes are remarks about the connection for a report: a probe that timed
// out, lines that were no JSON-RPC, a session that was opened anew.
func (s *Session) Notes() []string { panic("todo") }

// Close ends the session and waits until nothing of it is left. A child
// process is ended with all processes that it started.
func (s *Session) Close() error { panic("todo") }
