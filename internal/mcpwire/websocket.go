// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// Subprotocol is what both ends of a WebSocket name when it carries messages,
// one in each text frame.
const Subprotocol = "mcp"

// Socket makes a pipe of a WebSocket, so that [Reader] and [Writer] work over
// it: a message that comes is read as one line, and each line written goes
// out as one message.
type Socket struct {
	conn *websocket.Conn
	life context.Context
	end  context.CancelFunc
	// message is what is left of the message being read.
	message io.Reader
}

// closeWait is how long Close waits for the peer's side of the handshake.
const closeWait = time.Second

// NewSocket returns a pipe over conn, which it takes over.
func NewSocket(conn *websocket.Conn) *Socket {
	conn.SetReadLimit(-1) // the Reader above has a limit, and goes on behind it
	life, end := context.WithCancel(context.Background())
	return &Socket{conn: conn, life: life, end: end}
}

// AcceptSocket answers a request that asks for a WebSocket. It takes clients
// that name no subprotocol. Where the request came from is for the caller to
// look at: see [Foreign].
func AcceptSocket(w http.ResponseWriter, r *http.Request) (*Socket, error) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Subprotocol}, InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	return NewSocket(conn), nil
}

// Read reads from the current message, and a newline at its end. A peer that
// closed in order is io.EOF. It is for one goroutine.
func (s *Socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.message == nil {
		_, r, err := s.conn.Reader(s.life)
		if err != nil {
			return 0, closing(err)
		}
		s.message = r
	}
	n, err := s.message.Read(p)
	for i := bytes.IndexByte(p[:n], '\n'); i >= 0; i = bytes.IndexByte(p[:n], '\n') {
		p[i] = ' ' // white space between tokens: inside a string it is escaped
	}
	switch {
	case errors.Is(err, io.EOF) && n < len(p):
		s.message = nil
		p[n] = '\n'
		return n + 1, nil
	case errors.Is(err, io.EOF):
		return n, nil // the next read finds the end again
	case err != nil:
		return n, closing(err)
	}
	return n, nil
}

// Write sends one line as one message.
func (s *Socket) Write(line []byte) (int, error) {
	if err := s.conn.Write(s.life, websocket.MessageText, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
		return 0, closing(err)
	}
	return len(line), nil
}

// Close says goodbye, waits a moment for the peer's, and ends the connection.
func (s *Socket) Close() error {
	late := time.AfterFunc(closeWait, s.end)
	defer late.Stop()
	defer s.end()
	_ = s.conn.Close(websocket.StatusNormalClosure, "") // the peer may be gone already
	return nil
}

// Abort closes the connection without a close frame.
func (s *Socket) Abort() {
	s.end()
	_ = s.conn.CloseNow() // as above
}

func closing(err error) error {
	var e websocket.CloseError
	switch {
	case errors.Is(err, io.EOF) && !errors.As(err, &e):
		return errors.New("the WebSocket was closed without a close frame")
	case !errors.As(err, &e):
		return err
	case e.Code == websocket.StatusNormalClosure || e.Code == websocket.StatusGoingAway:
		return io.EOF
	case e.Reason == "":
		return fmt.Errorf("the WebSocket was closed with %v", e.Code)
	}
	return fmt.Errorf("the WebSocket was closed with %v: %s", e.Code, e.Reason)
}
