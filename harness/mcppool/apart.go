// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
)

// doApart has f make a request on a connection of its own, see Options.PerCall.
// It knows of the server what the first connection found out.
func (s *Session) doApart(ctx context.Context, op string, p *patience, f func(context.Context, *conn) (json.RawMessage, error)) (json.RawMessage, error) {
	s.mu.Lock()
	first, closed := s.conn, s.closed
	if !closed {
		s.apart.Add(1)
	}
	s.mu.Unlock()
	if closed {
		return nil, &Error{Kind: ErrClosed, Server: s.server.Name, Op: op, Err: errClosed}
	}
	defer s.apart.Done()
	era := s.opts.Era
	if !first.modern() {
		era = EraLegacy // it need not be asked again
	}
	start := s.opts.Clock.Now()
	c, err := s.connectIn(ctx, era)
	if err != nil {
		s.measured(op, s.opts.Clock.Now().Sub(start), err)
		var e *Error
		if errors.As(err, &e) {
			e.Op = op
		}
		return nil, err
	}
	defer c.close()
	defer context.AfterFunc(s.life, c.close)()
	first.mu.Lock()
	c.marked = maps.Clone(first.marked)
	first.mu.Unlock()
	inner, cancel := p.begin(ctx)
	defer cancel()
	result, err := f(inner, c)
	s.measured(op, s.opts.Clock.Now().Sub(start), err)
	if err != nil {
		return nil, s.explain(ctx, inner, op, p, c, err)
	}
	s.answered()
	return result, nil
}
