// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// Pool shares sessions: however many agents use a server, there is one session
// with it, and one process. The zero Pool is not usable; see [NewPool]. Its
// methods may be called concurrently.
type Pool struct {
	opts *Options

	mu      sync.Mutex // guards the fields below
	members map[string]*member
	closed  bool
}

// member is a server of a pool.
type member struct {
	server  harness.Server
	opening chan struct{} // held by who opens the session, or looks whether it lives; guards the next three
	failed  error         // why it could not be opened
	waits   *retry.Attempts
	due     time.Time // no attempt is made before

	mu      sync.Mutex // guards session
	session *Session   // nil until it was opened
}

// NewPool returns a pool whose sessions have these options. nil means all
// defaults.
func NewPool(opts *Options) *Pool {
	o := opts.withDefaults()
	return &Pool{opts: &o, members: map[string]*member{}}
}

var (
	errPoolClosed = errors.New("the pool was closed")
	errRemoved    = errors.New("the server was removed from the pool")
)

// Open returns the session with a server. The first time it connects; later it
// looks whether the session lives: one whose server disconnected, or that gives
// no sign of life after 30 s without an answer, is connected anew. Two servers
// are the same when they have the same name and are reached in the same way; of
// servers that are reached by Dial the name alone tells, so that they need one.
//
// A server that could not be opened is tried again by the next call, and when
// that failed too after longer and longer waits, from [Options.Backoff] to 30 s;
// a call that comes earlier returns the last error. It is of type [*Error].
func (p *Pool) Open(ctx context.Context, server harness.Server) (*Session, error) {
	failed := func(kind ErrorKind, err error) error {
		return &Error{Kind: kind, Server: server.Name, Op: "connecting to", Err: err}
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, failed(ErrClosed, errPoolClosed)
	}
	if server.Dial != nil && server.Name == "" {
		p.mu.Unlock()
		return nil, failed(ErrMalformed, errors.New("a server that is reached by Dial needs a name in a pool: nothing else tells it from another"))
	}
	key := poolKey(server)
	m := p.members[key]
	if m == nil {
		m = &member{server: server, opening: make(chan struct{}, 1)}
		p.members[key] = m
	}
	p.mu.Unlock()
	select {
	case m.opening <- struct{}{}:
		defer func() { <-m.opening }()
	case <-ctx.Done():
		return nil, failed(ErrCancelled, context.Cause(ctx))
	}
	if s := m.current(); s != nil {
		return s, s.alive(ctx)
	}
	now := p.opts.Clock.Now
	if m.failed != nil && now().Before(m.due) {
		return nil, m.failed
	}
	s, err := Open(ctx, server, p.opts)
	if err != nil {
		if ctx.Err() == nil {
			m.failed, m.due = err, now().Add(m.wait(p.opts.Backoff))
		}
		return nil, err
	}
	s.pooled = true
	p.mu.Lock()
	switch { // in the meantime
	case p.closed:
		err = errPoolClosed
	case p.members[key] != m:
		err = errRemoved
	default:
		m.mu.Lock()
		m.session = s
		m.mu.Unlock()
	}
	p.mu.Unlock()
	if err != nil {
		s.close()
		return nil, failed(ErrClosed, err)
	}
	return s, nil
}

// wait is how long to leave the server alone after another attempt has failed.
func (m *member) wait(first time.Duration) time.Duration {
	if m.waits == nil {
		m.waits = retry.Policy{MaxAttempts: math.MaxInt, Initial: first, Max: maxBackoff, Jitter: -1}.Start()
		return 0
	}
	wait, _ := m.waits.Next(0)
	return wait
}

func (m *member) current() *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session
}

// Remove ends the sessions with the server of this name, for all who use them.
func (p *Pool) Remove(name string) {
	p.end(func(m *member) bool { return m.server.Name == name })
}

// Close ends all sessions. The pool opens no more.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end(func(*member) bool { return true })
	return nil
}

// end ends the sessions with some servers, all at once: a server may take its
// time to end.
func (p *Pool) end(which func(*member) bool) {
	var ending []*Session
	p.mu.Lock()
	for key, m := range p.members {
		if which(m) {
			delete(p.members, key)
			if s := m.current(); s != nil {
				ending = append(ending, s)
			}
		}
	}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range ending {
		wg.Go(s.close)
	}
	wg.Wait()
}

// Stats returns the figures of all sessions, by the names of their servers.
func (p *Pool) Stats() []Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Stats
	for _, m := range p.members {
		if s := m.current(); s != nil {
			out = append(out, s.Stats())
		}
	}
	slices.SortFunc(out, func(a, b Stats) int { return strings.Compare(a.Server, b.Server) })
	return out
}

// poolKey is equal for two servers that one session can serve. A pipe into this
// process is told by the name alone.
func poolKey(s harness.Server) string {
	return string(mcpwire.Marshal(struct {
		Name, URL, Transport string
		Headers              map[string]string
		Command, Env         []string
		Dir                  string
	}{s.Name, s.URL, s.Transport, s.Headers, s.Command, s.Env, s.Dir}))
}
