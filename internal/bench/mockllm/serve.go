// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// The servers that are a child process of this program.
const (
	bare    = "bare"
	mock    = "mock"
	flushed = "flushed" // the mock, sending every event by itself
	alone   = "alone"   // the mock as a program of its own would have it
	paced   = "paced"
)

const tokensPerSecond = 50

// serve is what a child process does until its input ends.
func serve(kind string, fixture int, stdin io.Reader, stdout io.Writer) error {
	handler := handlerOf(kind, fixture)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, l.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // ends with the parent
		server.Close()
	}()
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func handlerOf(kind string, fixture int) http.Handler {
	switch kind {
	case alone:
		return newMock(mockllm.Reply{Say: "Sunny."}, nil)
	case paced:
		return newMock(mockllm.Reply{Say: strings.Repeat("so ", 10*tokensPerSecond)}, &mockllm.Options{TokensPerSecond: tokensPerSecond})
	}
	f := fixtures()[fixture]
	switch kind {
	case bare:
		return bareHandler(f)
	case flushed:
		return newMock(f.reply, &mockllm.Options{FlushEvents: true})
	}
	return newMock(f.reply, nil)
}

// newMock gives the same reply for ever.
func newMock(reply mockllm.Reply, opts *mockllm.Options) *mockllm.Mock {
	reply.Repeat = 1 << 40
	return mockllm.New(mockllm.Script{Replies: []mockllm.Reply{reply}, Arrival: true}, opts)
}

// bareHandler writes what the mock answers, a stream event by event, and does
// nothing else.
func bareHandler(f fixture) http.Handler {
	rec := httptest.NewRecorder()
	newMock(f.reply, nil).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(f.body)))
	header, writes := rec.Header(), [][]byte{rec.Body.Bytes()}
	if f.stream {
		writes = bytes.SplitAfter(bytes.TrimSuffix(rec.Body.Bytes(), []byte("\n\n")), []byte("\n\n"))
		writes[len(writes)-1] = append(writes[len(writes)-1], "\n\n"...)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h := w.Header()
		for k, v := range header {
			h[k] = v
		}
		for i, b := range writes {
			_, _ = w.Write(b)
			if i < len(writes)-1 {
				_ = http.NewResponseController(w).Flush() // of net/http, which can
			}
		}
	})
}
