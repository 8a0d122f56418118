// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcpgo connects agents that are written with mcp-go to the servers of
// a trial, and to the mock servers of package mockmcp.
//
//	func open(ctx context.Context, env *harness.Env) (harness.Session, error) {
//		for _, server := range env.Servers {
//			c, err := mcpgo.Client(ctx, server)
//			if err != nil {
//				return nil, err
//			}
//			...
//		}
//	}
//
// A server with [harness.Server.Dial] is reached in memory, one with a URL over
// a socket, one with a command over the pipes of a child process. A mock server
// of a test has both ways:
//
//	mock := mockmcp.NewServer(t, script)
//	c, err := mcpgo.Client(ctx, harness.Server{Dial: mock.Dial}) // in memory
//	c, err = mcpgo.Client(ctx, harness.Server{URL: mock.URL})    // streamable HTTP
package mcpgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Client returns an initialized client for a server: an entry of
// [harness.Env.Servers], or one of your own making. opts are the options of
// mcp-go, such as [client.WithSamplingHandler]. ctx bounds the start and the
// handshake and no more; the caller closes the client, which ends the
// connection and its child process.
//
// A server that does not answer server/discover within a second counts as one
// that is older than 2026-07-28; [client.WithDiscoverTimeout] changes that.
// Clients of servers that speak an older version over HTTP listen to what these
// tell and ask of their own accord.
//
// For a handshake of your own, see [Transport].
func Client(ctx context.Context, server harness.Server, opts ...client.ClientOption) (*client.Client, error) {
	t, err := Transport(ctx, server)
	if err != nil {
		return nil, err
	}
	c := client.NewClient(t, append([]client.ClientOption{client.WithDiscoverTimeout(time.Second)}, opts...)...)
	if err := initialize(ctx, c); err != nil {
		c.Close()
		if p, ok := t.(*pipe); ok {
			err = p.explain(err)
		}
		return nil, fmt.Errorf("connecting to server %q: %w", server.Name, err)
	}
	return c, nil
}

// initialize starts the client and shakes hands. What it starts outlives ctx,
// unless ctx ends before it is done.
func initialize(ctx context.Context, c *client.Client) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	if err := c.Start(life); err != nil {
		if !stop() {
			err = context.Cause(ctx)
		}
		end()
		return err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "rehearse", Version: "0"}
	_, err := c.Initialize(ctx, request)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		end()
	}
	return err
}

// Transport returns a transport of mcp-go to a server, for [client.NewClient].
// ctx bounds what it takes to open a pipe or a WebSocket.
func Transport(ctx context.Context, server harness.Server) (transport.Interface, error) {
	t, err := open(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("connecting to server %q: %w", server.Name, err)
	}
	return t, nil
}

func open(ctx context.Context, server harness.Server) (transport.Interface, error) {
	if err := mcpwire.Reachable(server); err != nil {
		return nil, err
	}
	if server.Dial == nil && server.URL != "" && !mcpwire.IsSocket(server) {
		return overHTTP(server)
	}
	rw, err := mcpwire.Dial(ctx, server, mcpwire.DialOptions{})
	if err != nil {
		return nil, err
	}
	return &pipe{transport.NewIO(ending{rw}, rw, io.NopCloser(strings.NewReader(""))), rw}, nil
}

func overHTTP(server harness.Server) (transport.Interface, error) {
	web := mcpwire.NewHTTPClient(nil)
	if server.Transport == "sse" {
		t, err := transport.NewSSE(server.URL, transport.WithHTTPClient(web), transport.WithHeaders(server.Headers))
		return &sse{t, web}, err
	}
	//lint:ignore SA1019 deprecated with the era, which servers go on to speak; see streamable
	listening := transport.WithContinuousListening()
	t, err := transport.NewStreamableHTTP(server.URL, transport.WithHTTPBasicClient(web), transport.WithHTTPHeaders(server.Headers), listening)
	return &streamable{t, web}, err
}

// streamable leaves no connection behind when it is closed.
type streamable struct {
	*transport.StreamableHTTP
	web *http.Client
}

// RequiresLegacyProtocol says that a client which listens is fit for either
// era: mcp-go does not listen where there is nothing to listen to.
func (*streamable) RequiresLegacyProtocol() bool { return false }

func (t *streamable) Close() error {
	defer t.web.CloseIdleConnections()
	return t.StreamableHTTP.Close()
}

// sse leaves no connection behind when it is closed.
type sse struct {
	*transport.SSE
	web *http.Client
}

func (t *sse) Close() error {
	defer t.web.CloseIdleConnections()
	return t.SSE.Close()
}

// pipe knows what became of the process at its other end.
type pipe struct {
	*transport.Stdio
	rw io.ReadWriteCloser
}

// ending is a pipe whose end is an end, also where we have closed it: mcp-go
// would log the error.
type ending struct{ io.Reader }

func (e ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// explain adds to the error of a handshake why the process went away.
func (p *pipe) explain(err error) error {
	process, ok := p.rw.(*mcpwire.Process)
	if !ok || !errors.Is(err, transport.ErrTransportClosed) {
		return err
	}
	err = fmt.Errorf("the server disconnected: %s", process.Ending())
	if said := process.Stderr(); said != "" {
		err = fmt.Errorf("%w; its stderr ends: %s", err, said)
	}
	return err
}
