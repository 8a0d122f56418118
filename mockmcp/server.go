// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/value"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
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
	// OnCall is told of each tools/call as it arrives, and OnState of each
	// state that a call leaves behind. They must not block: what they are for
	// is to give a cue, here or elsewhere. nil means none.
	OnCall  func(tool string)
	OnState func(state json.RawMessage)
	// Logf takes a line for each miss and each error of the script. nil drops
	// it.
	Logf func(format string, args ...any)
}

// Server is a mock MCP server. Its sessions share one state and one journal.
type Server struct {
	script  Script
	opts    Options
	schemas map[string]*schema // by tool
	byName  map[string]*Tool
	listing json.RawMessage // the array of tools, as listed
	lib     *server.MCPServer
	http    *server.StreamableHTTPServer

	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	sessions sync.WaitGroup // pipes and HTTP requests being served

	mu      sync.Mutex // guards the fields below; held while a result is decided
	state   value.Value
	journal []harness.ToolExchange
	lists   int
	resets  int
	dialed  int
	closed  bool
}

// New checks the script and makes a server of it. It opens no socket and
// starts nothing. The error names everything that is wrong with the script.
func New(script Script, opts *Options) (*Server, error) {
	s := &Server{script: script, schemas: make(map[string]*schema), byName: make(map[string]*Tool)}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Clock == nil {
		s.opts.Clock = harness.SystemClock()
	}
	if s.opts.Logf == nil {
		s.opts.Logf = func(string, ...any) {}
	}
	s.script.Version = cmp.Or(script.Version, "1.0.0")
	s.script.Tools = slices.Clone(script.Tools)
	var errs []error
	if err := s.loadState(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, s.loadTools()...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("mock server %q: %w", script.Name, errors.Join(errs...))
	}
	s.lib = newLibrary(s)
	s.http = server.NewStreamableHTTPServer(s.lib,
		server.WithStateful(true), // else a terminated session goes on
		server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

func (s *Server) loadState() error {
	if len(s.script.State) == 0 {
		s.state = value.ObjectOf()
		return nil
	}
	v, err := value.Parse(s.script.State)
	if err == nil && v.Kind() != value.Object {
		err = fmt.Errorf("is %s, not an object", v.Kind())
	}
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	s.state = v
	return nil
}

// listedTool is a tool in an answer to tools/list.
type listedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
}

func (s *Server) loadTools() (errs []error) {
	listed := make([]listedTool, 0, len(s.script.Tools))
	for i := range s.script.Tools {
		t := &s.script.Tools[i]
		problem := func(format string, args ...any) {
			where := ""
			if !t.Pos.IsZero() {
				where = t.Pos.String() + ": "
			}
			errs = append(errs, fmt.Errorf("%stool %q: "+format, append([]any{where, t.Name}, args...)...))
		}
		if strings.TrimSpace(t.Name) == "" {
			problem("has no name")
		}
		if _, twice := s.byName[t.Name]; twice {
			problem("is there twice")
		}
		if t.Handler != nil && t.Results != nil {
			problem("has both a handler and results")
		}
		if len(t.Input) == 0 {
			t.Input = anyObject()
		}
		compile := t.compile
		if t.compiled != nil {
			compile = t.compiled
		}
		compiled, err := compile()
		if err != nil {
			problem("input schema: %w", err)
		} else {
			t.Input = mcpwire.Marshal(t.Input)
		}
		if len(t.Output) > 0 && !isObject(t.Output) {
			problem("output schema is no JSON object: %s", mcpwire.Excerpt(t.Output, 60))
		}
		if len(t.Annotations) > 0 && !isObject(t.Annotations) {
			problem("annotations are no JSON object: %s", mcpwire.Excerpt(t.Annotations, 60))
		}
		s.byName[t.Name], s.schemas[t.Name] = t, compiled
		listed = append(listed, listedTool{t.Name, t.Title, t.Description, t.Input, t.Output, t.Annotations})
	}
	if len(errs) == 0 {
		s.listing = mcpwire.Marshal(listed)
	}
	return errs
}

func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}

// Dial opens a new session over an in-memory pipe that carries
// newline-delimited JSON-RPC. It fits [harness.Server].
func (s *Server) Dial(context.Context) (io.ReadWriteCloser, error) {
	if !s.begin() {
		return nil, fmt.Errorf("dialing mock server %q: it is closed", s.script.Name)
	}
	ours, theirs := mcpwire.Pipe()
	stop := context.AfterFunc(s.ctx, func() { ours.Close() })
	go func() {
		defer s.sessions.Done()
		defer stop()
		defer ours.Close()
		// A client that closed its end waits for nothing any more.
		_ = s.serve(s.ctx, ours, ours, abandon)
	}()
	return theirs, nil
}

// ServeStdio serves one session over a reader and a writer, until the input
// ends or ctx does. Calls that are under way when the input ends are still
// answered. When ctx ends, in is closed if it can be.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.begin() {
		return fmt.Errorf("serving mock server %q: it is closed", s.script.Name)
	}
	defer s.sessions.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if c, ok := in.(io.Closer); ok {
		defer context.AfterFunc(ctx, func() { c.Close() })()
	}
	return s.serve(ctx, in, out, finish)
}

// Handler serves streamable HTTP, with sessions for clients up to 2025-11-25
// and without for clients of 2026-07-28, at whatever path it is mounted.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

// begin counts a session in, unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sessions.Add(1)
	return true
}

// Journal returns a copy of what was called so far, in order of arrival. A
// call that is under way has no result yet.
func (s *Server) Journal() []harness.ToolExchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.journal)
}

// State returns the state as it is now.
func (s *Server) State() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Append(nil)
}

// Reset starts over: the state is the script's again, and the journal is empty,
// misses included. Sessions go on; a call under way is answered and not
// journaled.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.loadState() // New has seen that it can be read
	s.journal, s.lists = nil, 0
	s.resets++
}

// Lists counts the tools/list requests that were answered.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// Tools returns the tools as they are listed.
func (s *Server) Tools() []harness.Tool {
	tools := make([]harness.Tool, len(s.script.Tools))
	for i, t := range s.script.Tools {
		tools[i] = harness.Tool{Name: t.Name, Description: t.Description, Schema: t.Input}
	}
	return tools
}

// Err describes the calls that nothing scripted fits and the errors of the
// script itself; nil when there are none.
func (s *Server) Err() error {
	var errs []error
	for _, x := range s.Journal() {
		if x.Miss != "" {
			errs = append(errs, errors.New(x.Miss))
		}
		if x.ScriptError != "" {
			errs = append(errs, errors.New(x.ScriptError))
		}
	}
	return errors.Join(errs...)
}

// Close ends all sessions and waits until nothing of them is left.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.http.CloseSessions(context.Background())
	s.sessions.Wait()
	return nil
}
