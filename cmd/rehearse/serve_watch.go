// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// hangups are the hangup signals of a process, which end it unless a command
// takes them for something else. A nil one has none.
type hangups struct {
	taken atomic.Bool
	c     chan struct{}
}

func newHangups() *hangups { return &hangups{c: make(chan struct{}, 1)} }

// take has hangups sent to the channel from now on.
func (h *hangups) take() <-chan struct{} {
	if h == nil {
		return nil
	}
	h.taken.Store(true)
	return h.c
}

// pass hands a hangup on, if somebody has taken them. One that comes while
// another waits is the same.
func (h *hangups) pass() bool {
	if !h.taken.Load() {
		return false
	}
	select {
	case h.c <- struct{}{}:
	default:
	}
	return true
}

// ticker ticks every d.
func (p *process) ticker(d time.Duration) (ticks <-chan time.Time, stop func()) {
	if p.every != nil {
		return p.every(d)
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// sum stands for all that files hold.
type sum [sha256.Size]byte

// watcher knows when files have changed. A file may be looked at while it is
// written, so that a change counts once it has been there twice in a row.
type watcher struct {
	paths  []string
	read   []string // for these, as loading them says; other ones are a change
	served sum      // what was loaded last, or could not be
	last   sum      // what was seen last
}

func newWatcher(paths []string) *watcher {
	w := &watcher{paths: paths}
	w.served = w.look()
	w.last = w.served
	return w
}

// firstLoad loads for the first time: once to know all files that are read, and
// again, now that they are looked at.
func firstLoad[T any](w *watcher, load func() (T, error)) (T, error) {
	if v, err := load(); err != nil {
		return v, err
	}
	w.served = w.look()
	w.last = w.served
	return load()
}

// look sums up the files as they are. One that cannot be read is a change like
// any other; loading says what is wrong with it.
func (w *watcher) look() sum {
	h := sha256.New()
	add := func(name string) {
		data, err := plainfile.Read(name, plainfile.MaxResult)
		fmt.Fprintf(h, "%q %d %v\n", name, len(data), err)
		h.Write(data)
	}
	for _, path := range slices.Concat(w.paths, w.read) {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			add(path)
			continue
		}
		_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if ext := filepath.Ext(name); err == nil && !entry.IsDir() && (ext == ".yaml" || ext == ".yml") {
				add(name)
			}
			return nil
		})
	}
	return sum(h.Sum(nil))
}

// changed looks again and reports whether there is something new to load.
func (w *watcher) changed() bool {
	now := w.look()
	settled := now == w.last
	w.last = now
	return settled && now != w.served
}

// reload loads the files anew at each hangup and each change, which it looks
// for every so often, until ctx ends. load reads them and returns what puts
// them in place; failed is told when that could not be done.
func (w *watcher) reload(ctx context.Context, p *process, every time.Duration, hangups <-chan struct{}, load func() (func() error, error), failed func(error)) {
	var ticks <-chan time.Time
	if every > 0 {
		var stop func()
		ticks, stop = p.ticker(every)
		defer stop()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			w.last = w.look()
		case <-ticks:
			if !w.changed() {
				continue
			}
		}
		apply, err := load()
		if w.look() != w.last && ticks != nil {
			continue // written meanwhile; the next ticks will have it
		}
		w.served = w.last
		if err == nil {
			err = apply()
		}
		if err != nil {
			failed(err)
			p.logf("not loaded; the previous file is still served:\n%v", err)
			continue
		}
		p.logf("reloaded; all conversations start over")
	}
}
