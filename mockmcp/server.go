// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/rehearse-dev/rehearse/harness"
)

// Options are settings of a [Server]. nil means all defaults.
type Options struct {
	// Clock is what latency is waited by and exchanges are timed with. nil
	// means the machine's clock.
	Clock harness.Clock
	// Turn and User tell a call the number and the user text of the turn
	// being played. nil means none.
	Turn func() int
	User func() string
	// Logf takes a line for each thing that went wrong. nil drops it.
	Logf func(format string, args ...any)
}

// Server is a mock MCP server. Its sessions share one state and one journal.
type Server struct{}

// New checks the script and makes a server of it. It opens no socket and
// starts nothing.
func New(script Script, opts *Options) (*Server, error) { panic("todo") }

// Dial opens a new session over an in-memory pipe that carries
// newline-delimited JSON-RPC. It fits [harness.Server].
func (s *Server) Dial(ctx context.Context) (io.ReadWriteCloser, error) { panic("todo") }

// ServeStdio serves one session over a reader and a writer, until the input
// ends or ctx does.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error { panic("todo") }

// Handler serves streamable HTTP, with sessions for clients up to 2025-11-25
// and without for clients of 2026-07-28, at whatever path it is mounted.
func (s *Server) Handler() http.Handler { panic("todo") }

// Journal returns a copy of what was called so far, in order of arrival.
func (s *Server) Journal() []harness.ToolExchange { panic("todo") }

// State returns the state as it is now.
func (s *Server) State() json.RawMessage { panic("todo") }

// Lists counts the tools/list requests that were answered.
func (s *Server) Lists() int { panic("todo") }

// Tools returns the tools as they are listed.
func (s *Server) Tools() []harness.Tool { panic("todo") }

// Err describes the calls that nothing scripted fits and the errors of the
// script itself; nil when there are none.
func (s *Server) Err() error { panic("todo") }

// Close ends all sessions and waits until nothing of them is left.
func (s *Server) Close() error { panic("todo") }
