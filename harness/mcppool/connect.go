// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

var (
	// errMalformed marks answers that cannot be used.
	errMalformed = errors.New("unusable answer")
	// errProbed marks the error of a server that went away when it was asked
	// for the new era.
	errProbed = errors.New("the server went away at the first question")
	// errEra refuses the request of an era that the options rule out.
	errEra = errors.New("the server does not speak the new era (2026-07-28)")
)

// link is what all transports are.
type link interface {
	transport.BidirectionalInterface
	gone() bool     // nothing can come any more
	ending() string // how it went away: "", or ": " and why
	stderr() string // the end of what the server's process wrote there
	babble() string // what came that was of no use, for an error
	slow() bool     // the probe of its era was not answered in time
	unasked() bool  // it went away before anything but the probe was asked
}

// conn is one connection of a session.
type conn struct {
	link
	client     *client.Client
	info       Info
	over       atomic.Bool // it was closed
	deaf       atomic.Bool // the server tells no changes of its tools any more
	mu         sync.Mutex  // guards stopListen
	stopListen func()
	closeOnce  sync.Once
}

func (c *conn) close() {
	c.closeOnce.Do(func() {
		c.over.Store(true)
		c.mu.Lock()
		stop := c.stopListen
		c.mu.Unlock()
		if stop != nil {
			stop()
		}
		_ = c.client.Close()
	})
}

// connect opens a connection and shakes hands, within the time limit. A server
// that goes away when it is asked for the new era gets a second chance,
// without that question.
func (s *Session) connect(ctx context.Context) (*conn, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.life, func() { stop(errClosed) })()
	c, err := s.attempt(ctx, s.opts.Era)
	if errors.Is(err, errProbed) {
		s.note("went away when it was asked server/discover; connecting again without it")
		c, err = s.attempt(ctx, EraLegacy)
	}
	return c, err
}

// attempt opens a connection in an era.
func (s *Session) attempt(ctx context.Context, in Era) (*conn, error) {
	const op = "connecting to"
	limit := s.opts.ConnectTimeout
	kept := new(capture)
	inner, cancel := context.WithTimeout(context.WithValue(ctx, captureKey{}, kept), limit)
	defer cancel()
	t, err := s.dial(inner, in)
	if err != nil {
		if ctx.Err() == nil && inner.Err() != nil {
			return nil, &Error{Kind: ErrTimeout, Server: s.server.Name, Op: op, Err: overtime(fmt.Sprintf("no connection within %v", limit))}
		}
		return nil, &Error{Kind: ErrTransport, Server: s.server.Name, Op: op, Err: err}
	}
	c := &conn{link: t}
	opts := s.opts.handlers()
	switch in {
	case EraLegacy:
		opts = append(opts, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	case EraModern:
		opts = append(opts, client.WithDiscoverTimeout(-1)) // it bounds itself
	default:
		opts = append(opts, client.WithDiscoverTimeout(s.opts.DiscoverTimeout))
	}
	c.client = client.NewClient(t, opts...)
	if err := s.shake(inner, c); err != nil {
		probed := in == EraAuto && ctx.Err() == nil && c.gone() && c.unasked()
		err = s.explain(ctx, inner, op, &patience{limit: limit}, c, kept, err)
		c.close()
		if probed {
			err = fmt.Errorf("%w: %w", errProbed, err)
		}
		return nil, err
	}
	s.listen(inner, c)
	return c, nil
}

// dial makes the transport that the server is reached by.
func (s *Session) dial(ctx context.Context, in Era) (link, error) {
	w := wire{note: s.note, told: s.told, max: s.opts.MaxFrame, era: in, dial: s.opts.DialContext}
	var rw io.ReadWriteCloser
	var err error
	switch scheme, _, _ := strings.Cut(s.server.URL, ":"); {
	case s.server.Dial != nil:
		rw, err = s.server.Dial(ctx)
	case s.server.URL == "":
		rw, err = mcpwire.Start(mcpwire.Command{
			Args: s.server.Command, Env: s.server.Env, PassEnv: s.opts.PassEnv, Grace: s.opts.CloseGrace, Abort: s.opts.Abort,
		})
	case s.server.Transport == "ws" || s.server.Transport == "" && (scheme == "ws" || scheme == "wss"):
		rw, err = s.dialWebSocket(ctx)
	case s.server.Transport == "sse":
		return newSSETransport(s.server.URL, s.server.Headers, w)
	default:
		return newHTTPTransport(s.server.URL, s.server.Headers, w)
	}
	if err != nil {
		return nil, err
	}
	return newPipeTransport(rw, w), nil
}

func (s *Session) dialWebSocket(ctx context.Context) (io.ReadWriteCloser, error) {
	w := newWeb(nil, s.opts.DialContext)
	header := http.Header{}
	for k, v := range s.server.Headers {
		header.Set(k, v)
	}
	ws, resp, err := websocket.Dial(ctx, s.server.URL, &websocket.DialOptions{
		HTTPClient: w.client, HTTPHeader: header, Subprotocols: []string{mcpwire.Subprotocol},
	})
	switch {
	case err != nil && resp != nil && resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, newStatusError(resp)
	case err != nil:
		return nil, err
	case ws.Subprotocol() != mcpwire.Subprotocol:
		s.note("agreed to the WebSocket but not to its subprotocol %q", mcpwire.Subprotocol)
	}
	return mcpwire.NewSocket(ws), nil
}

// shake starts the transport and negotiates a version.
func (s *Session) shake(ctx context.Context, c *conn) error {
	if err := c.client.Start(ctx); err != nil {
		return err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: s.opts.ClientName, Version: s.opts.ClientVersion}
	result, err := c.client.Initialize(ctx, request)
	if err != nil && ctx.Err() == nil && c.slow() {
		// It was still starting when it was probed: one that knows the new
		// era alone refuses initialize, and would answer the probe by now.
		result, err = c.client.Initialize(ctx, request)
	}
	if err != nil {
		return err
	}
	c.info = Info{
		Name: result.ServerInfo.Name, Version: result.ServerInfo.Version,
		Protocol: c.client.ProtocolVersion(), Instructions: result.Instructions,
	}
	if level := s.opts.LogLevel; level != "" && c.client.GetServerCapabilities().Logging != nil {
		//lint:ignore SA1019 deprecated with the era, which servers go on to speak
		if err := c.client.SetLevel(ctx, mcp.SetLevelRequest{Params: mcp.SetLevelParams{Level: mcp.LoggingLevel(level)}}); err != nil {
			s.note("does not set the level of its log: %v", err)
		}
	}
	return nil
}

// listen asks a server of the new era to tell when its tools change, and waits
// until it says that it will: what it tells before that is lost. Older ones
// tell unasked.
func (s *Session) listen(ctx context.Context, c *conn) {
	tools := c.client.GetServerCapabilities().Tools
	if tools == nil || !tools.ListChanged || !mcp.IsModernProtocol(c.client.ProtocolVersion()) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopListen != nil {
		c.stopListen() // it has ended
	}
	c.deaf.Store(false)
	select {
	case <-s.heard: // of an earlier time
	default:
	}
	life, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := c.client.Listen(life, mcp.SubscriptionFilter{ToolsListChanged: true})
		if life.Err() != nil || c.gone() {
			return
		}
		s.once("tells no changes of its tools any more: %v", cmp.Or(err, errors.New("it ended the stream")))
		c.deaf.Store(true)
	}()
	c.stopListen = func() {
		stop()
		<-ended
	}
	wait := time.NewTimer(ackPatience)
	defer wait.Stop()
	select {
	case <-s.heard:
	case <-ended:
	case <-wait.C:
		s.once("does not say that it will tell of changes of its tools")
	case <-ctx.Done():
	}
}

// ackPatience is how long a server may take to say that it will tell of
// changes.
const ackPatience = time.Second

// sender is the part of a transport that the functions below are about.
type sender func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)

// request sends a request, which for two of them takes more than sending.
func (x *exchange) request(ctx context.Context, request transport.JSONRPCRequest, send sender) (*transport.JSONRPCResponse, error) {
	switch {
	case request.Method == string(mcp.MethodServerDiscover):
		return x.discover(ctx, request, send)
	case request.Method == string(mcp.MethodInitialize) && x.era == EraModern:
		x.mu.Lock()
		defer x.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", errEra, cmp.Or(x.refused, errors.New("it offers other versions")))
	}
	x.mu.Lock()
	x.asking = x.asking || !x.lost
	x.mu.Unlock()
	return send(ctx, request)
}

// discover sends server/discover as mcp-go asks, but once more when the
// server refuses the very version that it says it supports; mcp-go gives up
// there. A probe without an answer is noted: it costs its whole timeout at
// every start.
func (x *exchange) discover(ctx context.Context, request transport.JSONRPCRequest, send sender) (*transport.JSONRPCResponse, error) {
	response, err := send(ctx, request)
	if err == nil && response.Error != nil && supportsAnyway(response.Error, request) {
		response, err = send(ctx, request)
	}
	if err == nil && response.Error == nil {
		response.Error = unusable(response.Result, request)
	}
	late := err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
	x.mu.Lock()
	x.late = late
	x.tardy = x.tardy || late
	x.lost = errors.Is(err, transport.ErrTransportClosed)
	if x.refused = err; err == nil && response.Error != nil {
		x.refused = fmt.Errorf("MCP error %d: %s", response.Error.Code, response.Error.Message)
	}
	x.mu.Unlock()
	if late {
		x.note("did not answer server/discover in time; going on with initialize")
	}
	return response, err
}

// unusable is the error that stands for an answer to server/discover that
// does not say that the version asked for is spoken: mcp-go takes any.
func unusable(result json.RawMessage, request transport.JSONRPCRequest) *mcp.JSONRPCErrorDetails {
	var found struct {
		Supported []string `json:"supportedVersions"`
	}
	if err := json.Unmarshal(result, &found); err != nil || len(found.Supported) == 0 {
		return &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "the answer to server/discover names no versions"}
	}
	version := asked(request)
	if slices.Contains(found.Supported, version) {
		return nil
	}
	return &mcp.JSONRPCErrorDetails{
		Code: mcp.UNSUPPORTED_PROTOCOL_VERSION, Message: "the server speaks " + strings.Join(found.Supported, ", "),
		Data: map[string]any{"supported": found.Supported, "requested": version},
	}
}

// asked is the version that a request names.
func asked(request transport.JSONRPCRequest) string {
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	_ = json.Unmarshal(mcpwire.Marshal(request.Params), &params) // absent is fine
	version, _ := params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return version
}

// unasked reports whether the server, which is gone, went away at the probe of
// its era, or may have: one that came to the probe late found initialize behind
// it.
func (x *exchange) unasked() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost && !x.asking || x.tardy
}

// slow reports whether the server let the probe of its era go unanswered.
func (x *exchange) slow() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.late
}

func supportsAnyway(e *mcp.JSONRPCErrorDetails, request transport.JSONRPCRequest) bool {
	if e.Code != mcp.UNSUPPORTED_PROTOCOL_VERSION {
		return false
	}
	var data mcp.UnsupportedProtocolVersionData
	version := asked(request)
	return json.Unmarshal(mcpwire.Marshal(e.Data), &data) == nil && version != "" && slices.Contains(data.Supported, version)
}
