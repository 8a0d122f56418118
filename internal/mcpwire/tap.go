// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
)

// Lines cuts what is written to it into lines. It may be used concurrently.
type Lines struct {
	// Each gets each line without its newline, and must not keep it. Of one that
	// is longer than [DefaultMaxFrame] it gets the beginning.
	Each func(line []byte)

	mu   sync.Mutex // guards part
	part []byte
}

// maxKept is the largest buffer that is kept for the next line.
const maxKept = 1 << 20

func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		l.part = append(l.part, line[:min(len(line), DefaultMaxFrame-len(l.part))]...)
		if !ended {
			break
		}
		l.Each(l.part)
		if l.part, p = l.part[:0], rest; cap(l.part) > maxKept {
			l.part = nil
		}
	}
	return n, nil
}

// Flush takes what is left for a line.
func (l *Lines) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.Each(l.part)
		l.part = nil
	}
}

// Tap is a connection to a server whose lines are looked at as they go by.
type Tap struct {
	io.ReadWriteCloser
	in, out *Lines
	ended   func()
	closed  atomic.Bool // by us
	over    atomic.Bool // ended by the server
}

// NewTap looks at a connection: in sees what is written, before the server can
// answer, and out what is read. ended is called when the server has ended the
// connection, unless we closed it before; nil calls nobody.
func NewTap(inner io.ReadWriteCloser, in, out *Lines, ended func()) *Tap {
	return &Tap{ReadWriteCloser: inner, in: in, out: out, ended: ended}
}

func (t *Tap) Write(p []byte) (int, error) {
	_, _ = t.in.Write(p) // it has no errors
	return t.ReadWriteCloser.Write(p)
}

func (t *Tap) Read(p []byte) (int, error) {
	n, err := t.ReadWriteCloser.Read(p)
	_, _ = t.out.Write(p[:n]) // it has no errors
	if err != nil && !t.closed.Load() && !t.over.Swap(true) && t.ended != nil {
		t.ended()
	}
	return n, err
}

// Close closes the connection.
func (t *Tap) Close() error {
	t.closed.Store(true)
	return t.ReadWriteCloser.Close()
}

// Ended reports whether the server has ended the connection.
func (t *Tap) Ended() bool { return t.over.Load() }

// Ending and Stderr describe the process behind the connection, see [Process].
// They are empty where there is none.

func (t *Tap) Ending() string {
	if p, ok := t.ReadWriteCloser.(ProcessConn); ok {
		return p.Ending()
	}
	return ""
}

func (t *Tap) Stderr() string {
	if p, ok := t.ReadWriteCloser.(ProcessConn); ok {
		return p.Stderr()
	}
	return ""
}
