// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// sockets returns the two ends of a WebSocket.
func sockets(t *testing.T) (client, server *mcpwire.Socket) {
	t.Helper()
	accepted, done := make(chan *mcpwire.Socket, 1), make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{mcpwire.Subprotocol}})
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- mcpwire.NewSocket(conn)
		<-done
	}))
	t.Cleanup(h.Close)
	conn, _, err := websocket.Dial(t.Context(), h.URL, &websocket.DialOptions{Subprotocols: []string{mcpwire.Subprotocol}})
	if err != nil {
		t.Fatal(err)
	}
	client, server = mcpwire.NewSocket(conn), <-accepted
	t.Cleanup(func() {
		client.Abort()
		server.Abort()
		close(done)
	})
	return client, server
}

func TestSocketCarriesLines(t *testing.T) {
	client, server := sockets(t)
	long := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 100_000) + `"}`
	w, r := mcpwire.NewWriter(client), mcpwire.NewReader(server, &mcpwire.ReaderOptions{MaxFrame: 150_000})
	frames := []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, long, strings.Repeat("y", 200_000), "{\n \"method\":\r\n \"ping\"\n}"}
	go func() {
		for _, frame := range frames {
			_ = w.Write([]byte(frame))
		}
		client.Close()
	}()
	for _, frame := range []string{frames[0], frames[1], "", "{  \"method\":\r  \"ping\" }"} {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		if frame == "" {
			if !errors.As(err, &junk) || !strings.Contains(err.Error(), "longer than 150000 bytes") {
				t.Errorf("a message that is too long: %v", err)
			}
			continue
		}
		if err != nil || string(m.Frame) != frame {
			t.Errorf("got %.60q, %v, want %.60q", m.Frame, err, frame)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if _, err := server.Write([]byte("{}\n")); err == nil {
		t.Error("wrote to a peer that has closed")
	}
}

func TestSocketTellsWhyItWasClosed(t *testing.T) {
	client, server := sockets(t)
	server.Abort()
	if _, err := client.Read(make([]byte, 10)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that broke: %v", err)
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			conn.Close(websocket.StatusInternalError, "out of models")
		}
	}))
	defer h.Close()
	conn, _, err := websocket.Dial(t.Context(), h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := mcpwire.NewSocket(conn)
	defer s.Close()
	if _, err := s.Read(make([]byte, 10)); err == nil || err.Error() != "the WebSocket was closed with StatusInternalError: out of models" {
		t.Errorf("got %v", err)
	}
}
