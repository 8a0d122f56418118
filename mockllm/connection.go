// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// flush sends what is due.
func (s *sender) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	if err := s.write(true); err != nil {
		return err
	}
	return s.line.flush()
}

// raw writes p past the framing of the body.
func (s *sender) raw(p []byte) error {
	if err := s.head(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	line, err := s.line.hijack(true)
	if err != nil {
		return err
	}
	s.line = line
	return line.raw(p)
}

// then does what follows a frame.
func (s *sender) then(t dialect.Then) error {
	if t == dialect.ThenEnd {
		return s.end()
	}
	if err := s.flush(); err != nil {
		return err
	}
	if s.begun { // the writes before may not have been flushed
		if err := s.line.flush(); err != nil {
			return err
		}
	}
	switch t {
	case dialect.ThenHang:
		return s.hang()
	case dialect.ThenReset:
		s.line.reset()
	default:
		s.line.cut()
	}
	return nil
}

// hang sends nothing more until the client goes away. A clock that skips waits
// is told of this one.
func (s *sender) hang() error {
	ctx, gone := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer gone()
		s.line.wait(s.ctx)
	}()
	_ = s.x.m.opts.Clock.Sleep(ctx, hangTime)
	<-done
	return context.Canceled
}

// pace says when the next piece is due. It is counted from the first one, so
// that what sleeping and writing take too long does not add up.
type pace struct{ due time.Time }

// sleep lets t pass since the piece before was due.
func (p *pace) sleep(ctx context.Context, clock harness.Clock, t time.Duration) error {
	now := clock.Now()
	if p.due.IsZero() {
		p.due = now
	}
	p.due = p.due.Add(t)
	if t = p.due.Sub(now); t <= 0 {
		return ctx.Err()
	}
	return clock.Sleep(ctx, t)
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
	if c, ok := conn.(*tls.Conn); ok {
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
