// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// errMalformed marks answers that cannot be used.
var errMalformed = errors.New("unusable answer")

// conn is one connection of a session.
type conn struct {
	client *client.Client
	pipe   *pipeTransport // nil over HTTP
	// legacyHTTP says that there is a session on an HTTP server which that
	// server may forget.
	legacyHTTP bool
	ended      context.CancelFunc // ends what runs for the whole connection
	stopListen func()
	closeOnce  sync.Once
}

func (c *conn) close() {
	c.closeOnce.Do(func() {
		c.ended()
		if c.stopListen != nil {
			c.stopListen()
		}
		_ = c.client.Close()
	})
}

// babble quotes what the server wrote that is no JSON-RPC.
func (c *conn) babble() string {
	if c.pipe == nil {
		return ""
	}
	return c.pipe.babble()
}

func (c *conn) gone() bool { return c.pipe != nil && c.pipe.gone() }

func (c *conn) ending() string {
	if c.pipe == nil || c.pipe.proc == nil {
		return ""
	}
	if state := c.pipe.proc.Ending(); state != "" {
		return ": " + state
	}
	return ": it closed its output"
}

func (c *conn) stderr() string {
	if c.pipe == nil || c.pipe.proc == nil {
		return ""
	}
	return c.pipe.proc.Stderr()
}

// connect opens a connection and shakes hands, within the time limit.
func (s *Session) connect(ctx context.Context) (*conn, error) {
	const op = "connecting to"
	limit := s.opts.ConnectTimeout
	kept := new(capture)
	inner, cancel := context.WithTimeout(context.WithValue(ctx, captureKey{}, kept), limit)
	defer cancel()
	var c *conn
	var err error
	switch {
	case s.server.Dial != nil:
		c, err = s.connectPipe(inner)
	case s.server.URL != "" && s.server.Transport == "sse":
		c, err = s.connectSSE(inner)
	case s.server.URL != "":
		c, err = s.connectHTTP(inner)
	default:
		c, err = s.connectPipe(inner)
	}
	if err == nil {
		s.listen(c)
		return c, nil
	}
	if c == nil {
		return nil, &Error{Kind: ErrTransport, Server: s.server.Name, Op: op, Err: err}
	}
	err = s.explain(ctx, inner, op, limit, c, kept, err)
	c.close()
	return nil, err
}

// connectPipe connects to a child process or through Dial.
func (s *Session) connectPipe(ctx context.Context) (*conn, error) {
	var rw io.ReadWriteCloser
	var err error
	if s.server.Dial != nil {
		rw, err = s.server.Dial(ctx)
	} else {
		rw, err = mcpwire.Start(mcpwire.Command{
			Args: s.server.Command, Env: s.server.Env, PassEnv: s.opts.PassEnv, Grace: s.opts.CloseGrace, Abort: s.opts.Abort,
		})
	}
	if err != nil {
		return nil, err
	}
	t := newPipeTransport(rw, s.note, s.opts.MaxFrame)
	c := s.newConn(t)
	c.pipe = t
	return c, s.shake(ctx, c)
}

// newConn makes a client over t. Its notification handler only raises a flag:
// it runs where answers are read, and one that asked the server something
// would wait for itself.
func (s *Session) newConn(t transport.Interface) *conn {
	c := &conn{
		client: client.NewClient(t, client.WithDiscoverTimeout(s.opts.DiscoverTimeout)),
		ended:  func() {},
	}
	c.client.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == mcp.MethodNotificationToolsListChanged {
			s.changed.Store(true)
		}
	})
	return c
}

// shake starts the transport and negotiates a version.
func (s *Session) shake(ctx context.Context, c *conn) error {
	// The transport outlives ctx, which bounds the handshake alone.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c.ended = end
	if err := c.client.Start(life); err != nil {
		return err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: s.opts.ClientName, Version: s.opts.ClientVersion}
	_, err := c.client.Initialize(ctx, request)
	return err
}

// listen asks a server of the new era to tell when its tools change. Older
// ones tell unasked.
func (s *Session) listen(c *conn) {
	tools := c.client.GetServerCapabilities().Tools
	if tools == nil || !tools.ListChanged || !mcp.IsModernProtocol(c.client.ProtocolVersion()) {
		return
	}
	stop, err := c.client.ListenAsync(context.Background(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(err error) {
		s.note("tells no changes of its tools any more: %v", err)
	})
	if err == nil {
		c.stopListen = stop
	}
}

// sender is the part of a transport that the functions below are about.
type sender func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)

// discover sends server/discover as mcp-go asks, but once more when the
// server refuses the very version that it says it supports; mcp-go gives up
// there. A probe without an answer is noted: it costs its whole timeout at
// every start.
func discover(ctx context.Context, request transport.JSONRPCRequest, send sender, note func(string, ...any)) (*transport.JSONRPCResponse, error) {
	response, err := send(ctx, request)
	if err == nil && response.Error != nil && supportsAnyway(response.Error, request) {
		response, err = send(ctx, request)
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		note("did not answer server/discover in time; going on with initialize")
	}
	return response, err
}

func supportsAnyway(e *mcp.JSONRPCErrorDetails, request transport.JSONRPCRequest) bool {
	if e.Code != mcp.UNSUPPORTED_PROTOCOL_VERSION {
		return false
	}
	var data mcp.UnsupportedProtocolVersionData
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	if json.Unmarshal(mcpwire.Marshal(e.Data), &data) != nil || json.Unmarshal(mcpwire.Marshal(request.Params), &params) != nil {
		return false
	}
	version, _ := params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return version != "" && slices.Contains(data.Supported, version)
}

func wrongID(want mcp.RequestId, got any) error {
	return fmt.Errorf("%w: request %v was answered with the id %v", errMalformed, want.Value(), got)
}
