// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/llmwire"
)

// send writes a body at the pace of the options, and records whether all of
// it was delivered.
func (m *Mock) send(x *exchange, b *llmwire.Body) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	s := &sender{x: x, body: b, ctx: ctx, buf: buf, line: responseLine{x.w}}
	if m.opts.Jitter > 0 && m.paced() {
		s.jitter = m.source("jitter " + x.spokenID() + strconv.Itoa(x.attempt))
	}
	if b.Writes > 0 {
		s.cuts = m.source("writes " + x.spokenID() + strconv.Itoa(x.attempt))
	}
	if err := s.run(); err != nil {
		s.line.cut() // a reply cut short must not look whole
	}
}

func (x *exchange) spokenID() string {
	if x.spoken == nil {
		return strconv.Itoa(x.seq)
	}
	return x.spoken.id
}

// sender is one body on its way.
type sender struct {
	x      *exchange
	body   *llmwire.Body
	ctx    context.Context
	buf    *bytes.Buffer // due, but not sent
	line   line
	begun  bool       // the head was sent
	jitter *rand.Rand // nil without
	pace   pace
	cuts   *rand.Rand // of writes; nil without
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
		if f.Then != llmwire.Next {
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
		if f.Raw || f.Then != llmwire.Next && i < len(b.Frames)-1 {
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
		return s.ctx.Err()
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
func (s *sender) then(t llmwire.Then) error {
	if t == llmwire.End {
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
	case llmwire.Hang:
		return s.hang()
	case llmwire.Reset:
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
	if x.met == nil {
		x.served.clean += n
	}
}
