// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

// Transport carries requests to the mock in memory, whatever their host.
func (m *Mock) Transport() http.RoundTripper { return transport{m} }

type transport struct{ http.Handler }

// RoundTrip runs the handler in a goroutine, which ends when the reply was
// read or its body closed, or when the request's context ends.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	r := req.Clone(ctx)
	r.RequestURI = req.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipeWriter{ctx: ctx, header: make(http.Header), pipe: pw, ready: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer r.Body.Close()
		defer stop()
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
			switch {
			case w.hijacked:
				w.received.Wait()
			case p == nil:
				w.WriteHeader(http.StatusOK)
				pw.Close()
			case ctx.Err() != nil: // which is why
				w.fail(context.Cause(ctx))
			default:
				w.fail(io.ErrUnexpectedEOF)
			}
		}()
		t.ServeHTTP(w, r)
	}()
	select {
	case <-w.ready:
	case <-ctx.Done():
		err := context.Cause(ctx)
		cancel()
		return nil, err
	}
	if w.failed != nil {
		cancel()
		return nil, w.failed
	}
	return &http.Response{
		Status:     fmt.Sprintf("%03d %s", w.status, http.StatusText(w.status)),
		StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, ContentLength: w.length, Request: req,
		Body: &pipeBody{PipeReader: pr, cancel: cancel},
	}, nil
}

// pipeBody ends the request when it is closed.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *pipeBody) Read(p []byte) (int, error) {
	n, err := b.PipeReader.Read(p)
	if err != nil {
		b.cancel()
	}
	return n, err
}

func (b *pipeBody) Close() error {
	err := b.PipeReader.Close()
	b.cancel()
	return err
}

// pipeWriter is the server's end.
type pipeWriter struct {
	ctx    context.Context
	header http.Header
	pipe   *io.PipeWriter
	once   sync.Once
	ready  chan struct{} // closed once what follows is set
	status int
	sent   http.Header
	length int64
	failed error // there is no answer

	hijacked bool
	received sync.WaitGroup
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	length, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	w.head(status, w.header.Clone(), length)
}

func (w *pipeWriter) head(status int, h http.Header, length int64) {
	w.once.Do(func() {
		h.Del("Transfer-Encoding") // of a connection
		w.status, w.sent, w.length = status, h, length
		close(w.ready)
	})
}

// fail ends the answer before its end. Without a head there is none at all.
func (w *pipeWriter) fail(err error) {
	w.once.Do(func() {
		w.failed = err
		if errors.Is(err, io.ErrUnexpectedEOF) {
			w.failed = io.EOF // as a client says when nothing came
		}
		close(w.ready)
	})
	w.pipe.CloseWithError(err)
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush has nothing to do: what is written is read.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

// Hijack returns a connection whose other end reads what is written there as a
// client of net/http reads it: the head, if none was sent, and the body in its
// framing.
func (w *pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	server, client := net.Pipe()
	conn := &memoryConn{Conn: server}
	w.hijacked = true
	w.received.Go(func() {
		defer client.Close()
		defer context.AfterFunc(w.ctx, func() { client.Close() })()
		err := w.receive(client)
		switch {
		case w.ctx.Err() != nil: // which is why
			w.fail(context.Cause(w.ctx))
		case conn.wasReset.Load():
			w.fail(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
		case err != nil:
			w.fail(err)
		default:
			w.pipe.Close()
		}
	})
	return conn, nil, nil
}

func (w *pipeWriter) receive(client net.Conn) error {
	var body io.Reader = client
	select {
	case <-w.ready:
		if w.length < 0 {
			body = httputil.NewChunkedReader(client)
		}
	default:
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		w.head(resp.StatusCode, resp.Header, resp.ContentLength)
		body = resp.Body
	}
	_, err := io.Copy(w.pipe, body)
	return err
}

// memoryConn is the server's end of a connection that was taken over.
type memoryConn struct {
	net.Conn
	wasReset atomic.Bool
}

func (c *memoryConn) reset() {
	c.wasReset.Store(true)
	_ = c.Close()
}
