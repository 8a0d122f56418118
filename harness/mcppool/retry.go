// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mcphttp"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

var errClosed = errors.New("the session was closed")

// do has f make a request, within its patience.
//
// A server that disconnected is started again first. The request itself is sent
// a second time only when the server has certainly not looked at it: it has
// forgotten our session, or it was gone before a byte had left us. One that only
// reads is so too when a server disconnects on the probe of its era, which it was
// slow to look at.
func (s *Session) do(ctx context.Context, op string, p *patience, reads bool, f func(context.Context, *conn) (json.RawMessage, error)) (json.RawMessage, error) {
	if s.opts.PerCall {
		return s.doApart(ctx, op, p, f)
	}
	c, err := s.connected(ctx, op)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		inner, cancel := p.begin(ctx)
		start := s.opts.Clock.Now()
		result, err := f(inner, c)
		s.measured(op, s.opts.Clock.Now().Sub(start), err)
		explained := err
		var refused *rpcError
		c.proved.CompareAndSwap(false, err == nil || errors.As(err, &refused))
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
		case reads && errors.Is(err, mcpwire.ErrClosed) && c.unproved():
			why = "disconnected, perhaps on server/discover" + c.ending()
		default:
			return nil, explained
		}
		if c, err = s.renew(ctx, op, c, why); err != nil {
			return nil, err
		}
	}
}

// connected returns a connection that is not known to be lost.
func (s *Session) connected(ctx context.Context, op string) (*conn, error) {
	c := s.current()
	if !c.gone() && !c.over.Load() {
		return c, nil
	}
	return s.renew(ctx, op, c, "disconnected"+c.ending())
}

// alive returns a session whose server answers. One that has been silent for a
// while is asked for a sign of life, and replaced where it gives none.
func (s *Session) alive(ctx context.Context) error {
	if s.opts.PerCall {
		return nil // the next request connects
	}
	const op = "connecting to"
	c, err := s.connected(ctx, op)
	if err != nil {
		return err
	}
	s.mu.Lock()
	idle := s.opts.Clock.Now().Sub(s.heard)
	s.mu.Unlock()
	if idle < idleCheck {
		return nil
	}
	inner, cancel := context.WithTimeout(ctx, s.opts.DiscoverTimeout)
	defer cancel()
	err = s.Ping(inner)
	var e *Error
	switch {
	case ctx.Err() != nil:
		return &Error{Kind: ErrCancelled, Server: s.server.Name, Op: op, Err: context.Cause(ctx)}
	case err == nil, errors.As(err, &e) && e.Kind == ErrRPC: // it knows no ping, and answers
		return nil
	}
	c.close() // nobody has had an answer of it
	_, err = s.renew(ctx, op, c, "did not answer a ping")
	return err
}

// idleCheck is after how long without an answer a session is asked for a sign
// of life before it is given out again.
const idleCheck = 30 * time.Second

// answered says that the server works: the count of restarts begins anew.
func (s *Session) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts, s.heard = nil, s.opts.Clock.Now()
}

// maxBackoff bounds the waits between restarts. A server that was given up is
// given another chance after as long.
const maxBackoff = 30 * time.Second

// restart says how long to wait before the server is started again, or that it is
// not, since it has had all its restarts.
func (s *Session) restart(why string) (wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most, ok := s.opts.MaxRestarts, true
	switch {
	case most < 0:
		return 0, fmt.Errorf("the server %s", why)
	case s.restarts == nil: // the first is made at once
		s.restarts = retry.Policy{MaxAttempts: most, Initial: s.opts.Backoff, Max: maxBackoff, Jitter: -1}.Start()
	default:
		wait, ok = s.restarts.Next(0)
	}
	now := s.opts.Clock.Now()
	if !ok && now.Sub(s.restarted) < maxBackoff {
		return 0, fmt.Errorf("the server %s, as it did before each of %d restarts; it is not started again", why, most)
	}
	s.restarted = now.Add(wait)
	return wait, nil
}

// renew replaces a connection that is of no more use. Of several callers one
// opens the new one, and the others wait for it. Where that fails it is tried
// again, as often as the options allow and after longer and longer waits.
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
	current, closed := s.conn, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, failed(ErrClosed, errClosed)
	case current != old:
		return current, nil
	}
	var last error // of the attempt before
	for {
		wait, err := s.restart(why)
		if err != nil {
			return nil, cmp.Or(last, failed(ErrClosed, err))
		}
		if err := s.pause(ctx, wait); err != nil {
			return nil, cmp.Or(last, failed(ErrCancelled, err))
		}
		old.close() // first: the new one may want what it holds
		in := s.opts.Era
		if old.unproved() {
			in = EraLegacy
		}
		c, err := s.connectIn(ctx, in)
		if err == nil {
			return s.adopt(ctx, c, why, failed)
		}
		e := new(Error)
		if !errors.As(err, &e) {
			e = &Error{Kind: ErrTransport, Server: s.server.Name, Err: err}
		}
		last = &Error{Kind: e.Kind, Server: e.Server, Op: op, RPC: e.RPC, Stderr: e.Stderr, Err: fmt.Errorf("the server %s, and connecting again: %w", why, e.Err)}
		if e.Kind != ErrTransport && e.Kind != ErrClosed || ctx.Err() != nil {
			return nil, last // it would say the same again, or take as long
		}
	}
}

// pause waits before a restart, as long as the session is open.
func (s *Session) pause(ctx context.Context, wait time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.life, func() { stop(errClosed) })()
	return s.opts.Clock.Sleep(ctx, wait)
}

// adopt puts a new connection in the place of the old one.
func (s *Session) adopt(ctx context.Context, c *conn, why string, failed func(ErrorKind, error) error) (*conn, error) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.conn, s.heard = c, s.opts.Clock.Now()
	}
	s.mu.Unlock()
	if closed {
		c.close()
		return nil, failed(ErrClosed, errClosed)
	}
	s.changes.Add(1) // another server may have other tools
	s.note("%s; opened a new one", why)
	s.resubscribe(ctx, c)
	return c, nil
}
