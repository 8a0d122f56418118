// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// gateway is the stand-in for the Argo Gateway: one address, behind which one
// conversation after the other is played. It is what `rehearse serve llm
// --profile argo-gateway` serves.
type gateway struct {
	url    string
	server *http.Server
	done   chan error

	mu   sync.Mutex
	mock *mockllm.Mock
}

func newGateway() (*gateway, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gateway{url: "http://" + l.Addr().String(), done: make(chan error, 1)}
	if err := g.play(mockllm.Script{}); err != nil { // the list of models, which proxies ask for first
		return nil, err
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: 30 * time.Second}
	go func() { g.done <- g.server.Serve(l) }()
	return g, nil
}

// play has the gateway play a script from its beginning.
func (g *gateway) play(script mockllm.Script) error {
	script.Profile = "argo-gateway"
	if script.Fragments == nil { // recordings of single tokens would be long
		script.Fragments = &dialect.Fragments{Unit: dialect.UnitToken, Min: 4}
	}
	mock, err := mockllm.New(script, &mockllm.Options{FlushEvents: true})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mock != nil {
		g.mock.Close()
	}
	g.mock = mock
	return nil
}

func (g *gateway) current() *mockllm.Mock {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mock
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.current().ServeHTTP(w, r) }

// verdict says what was wrong with what the proxy asked.
func (g *gateway) verdict() error {
	m := g.current()
	err := m.Err()
	m.EachRemaining(func(_ string, turn, reply int, _ harness.Position) {
		err = errors.Join(err, fmt.Errorf("the gateway was never asked for reply %d of turn %d", reply, turn))
	})
	return err
}

func (g *gateway) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if g.server.Shutdown(ctx) != nil {
		_ = g.server.Close() // what is open still is of no use to anybody
	}
	<-g.done
	g.current().Close()
}
