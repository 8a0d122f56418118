// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// printed is standard output. It keeps the first error of a write, for commands
// that print their result and go on: a result that is lost is no success. What
// follows the error is not written, as there would be a gap.
type printed struct {
	w io.Writer

	mu  sync.Mutex // guards err
	err error
}

func (o *printed) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	var n int
	n, o.err = o.w.Write(b)
	return n, o.err
}

func (o *printed) Close() error { return closeStream(o.w) }

// lost is why something was not printed; nil where all was.
func (o *printed) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// lost is why something that a command printed was not written.
func (p *process) lost() error {
	if o, ok := p.stdout.(*printed); ok {
		return o.lost()
	}
	return nil
}

// unkept is what w writes to where an error is no loss of a result: a reader that
// leaves ends a protocol so, and who read the address of a server needs no more.
func unkept(w io.Writer) io.Writer {
	if o, ok := w.(*printed); ok {
		return o.w
	}
	return w
}

// printJSON prints what --json does: indented, and with < > & as they are.
func printJSON(w io.Writer, v any) error {
	b, err := exactjson.MarshalIndent(v, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
