// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// pipe carries a session over newline-delimited JSON-RPC: a child process, a
// WebSocket, or a pipe to a server in this process.
type pipe struct {
	c    *conn
	rw   io.ReadWriteCloser
	proc mcpwire.ProcessConn // nil where there is no process
	out  *mcpwire.Writer
	max  int // bytes of a frame
	// writing is held by who writes. A server that does not read keeps it for
	// ever, so the others wait in a way that can end.
	writing chan struct{}

	ended chan struct{} // closed when nothing more can be read
	why   error         // why not; nil for an orderly end. Set before ended is closed.
}

func newPipe(rw io.ReadWriteCloser, maxFrame int, c *conn) *pipe {
	proc, _ := rw.(mcpwire.ProcessConn)
	p := &pipe{
		c: c, rw: rw, proc: proc, max: maxFrame,
		out: mcpwire.NewWriter(tellUnsent{rw}), writing: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go p.read()
	return p
}

// errUnsent marks a request of which not a byte has left us: the server has
// certainly not seen it.
var errUnsent = errors.New("nothing of the request was sent")

// tellUnsent marks the errors of writes that wrote nothing.
type tellUnsent struct{ w io.Writer }

func (t tellUnsent) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if err != nil && n == 0 {
		err = fmt.Errorf("%w: %w", errUnsent, err)
	}
	return n, err
}

// close ends the connection, the child process too.
func (p *pipe) close() {
	_ = p.rw.Close() // what is gone is gone
	<-p.ended
}

func (p *pipe) done() <-chan struct{} { return p.ended }
func (p *pipe) lost() error           { return mcpwire.ErrClosed }
func (p *pipe) agreed(string)         {}
func (p *pipe) posts() bool           { return false }
func (p *pipe) session() string       { return "" }

func (p *pipe) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// ending says how the server disconnected, once it is gone.
func (p *pipe) ending() string {
	if p.proc == nil {
		if p.why != nil {
			return ": " + p.why.Error()
		}
		return ""
	}
	if state := p.proc.Ending(); state != "" {
		return ": " + state
	}
	return ": it closed its output"
}

func (p *pipe) stderr() string {
	if p.proc == nil {
		return ""
	}
	return p.proc.Stderr()
}

func (p *pipe) read() {
	defer close(p.ended)
	r := mcpwire.NewReader(p.rw, &mcpwire.ReaderOptions{MaxFrame: p.max})
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			p.c.unreadable(junk, p.reply)
		case err != nil:
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
				p.why = err
			}
			return
		default:
			p.c.take(m, p.reply)
		}
	}
}

// reply answers a request of the server. One that is gone needs no answer.
func (p *pipe) reply(m mcpwire.Message) {
	p.c.answerTo(m, func(_ context.Context, m mcpwire.Message) error {
		_ = p.put(m.Frame)
		return nil
	})
}

func (p *pipe) send(_ context.Context, m mcpwire.Message, _ http.Header) (<-chan error, func(bool)) {
	return p.write(m.Frame), func(bool) {}
}

// write sends a frame on a goroutine of its own: a server that does not read
// must not hold up a caller beyond its deadline. A pipe that has room for the
// frame holds up nobody.
func (p *pipe) write(frame []byte) <-chan error {
	written := make(chan error, 1)
	if pipe, ok := p.rw.(*mcpwire.PipeEnd); ok {
		select {
		case p.writing <- struct{}{}:
			room := pipe.Room(len(frame) + 1)
			if room {
				written <- p.explain(p.out.Write(frame))
			}
			<-p.writing
			if room {
				return written
			}
		default:
		}
	}
	if !p.c.spawn(func() { written <- p.explain(p.put(frame)) }) {
		written <- mcpwire.ErrClosed
	}
	return written
}

// explain makes the error of a write what a request is to be told. Of a server
// that went away meanwhile, its end says more.
func (p *pipe) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errUnsent):
		soon(p.ended) // the server is going; how, is known in a moment
		return err
	case p.gone():
		return nil
	}
	return fmt.Errorf("writing to the server: %w", err)
}

// put writes a frame when it is its turn.
func (p *pipe) put(frame []byte) error {
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
		return p.out.Write(frame)
	case <-p.c.life.Done():
		return mcpwire.ErrClosed
	}
}

func (p *pipe) tell(ctx context.Context, m mcpwire.Message) error {
	select {
	case err := <-p.write(m.Frame):
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return mcpwire.ErrClosed
	}
}
