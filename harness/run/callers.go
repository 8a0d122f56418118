// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// callers are the connections over which subjects in this process call a mock
// server. A request may come on any of them, so that only the server knows which
// has come first: it says so, and a subject that wants its calls in order waits
// for that.
type callers struct {
	mu    sync.Mutex // guards what follows
	conns map[string]*caller
}

// caller is a connection of a client.
type caller struct {
	net.Conn
	of *callers

	// taken is called when the request is that is under way; nil where nobody
	// waits for that. It is guarded by of.mu.
	taken func()
}

// dialing has the connections that dial opens known to c.
func (c *callers) dialing(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		x := &caller{Conn: conn, of: c}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns[conn.LocalAddr().String()] = x
		return x, nil
	}
}

// handler has h say to the connection of a request that it was taken.
func (c *callers) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.RemoteAddr
		h.ServeHTTP(w, r.WithContext(mcpwire.OnTaken(r.Context(), func() { c.took(from) })))
	})
}

// took says that the request was taken that is under way on a connection.
func (c *callers) took(from string) {
	c.mu.Lock()
	var taken func()
	if x := c.conns[from]; x != nil {
		taken, x.taken = x.taken, nil
	}
	c.mu.Unlock()
	if taken != nil {
		taken()
	}
}

// OnTaken implements [mcpwire.Taker].
func (x *caller) OnTaken(f func()) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.taken = f
}

func (x *caller) Close() error {
	x.of.mu.Lock()
	delete(x.of.conns, x.LocalAddr().String())
	x.of.mu.Unlock()
	return x.Conn.Close()
}
