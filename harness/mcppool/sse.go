// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// sseTransport is the HTTP+SSE transport of 2024-11-05, which some servers
// still speak: one stream brings everything, and what we send goes to an
// address that the stream names first.
type sseTransport struct {
	*exchange
	*web
	url *url.URL

	start    sync.Once
	ready    chan struct{} // closed when the address is known
	endpoint string        // set before ready is closed
	done     chan struct{} // closed when the stream has ended
	why      error         // how. Set before done is closed.
}

func newSSETransport(serverURL string, headers map[string]string, w wire) (*sseTransport, error) {
	u, err := url.Parse(serverURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a server", serverURL)
	}
	return &sseTransport{
		exchange: newExchange(w), web: newWeb(headers, w.dial), url: u,
		ready: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// Start begins to read the stream. Its address is waited for by what is sent.
func (t *sseTransport) Start(context.Context) error {
	t.start.Do(func() {
		go func() {
			defer close(t.done)
			t.why = t.read()
		}()
	})
	return nil
}

// Close ends the stream and what is under way.
func (t *sseTransport) Close() error {
	t.shut()
	t.start.Do(func() { close(t.done) })
	<-t.done
	t.running.Wait()
	t.base.CloseIdleConnections()
	return nil
}

// GetSessionId returns "": the address stands for the session.
//
//lint:ignore ST1003 the name is mcp-go's
func (t *sseTransport) GetSessionId() string { return "" }

// gone reports whether the stream has ended that was there.
func (t *sseTransport) gone() bool {
	select {
	case <-t.done:
	default:
		return false
	}
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

func (t *sseTransport) ending() string {
	if errors.Is(t.why, io.EOF) {
		return ": it ended its stream"
	}
	return ": " + t.why.Error()
}

// read takes what the stream brings and says how it ended.
func (t *sseTransport) read() error {
	r, err := http.NewRequestWithContext(t.life, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := t.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		e := newStatusError(resp)
		if resp.StatusCode == http.StatusOK {
			return fmt.Errorf("%w: the content type is %q: %s", errMalformed, resp.Header.Get("Content-Type"), e.body)
		}
		return e
	}
	stream := newEvents(resp.Body, t.max)
	for {
		ev, err := stream.next()
		if err != nil {
			return err
		}
		switch ev.name {
		case "endpoint":
			if err := t.address(string(ev.data)); err != nil {
				return err
			}
		case "", "message":
			t.takeFrame(ev.data, t.reply)
		}
	}
}

// address takes the address that messages are to be sent to. One on another
// host would get our headers.
func (t *sseTransport) address(said string) error {
	if t.endpoint != "" {
		return nil
	}
	u, err := t.url.Parse(said)
	if err != nil || u.Host != t.url.Host || u.Scheme != t.url.Scheme {
		return fmt.Errorf("%w: it names %q as its address", errMalformed, said)
	}
	t.endpoint = u.String()
	close(t.ready)
	return nil
}

// SendRequest sends a request and waits for its answer.
func (t *sseTransport) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.exchange.request(ctx, request, t.send)
}

func (t *sseTransport) send(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	forget(ctx)
	ch, done := t.expect(request)
	defer done()
	life, cancel := context.WithCancel(t.life)
	defer cancel()
	posted := make(chan error, 1)
	if !t.spawn(func() { posted <- t.post(life, mcpwire.Marshal(request), request.Header) }) {
		return nil, transport.ErrTransportClosed
	}
	for {
		select {
		case a := <-ch:
			return response(ctx, request, a)
		case err := <-posted:
			posted = nil
			var status *statusError
			if errors.As(err, &status) {
				m, parseErr := mcpwire.Parse(status.whole)
				refused := parseErr == nil && m.Error != nil
				if status.code == http.StatusNotFound || refused && lostSession(m.Error) {
					return nil, fmt.Errorf("%w: %w", errForgotten, err)
				}
				if refused {
					return response(ctx, request, answer{message: m})
				}
			}
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			t.giveUp(ctx, request, t.SendNotification)
			return nil, ctx.Err()
		case <-t.done:
			select {
			case a := <-ch:
				return response(ctx, request, a)
			default:
				return nil, t.over()
			}
		}
	}
}

// over is the error of a request that the end of the stream leaves without an
// answer.
func (t *sseTransport) over() error {
	if t.gone() {
		return transport.ErrTransportClosed
	}
	if errors.Is(t.why, io.EOF) {
		return fmt.Errorf("%w: the stream ended before it named an address", errMalformed)
	}
	return t.why
}

// post sends a frame to the server's address, once that is known.
func (t *sseTransport) post(ctx context.Context, frame []byte, header http.Header) error {
	select {
	case <-t.ready:
	case <-t.done:
		return t.over()
	case <-ctx.Done():
		return ctx.Err()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, bytes.NewReader(frame))
	if err != nil {
		return err
	}
	for k, v := range header {
		r.Header[k] = v
	}
	r.Header.Set("Content-Type", "application/json")
	t.mu.Lock()
	if t.version != "" {
		r.Header.Set(transport.HeaderKeyProtocolVersion, t.version)
	}
	t.mu.Unlock()
	resp, err := t.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return newStatusError(resp)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // for the connection's sake
	return nil
}

// SendNotification sends a notification.
func (t *sseTransport) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	return t.post(ctx, mcpwire.Marshal(n), nil)
}

func (t *sseTransport) reply(frame []byte) {
	ctx, cancel := context.WithTimeout(t.life, goodbye)
	defer cancel()
	if err := t.post(ctx, frame, nil); err != nil && t.life.Err() == nil {
		t.note("did not take our answer: %v", err)
	}
}
