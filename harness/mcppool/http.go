// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// errProbe refuses the initialize request of a connection that was opened
// only to see whether the server speaks the new era.
var errProbe = errors.New("the server is of the initialize era")

// connectHTTP connects by streamable HTTP. mcp-go has the stream on which
// servers of the initialize era tell and ask things only as an option that
// rules the new era out, so there are two attempts: one that probes for the
// new era and stops short of initialize, and one with the stream.
func (s *Session) connectHTTP(ctx context.Context) (*conn, error) {
	c, err := s.dialHTTP(ctx, true)
	if err == nil || !errors.Is(err, errProbe) {
		return c, err
	}
	c.close()
	c, err = s.dialHTTP(ctx, false)
	if c != nil {
		c.legacyHTTP = true
	}
	return c, err
}

func (s *Session) dialHTTP(ctx context.Context, probe bool) (*conn, error) {
	opts := []transport.StreamableHTTPCOption{
		transport.WithHTTPHeaders(s.server.Headers),
		// Answering a request of the server is tied to the call under way and
		// logs an error when that ends first.
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
	}
	rt := newRoundTripper(s.server.Headers, s.opts.MaxFrame)
	opts = append(opts, transport.WithHTTPBasicClient(&http.Client{Transport: rt}))
	if !probe {
		//lint:ignore SA1019 deprecated with the era, which servers go on to speak
		opts = append(opts, transport.WithContinuousListening())
	}
	inner, err := transport.NewStreamableHTTP(s.server.URL, opts...)
	if err != nil {
		return nil, err
	}
	c := s.newConn(&httpTransport{StreamableHTTP: inner, probe: probe, note: s.note, rt: rt})
	return c, s.shake(ctx, c)
}

// httpTransport is mcp-go's streamable HTTP with what it drops: the raw
// answer, and the comparison of ids.
type httpTransport struct {
	*transport.StreamableHTTP
	probe bool
	note  func(format string, args ...any)
	rt    *roundTripper
}

// SendRequest sends a request and keeps its answer.
func (t *httpTransport) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	switch {
	case request.Method == string(mcp.MethodServerDiscover):
		return discover(ctx, request, t.send, t.note)
	case request.Method == string(mcp.MethodInitialize) && t.probe:
		return nil, errProbe
	}
	return t.send(ctx, request)
}

func (t *httpTransport) send(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	forget(ctx)
	r, err := t.StreamableHTTP.SendRequest(ctx, request)
	if err != nil {
		return nil, err
	}
	same := fmt.Sprint(r.ID.Value()) == fmt.Sprint(request.ID.Value())
	if !same && !(r.ID.IsNil() && r.Error != nil) {
		return nil, wrongID(request.ID, r.ID.Value())
	}
	r.Result = keep(ctx, request.Method, r.Result, rawError(r.Error))
	return r, nil
}

// Close ends the session and drops the connections.
func (t *httpTransport) Close() error {
	err := t.StreamableHTTP.Close()
	t.rt.base.CloseIdleConnections()
	return err
}

// connectSSE connects by the HTTP+SSE transport of 2024-11-05, which some
// servers still speak.
func (s *Session) connectSSE(ctx context.Context) (*conn, error) {
	rt := newRoundTripper(s.server.Headers, s.opts.MaxFrame)
	inner, err := transport.NewSSE(s.server.URL,
		transport.WithHeaders(s.server.Headers),
		transport.WithSSELogger(slog.New(slog.DiscardHandler)),
		transport.WithHTTPClient(&http.Client{Transport: rt}))
	if err != nil {
		return nil, err
	}
	c := s.newConn(&sseTransport{SSE: inner, note: s.note, rt: rt})
	return c, s.shake(ctx, c)
}

type sseTransport struct {
	*transport.SSE
	note func(format string, args ...any)
	rt   *roundTripper
}

func (t *sseTransport) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if request.Method == string(mcp.MethodServerDiscover) {
		return discover(ctx, request, t.send, t.note)
	}
	return t.send(ctx, request)
}

func (t *sseTransport) send(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	forget(ctx)
	r, err := t.SSE.SendRequest(ctx, request)
	if err == nil {
		r.Result = keep(ctx, request.Method, r.Result, rawError(r.Error))
	}
	return r, err
}

func (t *sseTransport) Close() error {
	err := t.SSE.Close()
	t.rt.base.CloseIdleConnections()
	return err
}

// roundTripper has connections of its own, so that none is left after Close.
type roundTripper struct {
	base    *http.Transport
	headers map[string]string
	max     int // bytes of an answer
}

func newRoundTripper(headers map[string]string, maxFrame int) *roundTripper {
	base := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	return &roundTripper{base: base, headers: headers, max: maxFrame}
}

// boundedBody is a body that may not be longer than left.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return n, fmt.Errorf("%w: it is too long", errMalformed)
	}
	return n, err
}

// RoundTrip bounds answers, and mends two things of mcp-go's: the request
// that ends a session goes out without the configured headers, and a 404 of
// the new era, which means an unknown method, is taken for a lost session.
func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		r = r.Clone(r.Context())
		for k, v := range t.headers {
			r.Header.Set(k, v)
		}
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost {
		return resp, err
	}
	resp.Body = &boundedBody{resp.Body, t.max}
	if resp.StatusCode == http.StatusNotFound && r.Header.Get(transport.HeaderKeySessionID) == "" {
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if m, parseErr := mcpwire.Parse(body); err == nil && parseErr == nil && m.Error != nil {
			resp.StatusCode = http.StatusBadRequest
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return resp, nil
}
