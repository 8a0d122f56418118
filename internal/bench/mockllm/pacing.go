// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// pacing prints how far the events of many streams are from when they are due,
// as a client sees it that shares the machine: the n-th is due so many token
// times after the first. A bare handler with a timer tells the machine's part.
func (b *bench) pacing(out io.Writer) error {
	fmt.Fprintf(out, "pacing error of %d streams at %d tokens per second, for %v each\n", b.streams, tokensPerSecond, b.paced)
	var p99 [2]float64
	for i, kind := range []string{timer, paced} {
		c, err := b.start(kind, 0)
		if err != nil {
			return err
		}
		off, err := b.read(c)
		c.stop()
		if err != nil {
			return fmt.Errorf("reading paced streams: %w", err)
		}
		p99[i] = microseconds(off, 0.99) / 1e3
		fmt.Fprintf(out, "  %-24s p50 %6.2f ms, p99 %6.2f ms (%d tokens)\n", map[string]string{timer: "bare handler with timers", paced: "mock"}[kind], microseconds(off, 0.5)/1e3, p99[i], len(off))
	}
	fmt.Fprintf(out, "  mock / bare handler      p99 %6.2f\n", p99[1]/p99[0])
	return nil
}

// read reads all streams and returns how far their events were off, sorted.
func (b *bench) read(c *child) ([]time.Duration, error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		off  []time.Duration
		errs = make(chan error, b.streams)
	)
	for i := range b.streams {
		wg.Go(func() {
			time.Sleep(time.Second * time.Duration(i) / time.Duration(b.streams)) // they do not all start at once
			list, err := c.stream(b.paced)
			if err != nil {
				errs <- err
				return
			}
			mu.Lock()
			defer mu.Unlock()
			off = append(off, list...)
		})
	}
	wg.Wait()
	close(errs)
	slices.Sort(off)
	return off, <-errs
}

// stream reads a stream for d and returns how far each event was off.
func (c *child) stream(d time.Duration) ([]time.Duration, error) {
	conn, r, err := c.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	head, _ := c.request(request(`{"role":"user","content":"Talk."}`, `,"stream":true`))
	if _, err := conn.Write(head); err != nil {
		return nil, err
	}
	var first time.Time
	var off []time.Duration
	for n := 0; first.IsZero() || time.Since(first) < d; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(line, []byte(`"content":"`)) || bytes.Contains(line, []byte(`"content":""`)) {
			continue
		}
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		off = append(off, (now.Sub(first) - time.Duration(n)*time.Second/tokensPerSecond).Abs())
		n++
	}
	return off[1:], nil
}
