// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// pipeTransport carries a session over newline-delimited JSON-RPC. It takes
// the place of mcp-go's stdio transport, which skips in silence what it
// cannot read, loses a last line without newline, takes an id that comes back
// as a string for an unknown one, and leaves grandchildren running.
type pipeTransport struct {
	rw   io.ReadWriteCloser
	proc process // nil for a pipe to a server in this process
	out  *mcpwire.Writer
	note func(format string, args ...any)
	max  int // bytes of a frame

	start   sync.Once
	done    chan struct{} // closed when nothing more can be read
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closing  bool
	waiting  map[string]chan answer
	notified func(mcp.JSONRPCNotification)
	asked    transport.RequestHandler
	junk     int // lines that were no JSON-RPC
	lastJunk *mcpwire.JunkError
}

// answer is what came for a request: a message, or why it cannot be read.
type answer struct {
	message mcpwire.Message
	err     error
}

// process is what can be known of a server's process beyond its messages. A
// pipe that passes a real server through has it as well.
type process interface {
	Ending() string // how it ended; "" when it has not
	Stderr() string // the end of what it wrote there
}

func newPipeTransport(rw io.ReadWriteCloser, note func(string, ...any), maxFrame int) *pipeTransport {
	life, end := context.WithCancel(context.Background())
	proc, _ := rw.(process)
	return &pipeTransport{
		rw: rw, proc: proc, out: mcpwire.NewWriter(rw), note: note, max: maxFrame,
		done: make(chan struct{}), life: life, end: end,
		waiting: make(map[string]chan answer),
	}
}

// Start begins to read.
func (t *pipeTransport) Start(context.Context) error {
	t.start.Do(func() { go t.read() })
	return nil
}

// Close ends the connection, the child process too, and waits for all that
// runs on its behalf.
func (t *pipeTransport) Close() error {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	t.end()
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

// SetNotificationHandler sets what notifications are given to.
func (t *pipeTransport) SetNotificationHandler(f func(mcp.JSONRPCNotification)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notified = f
}

// SetRequestHandler sets what answers requests of the server.
func (t *pipeTransport) SetRequestHandler(f transport.RequestHandler) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = f
}

func (t *pipeTransport) gone() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (t *pipeTransport) babble() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.junk == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d lines were no JSON-RPC; the last: %v)", t.junk, t.lastJunk)
}

func (t *pipeTransport) read() {
	defer close(t.done)
	r := mcpwire.NewReader(t.rw, &mcpwire.ReaderOptions{MaxFrame: t.max})
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			t.unreadable(junk)
		case err != nil:
			return
		case m.IsRequest():
			t.spawn(func() { t.answer(m) })
		case m.IsNotification():
			t.notify(m)
		default:
			t.deliver(m)
		}
	}
}

// unreadable counts a line that is no message. One that was to be an answer is
// told to whoever waits for it, now and not at the deadline.
func (t *pipeTransport) unreadable(junk *mcpwire.JunkError) {
	t.mu.Lock()
	t.junk++
	n := t.junk
	t.lastJunk = junk
	key := mcpwire.Key(junk.ID)
	ch, ok := t.waiting[key]
	if ok = ok && !junk.Torn; ok { // else the end of the server says more
		delete(t.waiting, key)
	}
	t.mu.Unlock()
	if n <= maxNotes { // there may be millions
		t.note("%v", junk)
	}
	if ok {
		ch <- answer{err: fmt.Errorf("%w: %w", errMalformed, junk)}
	}
}

func (t *pipeTransport) notify(m mcpwire.Message) {
	var n mcp.JSONRPCNotification
	if err := json.Unmarshal(m.Frame, &n); err != nil {
		t.note("sent a notification that cannot be read: %v", err)
		return
	}
	t.mu.Lock()
	f := t.notified
	t.mu.Unlock()
	if f != nil {
		f(n)
	}
}

// deliver hands a response to the request that waits for it. An error without
// an id belongs to the only request under way, if there is only one.
func (t *pipeTransport) deliver(m mcpwire.Message) {
	t.mu.Lock()
	key := m.Key()
	if key == "" && m.Error != nil && len(t.waiting) == 1 {
		for only := range t.waiting {
			key = only
		}
	}
	ch, ok := t.waiting[key]
	delete(t.waiting, key)
	t.mu.Unlock()
	if ok {
		ch <- answer{message: m}
		return
	}
	t.note("sent a response that no request waits for: %s", mcpwire.Excerpt(m.Frame, 200))
}

// answer answers a request of the server.
func (t *pipeTransport) answer(m mcpwire.Message) {
	t.mu.Lock()
	f := t.asked
	t.mu.Unlock()
	reply := mcpwire.Message{ID: m.ID}
	var request transport.JSONRPCRequest
	err := json.Unmarshal(m.Frame, &request)
	if err == nil && f == nil {
		err = errors.New("method not found")
	}
	if err == nil {
		var response *transport.JSONRPCResponse
		if response, err = f(t.life, request); err == nil && response != nil {
			reply.Result, reply.Error = response.Result, rawError(response.Error)
		}
	}
	if err != nil {
		reply.Error = &harness.RPCError{Code: mcp.METHOD_NOT_FOUND, Message: err.Error()}
	}
	_ = t.out.Write(reply.Encode()) // a server that is gone needs no answer
}

// SendRequest sends a request and waits for its response, ctx, or the end of
// the connection.
func (t *pipeTransport) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if request.Method == string(mcp.MethodServerDiscover) {
		return discover(ctx, request, t.send, t.note)
	}
	return t.send(ctx, request)
}

func (t *pipeTransport) send(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	forget(ctx)
	if t.gone() {
		return nil, transport.ErrTransportClosed
	}
	id := mcpwire.Marshal(request.ID)
	key, ch := mcpwire.Key(id), make(chan answer, 1)
	t.mu.Lock()
	t.waiting[key] = ch
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, key)
	}()
	written := t.write(mcpwire.Marshal(request))
	for {
		select {
		case a := <-ch:
			return response(ctx, request, a)
		case err := <-written:
			if err != nil && !t.gone() {
				return nil, fmt.Errorf("writing to the server: %w", err)
			}
			written = nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.done:
			select {
			case a := <-ch: // it came with the end
				return response(ctx, request, a)
			default:
				return nil, transport.ErrTransportClosed
			}
		}
	}
}

func response(ctx context.Context, request transport.JSONRPCRequest, a answer) (*transport.JSONRPCResponse, error) {
	if a.err != nil {
		return nil, a.err
	}
	m := a.message
	result := keep(ctx, request.Method, m.Result, m.Error)
	r := &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: request.ID, Result: result}
	if m.Error != nil {
		r.Error = &mcp.JSONRPCErrorDetails{Code: m.Error.Code, Message: m.Error.Message}
		_ = json.Unmarshal(m.Error.Data, &r.Error.Data) // absent is fine
	}
	return r, nil
}

// write sends a frame on a goroutine of its own: a server that does not read
// must not hold up a caller beyond its deadline.
func (t *pipeTransport) write(frame []byte) <-chan error {
	written := make(chan error, 1)
	if !t.spawn(func() { written <- t.out.Write(frame) }) {
		written <- transport.ErrTransportClosed
	}
	return written
}

// spawn runs f on a goroutine that Close waits for, unless that has begun.
func (t *pipeTransport) spawn(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return false
	}
	t.running.Go(f)
	return true
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

func rawError(e *mcp.JSONRPCErrorDetails) *harness.RPCError {
	if e == nil {
		return nil
	}
	rpc := &harness.RPCError{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		rpc.Data = mcpwire.Marshal(e.Data)
	}
	return rpc
}
