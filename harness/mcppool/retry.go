// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/mcphttp"
)

var errClosed = errors.New("the session was closed")

// do has f make a request, within its patience.
//
// A server that disconnected is started again first. The request itself is sent
// a second time only when the server has certainly not looked at it: it has
// forgotten our session, or it was gone before a byte had left us.
func (s *Session) do(ctx context.Context, op string, p *patience, f func(context.Context, *conn) (json.RawMessage, error)) (json.RawMessage, error) {
	c := s.current()
	if c.gone() || c.over.Load() {
		next, err := s.renew(ctx, op, c, "disconnected"+c.ending())
		if err != nil {
			return nil, err
		}
		c = next
	}
	for attempt := 1; ; attempt++ {
		inner, cancel := p.begin(ctx)
		result, err := f(inner, c)
		explained := err
		if err == nil {
			s.answered()
		} else {
			explained = s.explain(ctx, inner, op, p, c, err)
		}
		cancel()
		var why string
		switch {
		case err == nil || attempt > 1 || ctx.Err() != nil:
			return result, explained
		case errors.Is(err, mcphttp.ErrNoSession):
			why = "no longer knows the session"
		case errors.Is(err, errUnsent):
			why = "disconnected" + c.ending()
		default:
			return nil, explained
		}
		if c, err = s.renew(ctx, op, c, why); err != nil {
			return nil, err
		}
	}
}

func (s *Session) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts = 0
}

// renew replaces a connection that is of no more use. Of several callers one
// opens the new one, and the others wait for it.
func (s *Session) renew(ctx context.Context, op string, old *conn, why string) (*conn, error) {
	failed := func(kind ErrorKind, err error) error {
		return &Error{Kind: kind, Server: s.server.Name, Op: op, Stderr: old.stderr(), Err: err}
	}
	select {
	case s.renewing <- struct{}{}:
		defer func() { <-s.renewing }()
	case <-ctx.Done():
		return nil, failed(ErrCancelled, context.Cause(ctx))
	case <-s.life.Done():
		return nil, failed(ErrClosed, errClosed)
	}
	s.mu.Lock()
	current, closed, spent := s.conn, s.closed, s.restarts >= s.opts.MaxRestarts
	if current == old && !closed && !spent {
		s.restarts++
	}
	n := s.restarts
	s.mu.Unlock()
	switch {
	case closed:
		return nil, failed(ErrClosed, errClosed)
	case current != old:
		return current, nil
	case spent && n > 0:
		return nil, failed(ErrClosed, fmt.Errorf("the server %s, as it did before each of %d restarts; it is not started again", why, n))
	case spent:
		return nil, failed(ErrClosed, fmt.Errorf("the server %s", why))
	}
	old.close() // first: the new one may want what it holds
	c, err := s.connect(ctx)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return nil, &Error{Kind: e.Kind, Server: e.Server, Op: op, RPC: e.RPC, Stderr: e.Stderr, Err: fmt.Errorf("the server %s, and connecting again: %w", why, e.Err)}
		}
		return nil, failed(ErrTransport, err)
	}
	s.mu.Lock()
	closed = s.closed
	if !closed {
		s.conn = c
	}
	s.mu.Unlock()
	if closed {
		c.close()
		return nil, failed(ErrClosed, errClosed)
	}
	s.changed.Store(true) // another server may have other tools
	s.note("%s; opened a new one", why)
	return c, nil
}
