// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Process is the process that a stdio server is, as far as faults need it.
type Process interface {
	io.Reader // its stdin
	io.Writer // its stdout
	// Stderr is where it complains.
	Stderr() io.Writer
	// CloseStdin ends its stdin, and a read that is under way.
	CloseStdin() error
	// CloseStdout ends its stdout; it goes on reading.
	CloseStdout() error
	// Exit ends it. It may return: then no more is written.
	Exit(code int)
	// IgnoreEOF has it go on when its stdin ends and when it is told to terminate,
	// until it is killed.
	IgnoreEOF()
}

// plainProcess is a process that is a reader and a writer and no more: when it
// exits, they are closed.
type plainProcess struct {
	in  io.Reader
	out io.Writer
}

func (p plainProcess) Read(b []byte) (int, error) { return p.in.Read(b) }

func (p plainProcess) Write(b []byte) (int, error) { return p.out.Write(b) }

func (plainProcess) Stderr() io.Writer { return io.Discard }

func (p plainProcess) CloseStdin() error { return closeIt(p.in) }

func (p plainProcess) CloseStdout() error { return closeIt(p.out) }

func (plainProcess) IgnoreEOF() {}

func (p plainProcess) Exit(int) {
	_ = closeIt(p.out)
	_ = closeIt(p.in)
}

// closeIt closes what can be closed.
func closeIt(v any) error {
	if c, ok := v.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// What to do with calls that are under way when the input ends.
type ending bool

const (
	finish  ending = false // the peer closed its output and still reads
	abandon ending = true  // the peer is gone
)

// pipeSink is a connection that carries frames with newlines between them.
type pipeSink struct {
	proc Process
	end  context.CancelFunc // of the connection

	mu     sync.Mutex // guards what follows: lines must not interleave
	closed bool       // nothing can be written any more
}

func (w *pipeSink) send(frame []byte) error {
	line := make([]byte, 0, len(frame)+1)
	return w.raw(append(append(line, frame...), '\n'))
}

func (w *pipeSink) reply(frame []byte, _ *jsonrpc.Error) error { return w.send(frame) }

func (w *pipeSink) raw(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return io.ErrClosedPipe
	}
	_, err := w.proc.Write(b)
	return err
}

func (w *pipeSink) cut(code int) {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.proc.Exit(code)
	w.end()
}

func (w *pipeSink) closeOut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	_ = w.proc.CloseStdout()
}

func (*pipeSink) open(string) {}

func (*pipeSink) streaming() bool { return false }

func (*pipeSink) status(int, http.Header, []byte) bool { return false }

func (*pipeSink) nextStatus(*jsonrpc.Error) string { return "" }

func (*pipeSink) closeStream(time.Duration) {}

func (w *pipeSink) process() Process { return w.proc }

// attend speaks with one client over a connection. It returns when the input
// ends, after all that it started.
func (s *Server) attend(ctx context.Context, p Process, transport string, end ending) error {
	s.mu.Lock()
	s.dialed++
	id := fmt.Sprintf("%s-%d", transport, s.dialed)
	s.mu.Unlock()
	c := s.newClient(ctx, id, transport)
	w := &pipeSink{proc: p, end: c.end}
	c.out = &outlet{sink: w, c: c}
	c.crew.jobs, c.eof = make(chan func()), make(chan struct{})
	s.addClient(c)
	defer s.dropClient(c)
	defer func() {
		if end == abandon {
			c.end()
		}
		c.running.Wait()
		c.end()
		c.crew.workers.Wait()
		c.logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameEnd}, nil)
	}()
	c.logFrame(jsonrpc.Frame{In: true, Kind: jsonrpc.FrameOpen}, nil)
	if err := s.faults.start(c.ctx, c); err != nil {
		return nil
	}
	r := mcpwire.NewReader(p, &mcpwire.ReaderOptions{NoBatches: true})
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			c.logFrame(jsonrpc.Frame{In: true, Kind: jsonrpc.FrameJunk}, junk.Line)
			id, rpc := unreadable(junk.Line, junk.Why)
			_ = c.out.write(jsonrpc.FrameResponse, "", id, encodeReply(id, &outcome{rpc: rpc}))
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
			c.logFrame(jsonrpc.Frame{In: true, Kind: jsonrpc.FrameEnd}, nil)
			close(c.eof)
			s.faults.ended(c.ctx, c)
			return nil
		case err != nil && c.ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("reading requests to mock server %q: %w", s.script.Name, err)
		default:
			c.received(m, nil)
			c.dispatch(m, w)
		}
	}
}

// dispatch deals with one message that came over a connection. Requests run
// concurrently, but calls are decided in order of arrival, and what comes
// behind the opening of a session waits for it, also where a client has
// written both at once.
func (c *client) dispatch(m mcpwire.Message, w sink) {
	switch {
	case m.IsNotification():
		c.notified(m)
	case !m.IsRequest():
		c.answered(m)
	default:
		r := c.newRequest(m, w)
		if c.s.faults != nil {
			r.out.strike = c.s.faults.arrive(c, m)
		}
		if r.out.strike == nil && (m.Method == mcpwire.MethodInitialize || m.Method == mcpwire.MethodDiscover && c.s.mode != ModernSilent) {
			c.s.serveRequest(c.ctx, r)
			return
		}
		c.s.order(r)
		c.running.Add(1)
		c.crew.run(c.ctx, func() {
			defer c.running.Done()
			c.s.serveRequest(c.ctx, r)
		})
	}
}

// crew runs functions in goroutines that stay for the next one: checking
// arguments goes deep, and a new goroutine grows its stack anew each time.
type crew struct {
	jobs    chan func()
	workers sync.WaitGroup
}

// run runs f, in a goroutine that has nothing to do or in a new one. ctx is
// how long that one stays.
func (c *crew) run(ctx context.Context, f func()) {
	select {
	case c.jobs <- f:
	default:
		c.workers.Go(func() { c.work(ctx, f) })
	}
}

func (c *crew) work(ctx context.Context, f func()) {
	for {
		f()
		select {
		case f = <-c.jobs:
		case <-ctx.Done():
			return
		}
	}
}
