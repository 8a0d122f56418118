// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport carries requests to the mock in memory, whatever their host.
func (m *Mock) Transport() http.RoundTripper { return transport{m} }

type transport struct{ m *Mock }

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
	w := &pipeWriter{header: make(http.Header), pipe: pw, ready: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer r.Body.Close()
		defer stop()
		defer func() {
			switch p := recover(); p {
			case nil:
				w.WriteHeader(http.StatusOK)
				pw.Close()
			case http.ErrAbortHandler:
				w.WriteHeader(http.StatusOK)
				pw.CloseWithError(io.ErrUnexpectedEOF)
			default:
				panic(p)
			}
		}()
		t.m.ServeHTTP(w, r)
	}()
	select {
	case <-w.ready:
	case <-ctx.Done():
		err := context.Cause(ctx)
		cancel()
		return nil, err
	}
	length, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, ContentLength: length, Request: req,
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
	header, sent http.Header
	pipe         *io.PipeWriter
	once         sync.Once
	status       int
	ready        chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		w.sent.Del("Transfer-Encoding") // of a connection
		close(w.ready)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush has nothing to do: what is written is read.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
