// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Tap is a round tripper whose requests and answers are looked at while they go
// by. It changes nothing of them but that answers are not compressed.
type Tap struct {
	Inner http.RoundTripper
	// Begin is shown a request with its body. What it returns is shown the rest.
	Begin func(r *http.Request, body []byte) Watcher
}

// Watcher is shown the answer to a request. It is not called concurrently.
type Watcher interface {
	// Head is shown the status and the headers.
	Head(resp *http.Response)
	// Event is shown an event of a stream, also one that only has an id or a
	// time to wait. One that is Last was ended by the end of the stream.
	Event(ev sse.Event)
	// Body is shown a body that is not a stream, to its end or up to
	// [mcpwire.DefaultMaxFrame] bytes.
	Body(body []byte)
	// End is told that there is no more: nil for a body that was whole, io.EOF
	// for a stream that ended, [ErrLeft] when the client closed it.
	End(err error)
	// Failed is told why there is no answer, in place of all else.
	Failed(err error)
}

var (
	// ErrLeft says that the client closed the body before its end.
	ErrLeft = errors.New("closed by the client")
	// ErrTooLong refuses a request that is longer than a message may be.
	ErrTooLong = errors.New("the message exceeds the size limit")
)

// RoundTrip sends a request on.
func (t *Tap) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(r.Body, mcpwire.DefaultMaxFrame+1))
		r.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case len(body) > mcpwire.DefaultMaxFrame:
			return nil, ErrTooLong
		}
	}
	w := t.Begin(r, body)
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	out.Header.Del("Accept-Encoding") // so that answers can be read
	resp, err := t.Inner.RoundTrip(out)
	if err != nil {
		w.Failed(err)
		return nil, err
	}
	resp.Request = r
	w.Head(resp)
	b := &watched{ReadCloser: resp.Body, w: w, json: mediaType(resp) == typeJSON}
	if mediaType(resp) == typeEvents {
		b.events = &sse.Parser{Max: mcpwire.DefaultMaxFrame, All: true, Each: w.Event}
	}
	resp.Body = b
	if b.events == nil && !b.json && (resp.ContentLength == 0 || resp.StatusCode == http.StatusNoContent) {
		b.finish(nil) // clients need not read what is not there
	}
	return resp, nil
}

// Following follows redirects that keep the message, to the same server: a client
// that followed them itself would go past the tap.
type Following struct{ Inner http.RoundTripper }

// RoundTrip sends a request, again for each redirect.
func (f Following) RoundTrip(req *http.Request) (*http.Response, error) {
	to := req.URL
	for range 10 {
		out := req.Clone(req.Context())
		if out.URL = to; to != req.URL && req.GetBody != nil {
			out.Body, _ = req.GetBody() // it has no errors
		}
		resp, err := f.Inner.RoundTrip(out)
		if err != nil {
			return nil, err
		}
		next, err := resp.Location()
		if err != nil || resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect || !redirect.Same(next, to) {
			return resp, nil
		}
		resp.Body.Close()
		to = next
	}
	return nil, errors.New("it redirects endlessly")
}

// watched is the body of an answer that is looked at while it goes by.
type watched struct {
	io.ReadCloser
	w      Watcher
	json   bool
	events *sse.Parser // nil for anything that is not a stream

	mu     sync.Mutex // guards the rest: Close may come from anywhere
	extent mcpwire.Extent
	part   []byte
	done   bool
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return n, err
	}
	whole := false
	if b.events != nil {
		b.events.Add(p[:n])
	} else {
		b.part = append(b.part, p[:min(n, mcpwire.DefaultMaxFrame+1-len(b.part))]...)
		whole = b.json && b.extent.Add(p[:n])
	}
	switch {
	case whole: // the client may go on before it reads the end of the body
		b.finish(nil)
	case err != nil:
		b.finish(err)
	}
	return n, err
}

// finish takes the end of the body. The caller holds mu, or has b alone.
func (b *watched) finish(err error) {
	if b.done {
		return
	}
	b.done = true
	switch {
	case b.events == nil:
		b.w.Body(b.part)
		if errors.Is(err, io.EOF) {
			err = nil // it goes without saying
		}
	case errors.Is(err, io.EOF):
		b.events.End()
	}
	b.w.End(err)
}

// Close closes the body.
func (b *watched) Close() error {
	b.mu.Lock()
	b.finish(ErrLeft)
	b.mu.Unlock()
	return b.ReadCloser.Close()
}
