// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// Resumer is a session whose conversation another session can go on with, for
// turns after one with kill. A subject with other sessions is skipped there.
type Resumer interface {
	harness.Session
	// History is the conversation so far, as the subject would have written it down
	// when it ended now. It is called while Send runs, when a tool has begun.
	History() []harness.Message
	// Resume takes over a conversation before the first Send. It may end with calls
	// that have no results.
	Resume(history []harness.Message) error
}

// errKilled is the cause with which the context of a turn ends in which the
// subject is killed.
var errKilled = errors.New("the subject was killed")

// lifelines are the connections of one session of a subject to the servers of the
// trial, which are cut when it is killed.
type lifelines struct {
	mu   sync.Mutex // guards what follows
	dead bool
	open map[io.Closer]bool
}

// kill has the session say nothing more. cut ends its connections.
func (l *lifelines) kill() (cut func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	open := l.open
	l.open = nil
	return func() {
		for c := range open {
			_ = c.Close()
		}
	}
}

func (l *lifelines) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// add notes a connection, and reports whether the session lives.
func (l *lifelines) add(c io.Closer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		_ = c.Close()
		return errKilled
	}
	if l.open == nil {
		l.open = map[io.Closer]bool{}
	}
	l.open[c] = true
	return nil
}

func (l *lifelines) remove(c io.Closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
}

// tie has the servers reached by connections that end with the session.
func (l *lifelines) tie(servers []harness.Server) []harness.Server {
	servers = slices.Clone(servers)
	for i := range servers {
		s := &servers[i]
		if dial := s.Dial; dial != nil {
			s.Dial = func(ctx context.Context) (io.ReadWriteCloser, error) {
				rw, err := dial(ctx)
				if err != nil {
					return nil, err
				}
				return &tiedPipe{rw, l}, l.add(rw)
			}
		}
		if s.URL == "" {
			continue
		}
		dial := s.DialContext
		if dial == nil {
			dial = (&net.Dialer{}).DialContext
		}
		s.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if known, ok := conn.(*caller); ok { // it stays one
				inner := known.Conn
				known.Conn = &tiedConn{inner, l}
				return known, l.add(inner)
			}
			return &tiedConn{conn, l}, l.add(conn)
		}
	}
	return servers
}

// tiedPipe is a pipe of a session.
type tiedPipe struct {
	io.ReadWriteCloser
	lines *lifelines
}

func (p *tiedPipe) Write(b []byte) (int, error) {
	if p.lines.isDead() {
		return 0, errKilled
	}
	return p.ReadWriteCloser.Write(b)
}

func (p *tiedPipe) Close() error {
	p.lines.remove(p.ReadWriteCloser)
	return p.ReadWriteCloser.Close()
}

// tiedConn is a connection of a session.
type tiedConn struct {
	net.Conn
	lines *lifelines
}

func (c *tiedConn) Write(b []byte) (int, error) {
	if c.lines.isDead() {
		return 0, errKilled
	}
	return c.Conn.Write(b)
}

func (c *tiedConn) Close() error {
	c.lines.remove(c.Conn)
	return c.Conn.Close()
}

// kills reports whether the scenario has a turn in which the subject is killed.
func (t *trial) kills() bool {
	return slices.ContainsFunc(t.scenario.Turns, func(turn scenarios.Turn) bool { return turn.Interruption != nil && turn.Interruption.Kill })
}

// opened is what a session is given: where the subject is to be killed, servers
// whose connections can be cut.
func (t *trial) opened(env *harness.Env) *harness.Env {
	if !t.kills() {
		return env
	}
	tied := *env
	lines := &lifelines{}
	tied.Servers = lines.tie(env.Servers)
	t.interruptible.kill = func() (cut func()) {
		cutLines := lines.kill()
		return func() {
			cutLines()
			for _, s := range t.servers {
				if s.processes != nil {
					s.processes.kill()
				}
			}
		}
	}
	return &tied
}

// revive opens the subject anew after it was killed, and has it resume the
// conversation.
func (t *trial) revive(ctx context.Context, env *harness.Env) (harness.Session, error) {
	session, err := guard(ctx, t, func() (harness.Session, error) { return t.subject.Subject.Open(ctx, t.opened(env)) })
	if err != nil {
		return nil, fmt.Errorf("opening the subject after it was killed: %w", err)
	}
	resumer, ok := session.(Resumer)
	if !ok {
		return session, errors.New("opening the subject after it was killed: its session cannot resume a conversation, and the one before could")
	}
	if _, err := guard(ctx, t, func() (any, error) { return nil, resumer.Resume(t.interruptible.kept()) }); err != nil {
		return session, fmt.Errorf("resuming the conversation: %w", err)
	}
	return session, nil
}
