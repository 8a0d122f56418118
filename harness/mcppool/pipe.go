// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// pipeTransport carries a session over newline-delimited JSON-RPC: a child
// process, a WebSocket, or a pipe to a server in this process.
type pipeTransport struct {
	*exchange
	rw   io.ReadWriteCloser
	proc process // nil where there is no process
	out  *mcpwire.Writer
	// writing is held by who writes. A server that does not read keeps it for
	// ever, so the others wait in a way that can end.
	writing chan struct{}

	start sync.Once
	done  chan struct{} // closed when nothing more can be read
	why   error         // why not; nil for an orderly end. Set before done is closed.
}

// process is what can be known of a server's process beyond its messages. A
// pipe that passes a real server through has it as well.
type process interface {
	Ending() string // how it ended; "" when it has not
	Stderr() string // the end of what it wrote there
}

func newPipeTransport(rw io.ReadWriteCloser, w wire) *pipeTransport {
	proc, _ := rw.(process)
	return &pipeTransport{
		exchange: newExchange(w), rw: rw, proc: proc,
		out: mcpwire.NewWriter(tellUnsent{rw}), writing: make(chan struct{}, 1), done: make(chan struct{}),
	}
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

// Start begins to read.
func (t *pipeTransport) Start(context.Context) error {
	t.start.Do(func() { go t.read() })
	return nil
}

// Close ends the connection, the child process too, and waits for all that
// runs on its behalf.
func (t *pipeTransport) Close() error {
	t.shut()
	err := t.rw.Close()
	t.start.Do(func() { close(t.done) })
	<-t.done
	t.running.Wait()
	return err
}

// GetSessionId returns "": a pipe is a session of its own.
//
//lint:ignore ST1003 the name is mcp-go's
func (t *pipeTransport) GetSessionId() string { return "" }

func (t *pipeTransport) gone() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// ending says how the server went away, once it is gone.
func (t *pipeTransport) ending() string {
	if t.proc == nil {
		if t.why != nil {
			return ": " + t.why.Error()
		}
		return ""
	}
	if state := t.proc.Ending(); state != "" {
		return ": " + state
	}
	return ": it closed its output"
}

func (t *pipeTransport) stderr() string {
	if t.proc == nil {
		return ""
	}
	return t.proc.Stderr()
}

func (t *pipeTransport) read() {
	defer close(t.done)
	r := mcpwire.NewReader(t.rw, &mcpwire.ReaderOptions{MaxFrame: t.max})
	reply := func(frame []byte) { _ = t.put(frame) } // a server that is gone needs no answer
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			t.unreadable(junk, reply)
		case err != nil:
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
				t.why = err
			}
			return
		default:
			t.take(m, reply)
		}
	}
}

// SendRequest sends a request and waits for its response, ctx, or the end of
// the connection.
func (t *pipeTransport) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.exchange.request(ctx, request, t.send)
}

func (t *pipeTransport) send(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	forget(ctx)
	if t.gone() {
		return nil, fmt.Errorf("%w: %w", errUnsent, transport.ErrTransportClosed)
	}
	ch, done := t.expect(request)
	defer done()
	written := t.write(mcpwire.Marshal(request))
	for {
		select {
		case a := <-ch:
			return response(ctx, request, a)
		case err := <-written:
			written = nil
			switch {
			case errors.Is(err, errUnsent):
				soon(t.done) // the server is going; how, is known in a moment
				return nil, err
			case err != nil && !t.gone():
				return nil, fmt.Errorf("writing to the server: %w", err)
			}
		case <-ctx.Done():
			t.giveUp(ctx, request, t.SendNotification)
			return nil, ctx.Err()
		case <-t.done:
			select {
			case a := <-ch: // it came with the end
				return response(ctx, request, a)
			default:
			}
			var err error
			if written != nil {
				err = soon(written)
			}
			return nil, errors.Join(transport.ErrTransportClosed, err)
		}
	}
}

// soon waits a moment for what is about to come.
func soon[T any](ch <-chan T) (v T) {
	t := time.NewTimer(100 * time.Millisecond)
	defer t.Stop()
	select {
	case v = <-ch:
	case <-t.C:
	}
	return v
}

// write sends a frame on a goroutine of its own: a server that does not read
// must not hold up a caller beyond its deadline. A pipe that has room for the
// frame holds up nobody.
func (t *pipeTransport) write(frame []byte) <-chan error {
	written := make(chan error, 1)
	if roomy, ok := t.rw.(interface{ Room(n int) bool }); ok {
		select {
		case t.writing <- struct{}{}:
			room := roomy.Room(len(frame) + 1)
			if room {
				written <- t.out.Write(frame)
			}
			<-t.writing
			if room {
				return written
			}
		default:
		}
	}
	if !t.spawn(func() { written <- t.put(frame) }) {
		written <- transport.ErrTransportClosed
	}
	return written
}

// put writes a frame when it is its turn.
func (t *pipeTransport) put(frame []byte) error {
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
		return t.out.Write(frame)
	case <-t.life.Done():
		return transport.ErrTransportClosed
	}
}

// SendNotification sends a notification.
func (t *pipeTransport) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	select {
	case err := <-t.write(mcpwire.Marshal(n)):
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-t.done:
		return transport.ErrTransportClosed
	}
}
