// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcphttp"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// bridge is a server over HTTP as a pipe of lines: what is written is sent as
// a message, and what comes of it is read.
type bridge struct {
	http               *mcphttp.Client
	ctx                context.Context
	cancel             context.CancelFunc
	running            sync.WaitGroup
	lines              *mcpwire.Writer // to who reads
	far                io.Closer       // ends what is read
	io.ReadWriteCloser                 // the reader's end

	mu     sync.Mutex      // guards the rest
	open   map[string]bool // the requests without an answer
	ending string          // why there is no server, once that is known
}

// dialHTTP opens a bridge. Nothing is sent before the first message.
func dialHTTP(server harness.Server) (*bridge, error) {
	near, far := mcpwire.Pipe()
	b := &bridge{lines: mcpwire.NewWriter(far), far: far, ReadWriteCloser: near, open: map[string]bool{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	var err error
	b.http, err = mcphttp.New(mcphttp.Options{URL: server.URL, Headers: server.Headers, Take: b.take, Waits: b.waits})
	return b, err
}

// Write sends a line. Requests are under way when it returns; of anything else
// the server has taken note.
func (b *bridge) Write(line []byte) (int, error) {
	m, err := mcpwire.Parse(bytes.TrimSpace(bytes.Clone(line)))
	if err != nil {
		return 0, fmt.Errorf("sending a message over HTTP: %w", err)
	}
	if b.ctx.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	if m.IsRequest() {
		b.mu.Lock()
		b.open[m.Key()] = true
		b.mu.Unlock()
		b.running.Go(func() { b.ask(m) })
		return len(line), nil
	}
	_ = b.sent(b.http.Tell(b.ctx, m)) // no answer is missed
	if m.Method == mcpwire.NoticeInitialized {
		// Opened before the next message, which may set off what is told on it.
		opened := make(chan struct{})
		b.running.Go(func() { b.http.Listen(b.ctx, func() { close(opened) }) })
		patience := time.NewTimer(mcphttp.ListenPatience)
		defer patience.Stop()
		select {
		case <-opened:
		case <-patience.C:
		}
	}
	return len(line), nil
}

// Close ends what is under way, and the session.
func (b *bridge) Close() error {
	b.cancel()
	b.running.Wait()
	b.http.Close()
	return b.ReadWriteCloser.Close()
}

// Ending says why there is no server; empty while there is one.
func (b *bridge) Ending() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ending
}

// Stderr is empty: over HTTP nothing of it is heard.
func (b *bridge) Stderr() string { return "" }

// sent looks at the error of a request: without a server there is nothing more
// to read.
func (b *bridge) sent(err error) error {
	var dial *net.OpError
	var elsewhere *mcpwire.RedirectError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &elsewhere) {
		b.mu.Lock()
		b.ending = reason(err)
		b.mu.Unlock()
		_ = b.far.Close()
	}
	return err
}

// ask sends a request. One without an answer is answered with the reason.
func (b *bridge) ask(m mcpwire.Message) {
	if err := b.sent(b.http.Send(b.ctx, m, nil)); err != nil && b.waits(m.ID) && b.ctx.Err() == nil {
		_ = b.lines.Write(failure(m.ID, err.Error())) // the reader may be gone
	}
}

func (b *bridge) waits(id json.RawMessage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open[mcpwire.Key(id)]
}

// take hands on what the server said.
func (b *bridge) take(messages []mcpwire.Message, _ *mcpwire.JunkError) {
	for _, m := range messages {
		if m.IsResponse() {
			b.mu.Lock()
			delete(b.open, m.Key())
			b.mu.Unlock()
		}
		if v := textAt(m.Result, "protocolVersion"); v != "" {
			b.http.SetVersion(v)
		}
		_ = b.lines.Write(m.Encode()) // the reader may be gone
	}
}
