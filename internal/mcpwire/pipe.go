// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"io"
	"sync"
)

// pipeBuffer is how much one direction of a pipe holds before a write waits.
// A pipe of the operating system holds 64 KiB.
const pipeBuffer = 64 << 10

// Pipe returns the two ends of an in-memory connection, each direction
// buffered like a pipe of the operating system, so that two peers that write
// at the same time do not block each other. Closing an end ends both
// directions: the other end reads what was written, then io.EOF, and its
// writes fail with io.ErrClosedPipe.
func Pipe() (a, b *PipeEnd) {
	there, back := newHalf(), newHalf()
	return &PipeEnd{in: back, out: there}, &PipeEnd{in: there, out: back}
}

// PipeEnd is one end of a [Pipe].
type PipeEnd struct{ in, out *half }

func (e *PipeEnd) Read(p []byte) (int, error)  { return e.in.read(p) }
func (e *PipeEnd) Write(p []byte) (int, error) { return e.out.write(p) }

// Room reports whether n bytes can be written without a wait, as long as nobody
// else writes.
func (e *PipeEnd) Room(n int) bool {
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	return len(e.out.buf)+n <= pipeBuffer
}

// AllRead reports whether all that the other end has written was read here, and
// whoever reads has come back for more.
func (e *PipeEnd) AllRead() bool {
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	return len(e.in.buf) == 0 && (e.in.reading > 0 || e.in.eof || e.in.gone)
}

// Drain ends both directions, but what the other end has written by now is
// still read.
func (e *PipeEnd) Drain() {
	e.in.close(false)
	e.out.close(false)
}

func (e *PipeEnd) Close() error {
	e.in.close(true)
	e.out.close(false)
	return nil
}

// half is one direction of a pipe.
type half struct {
	mu     sync.Mutex // guards the fields below
	change *sync.Cond
	buf    []byte
	eof    bool // no more will be written
	gone   bool // nobody will read
	// reading counts those who wait for something to read.
	reading int
}

func newHalf() *half {
	h := &half{}
	h.change = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.buf) == 0 {
		switch {
		case h.gone:
			return 0, io.ErrClosedPipe
		case h.eof:
			return 0, io.EOF
		}
		h.reading++
		h.change.Wait()
		h.reading--
	}
	n := copy(p, h.buf)
	h.buf = h.buf[n:]
	h.change.Broadcast()
	return n, nil
}

func (h *half) write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(p) > 0 {
		for len(h.buf) >= pipeBuffer && !h.eof && !h.gone {
			h.change.Wait()
		}
		if h.eof || h.gone {
			return n, io.ErrClosedPipe
		}
		k := min(len(p), pipeBuffer-len(h.buf))
		h.buf = append(h.buf, p[:k]...)
		p, n = p[k:], n+k
		h.change.Broadcast()
	}
	return n, nil
}

func (h *half) close(byReader bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if byReader {
		h.gone, h.buf = true, nil
	} else {
		h.eof = true
	}
	h.change.Broadcast()
}
