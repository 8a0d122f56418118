// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// line is what an answer goes out by: net/http's writer, or the connection
// beneath it once an answer needs to break its rules.
type line interface {
	head(status int, raw http.Header) error
	write(p []byte) error
	flush() error
	// raw writes past the framing of the body.
	raw(p []byte) error
	// end ends the body properly.
	end(stream bool) error
	// cut closes the connection without the end of the body.
	cut()
	// reset closes it as a machine does that has lost its memory.
	reset()
	// wait blocks until the client goes away or ctx ends.
	wait(ctx context.Context)
	// hijack returns the line beneath. begun says that the head was sent.
	hijack(begun bool) (line, error)
}

// responseLine writes by net/http.
type responseLine struct{ w http.ResponseWriter }

func (l responseLine) head(status int, _ http.Header) error {
	l.w.WriteHeader(status)
	return nil
}

func (l responseLine) write(p []byte) error {
	_, err := l.w.Write(p)
	return err
}

// flush hands what was sent to the network. A writer that cannot is left to
// its own pace.
func (l responseLine) flush() error {
	err := http.NewResponseController(l.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

func (l responseLine) raw([]byte) error { return errors.New("writing raw bytes past net/http") }

func (l responseLine) end(stream bool) error {
	if stream {
		return nil
	}
	return l.flush() // the length is known: nothing is left to write after this
}

func (l responseLine) cut() {
	panic(http.ErrAbortHandler)
}

func (l responseLine) reset() {
	raw, err := l.hijack(false)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	raw.reset()
}

func (l responseLine) wait(ctx context.Context) { <-ctx.Done() }

func (l responseLine) hijack(begun bool) (line, error) {
	if begun {
		if err := l.flush(); err != nil {
			return nil, err
		}
	}
	h := l.w.Header()
	chunked := h.Get("Transfer-Encoding") == "chunked" || h.Get("Content-Length") == ""
	conn, _, err := http.NewResponseController(l.w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("taking the connection for an answer that net/http cannot write: %w", err)
	}
	return &connLine{conn: conn, chunked: begun && chunked}, nil
}

// connLine writes to the connection itself.
type connLine struct {
	conn    net.Conn
	chunked bool
}

func (l *connLine) head(status int, h http.Header) error {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", status, http.StatusText(status))
	if err := h.Write(&b); err != nil {
		return err
	}
	b.WriteString("\r\n")
	l.chunked = strings.EqualFold(h.Get("Transfer-Encoding"), "chunked")
	return l.raw([]byte(b.String()))
}

func (l *connLine) write(p []byte) error {
	if !l.chunked || len(p) == 0 {
		return l.raw(p)
	}
	b := fmt.Appendf(nil, "%x\r\n", len(p))
	return l.raw(append(append(b, p...), '\r', '\n'))
}

func (l *connLine) raw(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := l.conn.Write(p)
	return err
}

func (l *connLine) flush() error { return nil }

// end closes the connection too: whether it could be kept depends on what was
// broken.
func (l *connLine) end(bool) error {
	var err error
	if l.chunked {
		err = l.raw([]byte("0\r\n\r\n"))
	}
	l.cut()
	return err
}

func (l *connLine) cut() { _ = l.conn.Close() } // there is nobody to tell

// resetter is a connection in memory that can be reset.
type resetter interface{ reset() }

func (l *connLine) reset() {
	conn := l.conn
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = c.NetConn()
	}
	switch c := conn.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0)
		_ = c.Close()
		return
	case resetter:
		c.reset()
	}
	l.cut()
}

func (l *connLine) wait(ctx context.Context) {
	stop := context.AfterFunc(ctx, l.cut)
	defer stop()
	_, _ = io.Copy(io.Discard, l.conn) // until either end closes
}

func (l *connLine) hijack(bool) (line, error) { return l, nil }
