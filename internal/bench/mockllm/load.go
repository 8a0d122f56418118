// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// result is one measurement: requests a second, microseconds that one takes
// and microseconds of the server's processor time for each.
type result struct{ rate, p50, p99, cpu float64 }

// ratio returns the result as a share of another's.
func (r result) ratio(of result) result {
	return result{r.rate / of.rate, r.p50 / of.p50, r.p99 / of.p99, r.cpu / of.cpu}
}

// load is connections that each send their next request when the last is
// answered.
type load struct {
	server *child
	fixture
	// until ends the load, or a number of requests does.
	until    time.Time
	requests int64

	sent atomic.Int64
	mu   sync.Mutex
	took []time.Duration
}

// measure loads the server for d.
func (c *child) measure(f fixture, conns int, d time.Duration) (result, error) {
	before, err := c.cpu()
	if err != nil {
		return result{}, err
	}
	start := time.Now()
	l := &load{server: c, fixture: f, until: start.Add(d), requests: 1 << 40}
	if err := l.run(conns); err != nil {
		return result{}, err
	}
	took := time.Since(start)
	after, err := c.cpu()
	if err != nil {
		return result{}, err
	}
	slices.Sort(l.took)
	n := float64(len(l.took))
	return result{
		rate: n / took.Seconds(), cpu: float64((after - before).Nanoseconds()) / 1e3 / n,
		p50: microseconds(l.took, 0.5), p99: microseconds(l.took, 0.99),
	}, nil
}

// microseconds returns a quantile of a sorted list.
func microseconds(sorted []time.Duration, q float64) float64 {
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Nanoseconds()) / 1e3
}

func (l *load) run(conns int) error {
	var wg sync.WaitGroup
	errs := make(chan error, conns)
	for range conns {
		wg.Go(func() {
			if err := l.connection(); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("asking %s: %w", l.server.name, err)
	default:
		return nil
	}
}

func (l *load) connection() error {
	conn, r, err := l.server.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	request, body := l.server.request(l.body)
	var took []time.Duration
	for {
		start := time.Now()
		n := l.sent.Add(1)
		if n > l.requests || l.requests == 1<<40 && start.After(l.until) && len(took) > 0 {
			break
		}
		if l.count > 0 {
			copy(request[body+l.count:], fmt.Sprintf("%0*d", len(number), n))
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := readResponse(r); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, took...)
	return nil
}

func (c *child) dial() (net.Conn, *bufio.Reader, error) {
	host, _, _ := strings.Cut(c.addr, "/")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, nil, err
	}
	return conn, bufio.NewReaderSize(conn, 64<<10), nil
}

// request returns a whole request, and where its body begins.
func (c *child) request(body []byte) ([]byte, int) {
	host, path, _ := strings.Cut(c.addr, "/")
	if path != "" {
		path = "/" + path
	}
	head := fmt.Sprintf("POST %s/v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, host, len(body))
	return append([]byte(head), body...), len(head)
}
