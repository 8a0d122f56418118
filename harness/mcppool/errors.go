// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// ErrorKind says what became of a request that got no result.
type ErrorKind string

// The kinds of [Error].
const (
	ErrRPC       ErrorKind = "rpc"       // the server answered with a JSON-RPC error
	ErrTimeout   ErrorKind = "timeout"   // no answer within the time limit
	ErrCancelled ErrorKind = "cancelled" // the caller's context ended
	ErrClosed    ErrorKind = "closed"    // the server disconnected
	ErrMalformed ErrorKind = "malformed" // the request or the answer cannot be used
	ErrTransport ErrorKind = "transport" // HTTP answered with an error, or not at all
	ErrOpen      ErrorKind = "open"      // not called: the server has failed again and again
)

// Error is what is returned when a request got no result.
type Error struct {
	Kind   ErrorKind
	Server string
	Op     string // "connecting to", "listing the tools of", `calling "refund" on`
	// RPC is the error object of the server, for the kind rpc.
	RPC *jsonrpc.Error
	// Stderr is the end of what the server's process wrote there.
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s server %q: %v", e.Op, e.Server, e.Err)
	if e.Stderr != "" {
		s += "; its stderr ends: " + lastLines(e.Stderr, 5)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// explain makes an [*Error] of the error of a request.
func (s *Session) explain(outer, inner context.Context, op string, p *patience, c *conn, err error) error {
	e := &Error{Server: s.server.Name, Op: op, Err: err, Kind: ErrTransport}
	var refused *rpcError
	var input *inputError
	switch {
	case errors.Is(err, errEra):
		return e
	case errors.As(err, &input) && outer.Err() == nil && inner.Err() == nil:
		e.Kind = ErrMalformed
		return e
	case errors.As(err, &refused):
		e.Kind, e.RPC, e.Err = ErrRPC, refused.rpc, refused
		return e
	case outer.Err() != nil:
		e.Kind, e.Err = ErrCancelled, context.Cause(outer)
		return e
	case errors.Is(err, mcpwire.ErrUnusable) && !errors.Is(err, context.Canceled):
		e.Kind = ErrMalformed // whatever ran out since: there was an answer
	case inner.Err() != nil:
		e.Kind, e.Err = ErrTimeout, p.ran(c.unread())
	case c.gone():
		e.Kind = ErrClosed
		e.Err = fmt.Errorf("the server disconnected%s%s", c.ending(), c.unread())
	}
	e.Stderr = c.stderr()
	return e
}
