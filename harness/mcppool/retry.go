// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"errors"
	"fmt"
)

var errClosed = errors.New("the session was closed")

// do sends one request by f, within its patience, and keeps what was
// answered.
//
// A server that went away is started again first. The request itself is sent
// a second time only when the server has certainly not looked at it: it has
// forgotten our session, or it was gone before a byte had left us.
func (s *Session) do(ctx context.Context, op string, p *patience, f func(context.Context, *conn) error) (*capture, error) {
	c := s.current()
	if c.gone() || c.over.Load() {
		next, err := s.renew(ctx, op, c, "went away"+c.ending())
		if err != nil {
			return nil, err
		}
		c = next
	}
	for attempt := 1; ; attempt++ {
		kept, cause, err := s.try(ctx, op, p, c, f)
		if err == nil {
			s.answered()
		}
		var why string
		switch {
		case attempt > 1 || ctx.Err() != nil:
			return kept, err
		case errors.Is(cause, errForgotten):
			why = "forgot our session"
		case errors.Is(cause, errUnsent):
			why = "went away" + c.ending()
		default:
			return kept, err
		}
		next, reErr := s.renew(ctx, op, c, why)
		if reErr != nil {
			return kept, reErr
		}
		c = next
	}
}

// try sends a request once. cause is the error as it came.
func (s *Session) try(ctx context.Context, op string, p *patience, c *conn, f func(context.Context, *conn) error) (kept *capture, cause, err error) {
	kept = new(capture)
	inner, cancel := p.begin(context.WithValue(ctx, captureKey{}, kept))
	defer cancel()
	cause = f(inner, c)
	if kept.err = cause; cause == nil || kept.result != nil { // a result that mcp-go cannot read is still a result
		return kept, nil, nil
	}
	return kept, cause, s.explain(ctx, inner, op, p, c, kept, cause)
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
		return nil, failed(ErrClosed, fmt.Errorf("the server %s, as it did before each of %d new starts; there will be no other", why, n))
	case spent:
		return nil, failed(ErrClosed, fmt.Errorf("the server %s", why))
	}
	old.close() // first: the new one may want what it holds
	c, err := s.connect(ctx)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return nil, &Error{Kind: e.Kind, Server: e.Server, Op: op, RPC: e.RPC, Stderr: e.Stderr, Err: fmt.Errorf("the server %s, and to connect again: %w", why, e.Err)}
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
