// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// gateway is one listener for all handlers of a run that are reached by URL:
// mock servers over HTTP and the proxies of live mode.
type gateway struct {
	base   string
	server *http.Server
	done   chan struct{} // closed when Serve has returned

	mu       sync.Mutex // guards the rest
	handlers map[string]http.Handler
	next     int
}

// newGateway listens on loopback, or on the address that is advertised.
func newGateway(advertise string) (*gateway, error) {
	host, listen := advertise, "127.0.0.1"
	if host == "" {
		host = listen
	} else if addr, err := netip.ParseAddr(host); err == nil {
		listen = addr.String()
		if addr.IsUnspecified() {
			return nil, fmt.Errorf("advertising %s: nobody can call that address; want the one at which the subject finds this machine", host)
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(listen, "0"))
	if err != nil {
		if advertise != "" {
			err = fmt.Errorf("advertising %s: want a name, or an IP address of this machine: %w", host, err)
		}
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g := &gateway{
		base: "http://" + net.JoinHostPort(host, port), done: make(chan struct{}), handlers: map[string]http.Handler{},
	}
	g.server = gate.Rules{Hosts: []string{host}}.Server(g)
	go func() {
		defer close(g.done)
		_ = g.server.Serve(l) // always ErrServerClosed, by close
	}()
	return g, nil
}

// mount serves h below a path of its own, which h does not see. The base URL
// has no slash at its end.
func (g *gateway) mount(h http.Handler) (base string, unmount func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	key := fmt.Sprintf("m%d", g.next)
	g.handlers[key] = http.StripPrefix("/"+key, h)
	return g.base + "/" + key, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.handlers, key)
	}
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	g.mu.Lock()
	h := g.handlers[key]
	g.mu.Unlock()
	if h == nil {
		http.Error(w, "the trial at this address has ended", http.StatusGone)
		return
	}
	h.ServeHTTP(w, r)
}

// close ends all connections and waits.
func (g *gateway) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := g.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = g.server.Close() // a client that keeps a stream open, such as the listening stream of MCP
	}
	<-g.done
	return err
}
