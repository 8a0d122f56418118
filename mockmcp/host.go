// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"net"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// TB is the part of [testing.TB] that [NewServer] needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// HTTPServer is a [Server] on a loopback port of its own.
type HTTPServer struct {
	*Server
	URL string // of streamable HTTP; ends in /mcp
	SSE string // of HTTP+SSE; ends in /sse
	WS  string // of the WebSocket; ends in /ws
}

// NewServer starts a server for a test on a loopback port, over all that HTTP
// carries. When the test ends it is closed. The test fails when no scripted result
// fitted a call, and when the script fails.
func NewServer(t TB, script Script) *HTTPServer {
	t.Helper()
	s, err := New(script, nil)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("mock server %q: %v", script.Name, err)
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler())
	mux.Handle("/sse", s.SSEHandler())
	mux.Handle("/message", s.SSEHandler())
	mux.Handle("/ws", s.WSHandler())
	mux.Handle(metadataPath+"/", s.Handler())
	h := gate.Rules{}.Server(mux)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.Serve(listener) // until Close
	}()
	t.Cleanup(func() {
		t.Helper()
		s.Close()
		h.Close()
		<-served
		if err := s.Err(); err != nil {
			t.Errorf("mock server %q: %v", script.Name, err)
		}
	})
	at := "://" + listener.Addr().String()
	return &HTTPServer{Server: s, URL: "http" + at + "/mcp", SSE: "http" + at + "/sse", WS: "ws" + at + "/ws"}
}
