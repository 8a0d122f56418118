// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// drain writes to another writer and never waits for it: a mock whose standard
// error nobody reads must not stop answering. What the reader does not take is
// kept up to a limit and then left out, which is said when it reads again.
type drain struct {
	w io.Writer

	mu      sync.Mutex // guards what follows
	queue   [][]byte
	size    int
	left    int           // lines that were left out
	writing bool          // a goroutine writes the queue
	empty   chan struct{} // closed when all is written; nil when nobody waits
}

// drainLimit is how much is kept of what nobody reads.
const drainLimit = 1 << 20

func (d *drain) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size+len(b) > drainLimit {
		d.left += max(bytes.Count(b, []byte("\n")), 1)
		return len(b), nil
	}
	d.queue, d.size = append(d.queue, bytes.Clone(b)), d.size+len(b)
	if !d.writing {
		d.writing = true
		go d.run()
	}
	return len(b), nil
}

// run writes what there is, and ends.
func (d *drain) run() {
	for {
		d.mu.Lock()
		if len(d.queue) == 0 && d.left > 0 {
			d.queue, d.left = append(d.queue, fmt.Appendf(nil, "rehearse: %s dropped, because nobody read standard error\n", prose.Count(d.left, "line"))), 0
		}
		if len(d.queue) == 0 {
			d.writing = false
			if d.empty != nil {
				close(d.empty)
				d.empty = nil
			}
			d.mu.Unlock()
			return
		}
		next := d.queue[0]
		d.queue = d.queue[1:]
		d.mu.Unlock()
		_, _ = d.w.Write(next) // there is nobody to tell
		d.mu.Lock()
		d.size = max(d.size-len(next), 0)
		d.mu.Unlock()
	}
}

// flush waits until all is written, or for so long.
func (d *drain) flush(patience time.Duration) {
	d.mu.Lock()
	if !d.writing {
		d.mu.Unlock()
		return
	}
	if d.empty == nil {
		d.empty = make(chan struct{})
	}
	empty := d.empty
	d.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-empty:
	case <-late.C:
	}
}
