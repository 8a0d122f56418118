// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"sync"
	"time"
)

// deadline is a time limit that does not count the time for which rehearse
// itself holds requests back.
type deadline struct {
	mu      sync.Mutex // guards the rest
	timer   *time.Timer
	holding int // requests that are held back
	since   time.Time
	sum     time.Duration // for which requests were held back before
	granted time.Duration // of it, added to the limit
	stopped bool
}

// leastHeld is what counts as held back: each request takes some time.
const leastHeld = 10 * time.Millisecond

// start calls expired once the limit has passed.
func (d *deadline) start(limit time.Duration, expired func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(limit, func() {
		if !d.extend() {
			expired()
		}
	})
}

// extend adds what was held back since the last time, and reports whether the
// limit has not passed after all.
func (d *deadline) extend() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	more := d.heldSoFar() - d.granted
	if more < leastHeld || d.stopped {
		return d.stopped
	}
	d.granted += more
	d.timer.Reset(more)
	return true
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}

// hold stops the limit until release is called.
func (d *deadline) hold() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holding++; d.holding == 1 {
		d.since = time.Now()
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.holding--; d.holding == 0 {
			d.sum += time.Since(d.since)
		}
	}
}

// held is the time for which requests were held back.
func (d *deadline) held() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heldSoFar()
}

func (d *deadline) heldSoFar() time.Duration {
	if d.holding > 0 {
		return d.sum + time.Since(d.since)
	}
	return d.sum
}
