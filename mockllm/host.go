// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// tb is the part of [testing.TB] that [NewServer] needs.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// NewServer returns a mock behind a listener on loopback, which is closed
// when the test ends. The test fails when a request was a miss, when the
// provider would have refused one, when the script fails, and when a reply
// was never asked for.
func NewServer(t tb, script Script) *Mock {
	t.Helper()
	m, err := New(script, nil)
	if err != nil {
		t.Fatalf("mockllm: %v", err)
	}
	h, err := NewHost("")
	if err != nil {
		t.Fatalf("mockllm: %v", err)
	}
	h.Mount(m)
	t.Cleanup(func() {
		t.Helper()
		m.Close()
		if err := h.Close(); err != nil {
			t.Errorf("mockllm: %v", err)
		}
		if err := m.Err(); err != nil {
			t.Errorf("mockllm: %v", err)
		}
		var left []string
		m.eachRemaining(func(turn, n int, lane string, r *reply) {
			where := place(turn, n, r.Pos)
			if lane != "" {
				where = fmt.Sprintf("lane %q, %s", lane, where)
			}
			left = append(left, where)
		})
		for _, where := range left { // here, where t knows us for a helper
			t.Errorf("mockllm: never asked for: %s", where)
		}
	})
	return m
}

// Host is one listener for many mocks. It refuses with 403 what is sent to
// another name than those of this machine, and what a page of another origin
// sends; [Host.Allow] lets in some of it.
type Host struct {
	listener net.Listener
	server   *http.Server
	done     chan struct{} // closed when Serve has ended
	fresh    sync.Map      // the net.Conns without a request so far

	mu     sync.RWMutex // guards what follows
	mounts map[string]*Mock
	n      int
	rules  gate.Rules
}

// NewHost listens on addr; empty means 127.0.0.1 and a free port.
func NewHost(addr string) (*Host, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for mock models: %w", err)
	}
	h := &Host{listener: l, mounts: make(map[string]*Mock), done: make(chan struct{})}
	h.server = gate.NewServer(h)
	h.server.ConnState = h.connState
	go func() {
		defer close(h.done)
		_ = h.server.Serve(l) // its error is that it was closed
	}()
	return h, nil
}

// Mount serves m under a base URL of its own, which is returned (it ends in
// /v1) and also set as m.URL. unmount takes it away; it does not close m.
func (h *Host) Mount(m *Mock) (baseURL string, unmount func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	name := strconv.Itoa(h.n)
	h.mounts[name] = m
	m.Root = "http://" + h.Addr() + "/" + name
	m.URL = m.Root + "/v1"
	return m.URL, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.mounts, name)
	}
}

// Allow lets in clients that call it by one of these hosts, such as
// host.docker.internal, and pages of these origins; "*" is any. It takes the
// place of what was allowed before.
func (h *Host) Allow(hosts, origins []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = gate.Rules{Hosts: hosts, Origins: origins}
}

// Addr returns the host and port it listens on.
func (h *Host) Addr() string { return h.listener.Addr().String() }

// closeTimeout is how long Close waits for requests to end by themselves.
const closeTimeout = 5 * time.Second

// Close stops listening and waits for the requests being answered. One that
// does not end within five seconds is cut, and is an error. A second Close does
// nothing.
func (h *Host) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	h.fresh.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		return true
	})
	err := h.server.Shutdown(ctx)
	if err != nil {
		h.server.Close()
		err = fmt.Errorf("a request to a mock model was still being answered: %w", err)
	}
	<-h.done
	return err
}
