// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package offline runs this program again where no network is: in namespaces of
// Linux that have a loopback interface of their own and nothing else, and a name
// server that knows no host and keeps who was asked for.
//
// The program is started three times, since what it may do there must not be
// handed to the agents that it starts:
//
//	[Again] starts it in new namespaces and waits for it;
//	[Enter], first of all in main, sets them up and replaces the program by itself;
//	[Inside] tells that one that it is there, and answers for hosts.
//
// Sockets that are files (of Docker, of a database) are no network and are still
// reached.
package offline

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// ErrUnsupported is returned where the system has no such namespaces.
var ErrUnsupported = errors.New("only Linux can take the network away from a program")

// Hosts is the name server of a program that has no network.
type Hosts struct {
	conn net.PacketConn
	done chan struct{}

	mu    sync.Mutex
	asked map[string]int
}

// serve answers on conn that no host exists.
func serve(conn net.PacketConn) *Hosts {
	h := &Hosts{conn: conn, done: make(chan struct{}), asked: map[string]int{}}
	go func() {
		defer close(h.done)
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if answer := h.answer(buf[:n]); err == nil && answer != nil {
				_, _ = conn.WriteTo(answer, from) // a client that is gone needs none
			}
		}
	}()
	return h
}

// answer is that to a query; nil where the message is none.
func (h *Hosts) answer(query []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	// A host is asked for by its addresses of version 4 and 6, at once.
	if q.Type != dnsmessage.TypeAAAA {
		h.mu.Lock()
		h.asked[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))]++
		h.mu.Unlock()
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{
		ID: head.ID, Response: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true, RCode: dnsmessage.RCodeNameError,
	})
	if err := errors.Join(b.StartQuestions(), b.Question(q)); err != nil {
		return nil
	}
	answer, err := b.Finish()
	if err != nil {
		return nil
	}
	return answer
}

// Asked says which hosts were asked for, each with how often where that was
// more than once, by their names.
func (h *Hosts) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(h.asked)) {
		if n := h.asked[name]; n > 1 {
			name += fmt.Sprintf(" (%d times)", n)
		}
		out = append(out, name)
	}
	return out
}

// Close ends the name server.
func (h *Hosts) Close() error {
	err := h.conn.Close()
	<-h.done
	return err
}
