// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// SSE speaks the HTTP+SSE transport of 2024-11-05, which some servers still
// have: one stream brings everything, and what we send goes to an address that
// the stream names first.
type SSE struct {
	*link
	url      *url.URL
	life     context.Context // ends with Close
	end      context.CancelFunc
	ready    chan struct{} // closed when the address is known
	endpoint string        // set before ready is closed
	done     chan struct{} // closed when the stream has ended
	why      error         // how. Set before done is closed.
}

// NewSSE returns a client and begins to read its stream.
func NewSSE(opts Options) (*SSE, error) {
	l, err := newLink(opts)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(opts.URL)
	if err != nil {
		return nil, err
	}
	c := &SSE{link: l, url: u, ready: make(chan struct{}), done: make(chan struct{})}
	c.life, c.end = context.WithCancel(context.Background())
	go func() {
		defer close(c.done)
		c.why = c.read()
	}()
	return c, nil
}

// Close ends the stream and the connections. Nobody may be sending any more.
func (c *SSE) Close() {
	c.end()
	<-c.done
	c.client.CloseIdleConnections()
}

// Done is closed when the stream has ended.
func (c *SSE) Done() <-chan struct{} { return c.done }

// Gone reports whether the stream has ended that was there, and how.
func (c *SSE) Gone() (how string, gone bool) {
	select {
	case <-c.done:
	default:
		return "", false
	}
	select {
	case <-c.ready:
	default:
		return "", false
	}
	if errors.Is(c.why, io.EOF) {
		return "it ended its stream", true
	}
	return c.why.Error(), true
}

// read takes what the stream brings and says how it ended.
func (c *SSE) read() error {
	r, err := http.NewRequestWithContext(c.life, http.MethodGet, c.url.String(), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", typeEvents)
	resp, err := c.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return mcpwire.NewStatusError(resp)
	case mediaType(resp) != typeEvents:
		return wrongType(resp)
	}
	stream := sse.NewReader(bufio.NewReader(resp.Body), c.opts.MaxFrame)
	for {
		ev, err := c.next(stream)
		if err != nil {
			return err
		}
		switch {
		case ev.Name == "endpoint":
			if err := c.address(string(ev.Data)); err != nil {
				return err
			}
		case IsMessage(ev):
			c.opts.Take(mcpwire.ParseAll(ev.Data))
		}
	}
}

// address takes the address that messages are to be sent to. One on another
// host would get our headers.
func (c *SSE) address(said string) error {
	if c.endpoint != "" {
		return nil
	}
	u, err := c.url.Parse(said)
	if err != nil || u.Host != c.url.Host || u.Scheme != c.url.Scheme {
		return fmt.Errorf("%w: it names %q as its address", mcpwire.ErrUnusable, said)
	}
	c.endpoint = u.String()
	close(c.ready)
	return nil
}

// Over is the error of a request that the end of the stream leaves without an
// answer.
func (c *SSE) Over() error {
	if _, gone := c.Gone(); gone {
		return mcpwire.ErrClosed
	}
	if errors.Is(c.why, io.EOF) {
		return fmt.Errorf("%w: the stream ended before it named an address", mcpwire.ErrUnusable)
	}
	return c.why
}

// Send sends a request. Its answer comes on the stream, unless the error says
// that none will come.
func (c *SSE) Send(ctx context.Context, m mcpwire.Message, header http.Header) error {
	err := c.post(ctx, m, header)
	var status *mcpwire.StatusError
	if !errors.As(err, &status) {
		return err
	}
	answer, answered := status.Message()
	if status.Code == http.StatusNotFound || answered && deniesSession(answer.Error) {
		return fmt.Errorf("%w: %w", ErrNoSession, err)
	}
	if answered {
		answer.ID = m.ID
		c.opts.Take([]mcpwire.Message{answer}, nil)
	}
	return err
}

// Tell sends what wants no answer.
func (c *SSE) Tell(ctx context.Context, m mcpwire.Message) error { return c.post(ctx, m, nil) }

// post sends a message to the server's address, once that is known.
func (c *SSE) post(ctx context.Context, m mcpwire.Message, header http.Header) error {
	select {
	case <-c.ready:
	case <-c.done:
		return c.Over()
	case <-ctx.Done():
		return ctx.Err()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(m.Frame))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", typeJSON)
	c.mu.Lock()
	if c.version != "" {
		r.Header.Set(mcpwire.HeaderVersion, c.version)
	}
	c.mu.Unlock()
	if version := describe(r.Header, m); version != "" {
		r.Header.Set(mcpwire.HeaderVersion, version)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := c.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return mcpwire.NewStatusError(resp)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // for the connection's sake
	return nil
}
