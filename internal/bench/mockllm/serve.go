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
	timer   = "timer" // a bare handler that is paced

	// before follows the kind of a server that another build of this program is.
	before = " before"
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
		return newMock(longTalk(), &mockllm.Options{TokensPerSecond: tokensPerSecond})
	case timer:
		return timerHandler()
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
	m, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{reply}, Arrival: true}, opts)
	if err != nil {
		panic(err) // the script is ours
	}
	return m
}

// longTalk is a reply that takes a minute.
func longTalk() mockllm.Reply {
	return mockllm.Reply{Say: strings.Repeat("so ", 60*tokensPerSecond)}
}

// timerHandler writes what the mock answers, an event each time one is due.
func timerHandler() http.Handler {
	events := bareEvents(fixture{stream: true, reply: longTalk(), body: request(`{"role":"user","content":"Talk."}`, `,"stream":true`)})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		for i, b := range events {
			t := time.NewTimer(time.Until(begin.Add(time.Duration(i) * time.Second / tokensPerSecond)))
			select {
			case <-t.C:
			case <-r.Context().Done():
				t.Stop()
				return
			}
			_, _ = w.Write(b)
			_ = http.NewResponseController(w).Flush()
		}
	})
}

// bareHandler writes what the mock answers, a stream event by event, and does
// nothing else.
func bareHandler(f fixture) http.Handler {
	rec := answer(f)
	header, writes := rec.Header(), [][]byte{rec.Body.Bytes()}
	if f.stream {
		writes = bareEvents(f)
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

func answer(f fixture) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	newMock(f.reply, nil).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(f.body)))
	return rec
}

// bareEvents are the events of a streamed reply.
func bareEvents(f fixture) [][]byte {
	events := bytes.SplitAfter(answer(f).Body.Bytes(), []byte("\n\n"))
	return events[:len(events)-1] // nothing follows the last
}
