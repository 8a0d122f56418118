// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/budget"
	"github.com/rehearse-dev/rehearse/internal/cues"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// Options are settings of a [Server]. nil means all defaults.
type Options struct {
	// Clock is what latency is waited by and exchanges are timed with. An answer
	// that hangs or is held waits for [harness.Forever]. nil means
	// [harness.SystemClock].
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
	// Executed is told of each tools/call when its answer is known, in the order
	// of the calls. The answer is kept back while the function that it returns
	// runs, whose ctx ends when the client cancels the call or leaves. nil means
	// none, and so does a function that is nil.
	Executed func(tool string) (keep func(ctx context.Context))
	// Hosts and Origins are names of hosts and origins of pages that HTTP
	// requests may have beside those of this machine; "*" stands for any. nil
	// means none.
	Hosts   []string
	Origins []string
	// JournalEntries bounds the calls in the journal; the oldest go first, their
	// misses and errors are remembered, and the numbers of the others tell that
	// they went. Of frames, four times as many are kept, and 20,000 at the most.
	// 0 means 1,000.
	JournalEntries int
	// JournalBytes bounds the memory of the journal; the oldest calls go first,
	// and their misses and errors are remembered. 0 means 32 MiB.
	JournalBytes int
	// Memory is shared by servers that are to keep in bounds together. nil
	// bounds each alone.
	Memory *Memory
	// Logf takes a line for each miss and each error of the script. nil drops
	// it.
	Logf func(format string, args ...any)
}

// Server is a mock MCP server. Its sessions share one state and one journal.
type Server struct {
	script  Script
	opts    Options
	now     func() time.Time
	waiting func(context.Context) (context.Context, func()) // of [harness.Clock]
	offer   atomic.Pointer[offer]
	first   *offer            // what is offered at first
	changes *changes          // nil when there are none
	answers map[string]method // by name

	modernVersions []string // served, newest first
	legacyVersions []string
	serverInfo     json.RawMessage // what 2026-07-28 has in the _meta of a result
	mode           Modern          // how modern clients are treated
	sessionRule    Sessions
	settle         time.Duration // before a reply
	faults         *faults       // nil for none
	frames         frameLog
	share          *budget.Share
	streamed       atomic.Int64 // bytes of streams that can be sent again
	outlasting     bool         // work on requests may go on when their answers over HTTP have ended

	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	closing  <-chan struct{} // closed before ctx ends
	shut     func()
	cues     *cues.Board
	shuffles atomic.Uint64  // lists shuffled so far
	sessions sync.WaitGroup // pipes and HTTP requests being served
	working  gauge          // requests being answered
	line     line           // of the calls over HTTP

	mu      sync.Mutex // guards the fields below; held while a result is decided
	state   value.Value
	spelled json.RawMessage // the state as JSON; nil when it has changed since
	journal journal
	lists   int
	resets  int
	rounds  map[string]*round // requests that wait for input, by their state
	asked   int               // how many there were
	broke   []error           // errors of the script outside of calls
	dialed  int
	clients []*client          // that broadcasts reach
	byID    map[string]*client // sessions over HTTP
	closed  bool
}

// New checks the script and makes a server of it. It opens no socket and
// starts nothing. The error names everything that is wrong with the script.
func New(script Script, opts *Options) (*Server, error) {
	s := &Server{script: script}
	if opts != nil {
		s.opts = *opts
	}
	if s.now, s.waiting = time.Now, unwatched; s.opts.Clock == nil {
		s.opts.Clock = harness.SystemClock()
	} else {
		s.now, s.waiting = s.opts.Clock.Now, s.opts.Clock.Waiting
	}
	s.journal.most = cmp.Or(max(s.opts.JournalEntries, 0), defaultJournalEntries)
	s.frames.most = min(s.journal.most, framesKept/perEntry) * perEntry
	s.journal.limit = cmp.Or(max(s.opts.JournalBytes, 0), defaultJournalBytes)
	if s.opts.Logf == nil {
		s.opts.Logf = func(string, ...any) {}
	}
	s.script.Version = cmp.Or(script.Version, "1.0.0")
	s.script.Tools = slices.Clone(script.Tools)
	s.cues = cues.New()
	s.byID = make(map[string]*client)
	var errs []error
	if err := s.script.Protocol.Check(); err != nil {
		errs = append(errs, fmt.Errorf("protocol: %w", err))
	}
	if err := s.loadState(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, s.loadOffer()...)
	errs = append(errs, s.loadFaults()...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("mock server %q: %w", script.Name, errors.Join(errs...))
	}
	p := &s.script.Protocol
	s.modernVersions, s.legacyVersions, s.mode = p.modernVersions(), p.legacyVersions(), p.modernMode()
	s.sessionRule, s.settle = p.sessionMode(), p.settleTime()
	s.serverInfo = mcpwire.Marshal(map[string]any{mcpwire.MetaServer: implementation{script.Name, s.script.Version}})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	closing := make(chan struct{})
	s.closing, s.shut = closing, sync.OnceFunc(func() { close(closing) })
	s.answers, s.outlasting = s.methods(), s.outlasts()
	s.share = s.opts.Memory.join(s)
	return s, nil
}

func (s *Server) loadState() error {
	if len(s.script.State) == 0 {
		s.state, s.spelled = value.ObjectOf(), nil
		return nil
	}
	v, err := value.Parse(s.script.State)
	if err == nil && v.Kind() != value.Object {
		err = fmt.Errorf("is %s, not an object", v.Kind())
	}
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	s.state, s.spelled = v, nil
	return nil
}

// Dial opens a new session over an in-memory pipe that carries
// newline-delimited JSON-RPC. It fits [harness.Server].
func (s *Server) Dial(context.Context) (io.ReadWriteCloser, error) {
	if !s.begin() {
		return nil, fmt.Errorf("dialing mock server %q: it is closed", s.script.Name)
	}
	ours, theirs := mcpwire.Pipe()
	// What was sent before the end is journaled.
	stop := context.AfterFunc(s.ctx, ours.Drain)
	go func() {
		defer s.sessions.Done()
		defer stop()
		defer ours.Close()
		// A client that closed its end waits for nothing any more.
		_ = s.attend(s.ctx, plainProcess{ours, ours}, fault.Pipe, abandon)
	}()
	return theirs, nil
}

// ServeStdio serves one session over a reader and a writer, until the input
// ends or ctx does. Calls that are under way when the input ends are still
// answered. When ctx ends, in is closed if it can be, and a while later out, if
// something is still being written to it.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.ServeProcess(ctx, plainProcess{in, out})
}

// ServeProcess is [Server.ServeStdio] for a process that faults can do more
// to.
func (s *Server) ServeProcess(ctx context.Context, p Process) error {
	if !s.begin() {
		return fmt.Errorf("serving mock server %q: it is closed", s.script.Name)
	}
	defer s.sessions.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	served := make(chan struct{})
	defer close(served)
	defer context.AfterFunc(ctx, func() {
		_ = p.CloseStdin()
		late := time.NewTimer(closeGrace)
		defer late.Stop()
		select {
		case <-late.C:
			_ = p.CloseStdout() // nobody reads what is written there
		case <-served:
		}
	})()
	return s.attend(ctx, p, fault.Stdio, finish)
}

// Journal returns a copy of what was called so far, in order of arrival, as far
// as [Options.JournalEntries] and [Options.JournalBytes] allow. A call that is under way has no result yet.
func (s *Server) Journal() []harness.ToolExchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := slices.Clone(s.journal.entries)
	for i := range entries {
		if x := &entries[i]; x.Unsent {
			x.Result, x.Failed = nil, true
		}
	}
	return entries
}

// Calls counts the calls so far, with those that the journal has no room for.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.dropped + len(s.journal.entries)
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
	s.journal.reset()
	s.lists, s.rounds, s.broke = 0, nil, nil
	s.offer.Store(s.first)
	if s.changes != nil {
		s.changes.reset()
	}
	s.cues.Reset()
	s.faults.reset()
	s.resets++
	s.frames.reset()
}

// Lists counts the tools/list requests that were answered.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// Tools returns the tools as they are listed now.
func (s *Server) Tools() []harness.Tool {
	offered := s.offer.Load().tools.items
	tools := make([]harness.Tool, len(offered))
	for i, t := range offered {
		tools[i] = harness.Tool{Name: t.Name, Description: t.Description, Schema: t.Input}
	}
	return tools
}

// Err is [Server.Problems] as one error; nil when there are none.
func (s *Server) Err() error { return errors.Join(s.Problems()...) }

// Problems describes the calls that nothing scripted fits and the errors of the
// script itself.
func (s *Server) Problems() []error {
	s.mu.Lock()
	errs := slices.Concat(s.journal.problems, s.broke)
	s.mu.Unlock()
	for _, x := range s.Journal() {
		errs = append(errs, problems(&x)...)
	}
	return append(errs, s.faults.problems()...)
}

// Shutdown takes no new sessions and HTTP requests, waits until no request is
// being answered or ctx ends, and closes the server. What clients listen to is
// not waited for.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.working.wait(ctx)
	return errors.Join(err, s.Close())
}

// Close ends all sessions and waits until nothing of them is left.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.shut()
	s.cancel()
	s.sessions.Wait()
	s.share.Close()
	return nil
}

// wait waits until nothing goes on, or ctx ends.
func (g *gauge) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	zero := g.zero
	g.mu.Unlock()
	select {
	case <-zero:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
