// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// send writes a body at the pace of the options, and records whether all of
// it was delivered.
func (m *Mock) send(x *exchange, b *dialect.Body) {
	s := &x.sender
	s.direct.w = x.w
	s.x, s.body, s.ctx, s.line, s.buf = x, b, x.r.Context(), &s.direct, buffers.Get().(*bytes.Buffer)
	defer putBuffer(s.buf)
	if x.mayWait(b) {
		var cancel context.CancelFunc
		s.ctx, cancel = context.WithCancel(s.ctx)
		defer cancel()
		defer context.AfterFunc(m.ctx, cancel)()
	}
	if m.opts.Jitter > 0 && m.paced() {
		s.jitter = m.source("jitter " + x.givenID() + strconv.Itoa(x.attempt))
	}
	if b.Writes > 0 {
		s.cuts = m.source("writes " + x.givenID() + strconv.Itoa(x.attempt))
	}
	if err := s.run(); err != nil {
		s.line.cut() // a reply cut short must not look whole
	}
}

// mayWait reports whether a body may take longer than it takes to write it.
func (x *exchange) mayWait(b *dialect.Body) bool {
	return x.m.paced() || b.HeadDelay > 0 ||
		slices.ContainsFunc(b.Frames, func(f dialect.Frame) bool { return f.Delay > 0 || f.Then != dialect.ThenNext })
}

func (x *exchange) givenID() string {
	if x.given == nil {
		return strconv.Itoa(x.seq)
	}
	return x.given.id
}

// sender is one body on its way.
type sender struct {
	x      *exchange
	body   *dialect.Body
	ctx    context.Context
	buf    *bytes.Buffer // due, but not sent
	line   line
	begun  bool       // the head was sent
	jitter *rand.Rand // nil without
	pace   pace
	cuts   *rand.Rand // of writes; nil without
	direct responseLine
	whole  []byte // all of the body, where nothing is to be said on the way
}

func (s *sender) run() error {
	m, b := s.x.m, s.body
	s.header()
	if b.RawHead {
		raw, err := s.line.hijack(false)
		if err != nil {
			return err
		}
		s.line = raw
	}
	if err := s.wait(b.HeadDelay, 0); err != nil {
		return err
	}
	if b.EarlyHead {
		if err := s.head(); err != nil {
			return err
		}
		if err := s.line.flush(); err != nil {
			return err
		}
	}
	if err := s.wait(0, m.opts.TimeToFirstToken); err != nil {
		return err
	}
	if s.whole = s.x.untouched(b); s.whole != nil {
		return s.end()
	}
	for i := range b.Frames {
		f := &b.Frames[i]
		if err := s.wait(f.Delay, m.tokenTime()*time.Duration(f.Tokens)); err != nil {
			return err
		}
		if f.Raw {
			if err := s.raw(f.Data); err != nil {
				return err
			}
		} else {
			s.buf.Write(f.Data)
		}
		if f.Then != dialect.ThenNext {
			return s.then(f.Then)
		}
		if (m.opts.FlushEvents || f.Flush) && i < len(b.Frames)-1 {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return s.end()
}

// untouched returns all of a body in one, where it is as the dialect wrote it and
// goes out at once; else nil.
func (x *exchange) untouched(b *dialect.Body) []byte {
	if x.buffers == nil || x.struckBy != nil || x.proxied != nil || x.m.paced() || x.m.opts.FlushEvents || b.Writes > 0 ||
		x.style.PiecePause > 0 || x.style.Habits.IDs != "" || len(b.Frames) == 0 {
		return nil
	}
	all, n := x.buffers.Bytes, 0
	for i := range b.Frames {
		n += len(b.Frames[i].Data)
	}
	if n == 0 || n != len(all) || &b.Frames[0].Data[0] != &all[0] { // it has moved while it grew
		return nil
	}
	return all
}

// header sets the headers that follow from the body.
func (s *sender) header() {
	h, b := s.x.w.Header(), s.body
	s.x.m.common(s.x)
	for k, v := range b.Header {
		if v == nil {
			delete(h, k)
		} else {
			h[k] = v
		}
	}
	if b.RawHead {
		return
	}
	if b.Stream {
		// Said here, since net/http would find out the length of a short one.
		h["Transfer-Encoding"] = s.x.m.headers.chunked
		return
	}
	n := 0
	for i, f := range b.Frames {
		if f.Raw || f.Then != dialect.ThenNext && i < len(b.Frames)-1 {
			return
		}
		n += len(f.Data)
	}
	h["Content-Length"] = []string{strconv.Itoa(n)}
}

func (s *sender) head() error {
	if s.begun {
		return nil
	}
	s.begun = true
	return s.line.head(cmp.Or(s.body.Status, http.StatusOK), s.body.Header)
}

// wait lets a fixed time pass, and one that the jitter changes. What is due
// is sent before.
func (s *sender) wait(fixed, paced time.Duration) error {
	if s.jitter != nil && paced > 0 {
		paced = time.Duration(float64(paced) * (1 + s.x.m.opts.Jitter*(2*s.jitter.Float64()-1)))
	}
	if fixed+paced <= 0 {
		return nil // the end asks whether the client is still there
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.pace.sleep(s.ctx, s.x.m.opts.Clock, fixed+paced)
}

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

// write hands what is due to the line, in pieces when the body says so. With
// push, the last piece is flushed by the caller.
func (s *sender) write(push bool) error {
	if err := s.head(); err != nil {
		return err
	}
	defer s.buf.Reset()
	p := s.buf.Bytes()
	if s.whole != nil {
		p = s.whole
	}
	for s.cuts != nil && len(p) > 1 {
		n := 1 + s.cuts.IntN(s.body.Writes)
		if n >= len(p) {
			break
		}
		if err := s.line.write(p[:n]); err != nil {
			return err
		}
		if err := s.line.flush(); err != nil {
			return err
		}
		p = p[n:]
	}
	if len(p) == 0 && !push {
		return nil
	}
	return s.line.write(p)
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

// end sends the rest and the proper end. The reply counts as delivered before
// that, since the client may ask again before this goroutine runs on.
func (s *sender) end() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if !s.body.Part {
		s.x.settle(true)
	}
	err := s.write(false)
	if err == nil {
		err = s.line.end(s.body.Stream)
	}
	if err != nil && !s.body.Part {
		s.x.settle(false)
	}
	return err
}

// settle records that the reply was delivered, or takes that back.
func (x *exchange) settle(delivered bool) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.settled(delivered)
}

// settled is settle while Mock.mu is held.
func (x *exchange) settled(delivered bool) {
	x.delivered = delivered
	x.duration = x.m.opts.Clock.Now().Sub(x.start)
	if x.served == nil {
		return
	}
	n := 1
	if !delivered {
		n = -1
	}
	x.served.delivered += n
	if x.struckBy == nil {
		x.served.clean += n
	}
}

func (m *Mock) paced() bool { return m.opts.TimeToFirstToken > 0 || m.opts.TokensPerSecond > 0 }

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

// tokenTime is how long one piece takes.
func (m *Mock) tokenTime() time.Duration {
	if m.opts.TokensPerSecond <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / m.opts.TokensPerSecond)
}

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
