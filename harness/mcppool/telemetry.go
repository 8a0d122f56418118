// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/telemetry"
)

// Telemetry says where spans and metrics of OpenTelemetry go, of agents and of
// sessions.
type Telemetry = telemetry.Options

// request sends a request and waits for its result, ctx, or the end of the
// connection. An error of the server is an [*rpcError]. A request that is sent has a
// span, but for the one that listens as long as the connection lasts.
func (c *conn) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := strconv.FormatInt(c.ids.Add(1), 10)
	if c.opts.recorder == nil || method == mcpwire.MethodListen || ctx.Err() != nil {
		return c.exchange(ctx, id, method, params, nil)
	}
	what := telemetry.Request{Method: method, ID: id, Version: c.version, Peer: c.peer}
	switch p := params.(type) {
	case *callParams:
		what.Tool, what.Arguments = p.Name, p.Arguments
	case map[string]string:
		what.URI = p["uri"]
	}
	ctx, op := c.opts.recorder.Request(ctx, what)
	result, err := c.exchange(ctx, id, method, params, op.Context())
	op.In(c.session())
	var refused *rpcError
	if errors.As(err, &refused) {
		op.Refused(refused.rpc.Code, errors.New(refused.rpc.Message))
		return result, err
	}
	failure := c.failure(ctx, err)
	if err == nil && what.Tool != "" {
		op.Returned(result)
		if r, err := mcpwire.ParseResult(result); err == nil && r.IsError {
			failure = "tool_error"
		}
	}
	op.End(failure, err)
	return result, err
}

// failure is what kind of thing went wrong with a request that the server did not
// refuse.
func (c *conn) failure(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return string(ErrTimeout)
	case ctx.Err() != nil:
		return string(ErrCancelled)
	case errors.Is(err, mcpwire.ErrUnusable):
		return string(ErrMalformed)
	case c.gone():
		return string(ErrClosed)
	}
	return string(ErrTransport)
}

// peerOf is how spans name a server.
func peerOf(server harness.Server) telemetry.Peer {
	u, err := url.Parse(server.URL)
	if server.Dial != nil || server.URL == "" || err != nil {
		return telemetry.Peer{Transport: "pipe"}
	}
	p := telemetry.Peer{Transport: "tcp", Protocol: "http", Address: u.Hostname()}
	if mcpwire.IsSocket(server) {
		p.Protocol = "websocket"
	}
	p.Port, _ = strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}[u.Scheme]))
	return p
}
