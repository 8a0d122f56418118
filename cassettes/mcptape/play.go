// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// missCode is the code of the error that a miss is answered with.
const missCode = -32000

// play is a session that is replayed.
type play struct {
	tape   *Tape
	script *script
	out    *mcpwire.Writer
	leave  context.CancelFunc // ends the session, as the server did
	groups sync.WaitGroup

	mu       sync.Mutex // guards what follows
	waiting  map[string]chan mcpwire.Message
	inFlight map[string]context.CancelFunc // by the client's id
	early    map[string]mcpwire.Message    // answers nobody waits for yet
	over     bool                          // no more groups begin
	silent   chan struct{}                 // closed when the client says no more
}

// serve replays a session.
func (t *Tape) serve(ctx context.Context, s *script, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &play{
		tape: t, script: s, out: mcpwire.NewWriter(out), leave: cancel,
		waiting: map[string]chan mcpwire.Message{}, inFlight: map[string]context.CancelFunc{},
		early: map[string]mcpwire.Message{}, silent: make(chan struct{}),
	}
	p.run(ctx, s.start, mcpwire.Message{})
	read := make(chan error, 1)
	go func() { read <- p.read(ctx, in) }()
	var err error
	select {
	case err = <-read:
		close(p.silent)
	case <-ctx.Done(): // the read ends with its stream
	}
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.groups.Wait()
	return err
}

// read takes what the client says.
func (p *play) read(ctx context.Context, in io.Reader) error {
	r := mcpwire.NewReader(in, nil)
	for ctx.Err() == nil {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			p.tape.miss("%v", err)
			p.error(junk.ID, -32700, junk.Why)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
			return nil
		case err != nil:
			return fmt.Errorf("replaying tape %q: %w", p.tape.name, err)
		default:
			p.take(ctx, m)
		}
	}
	return nil
}

// take reacts to a message.
func (p *play) take(ctx context.Context, m mcpwire.Message) {
	switch {
	case m.IsResponse():
		p.answered(m)
	case m.IsRequest():
		g, miss := p.tape.request(p.script, m)
		switch {
		case g != nil:
			p.run(ctx, g, m)
		case miss != "":
			p.error(m.ID, missCode, miss)
		default: // a ping more or less
			p.send(mcpwire.Message{ID: m.ID, Result: json.RawMessage("{}")}.Encode())
		}
	default:
		if m.Method == "notifications/cancelled" {
			start, end := member(m.Params, "requestId")
			p.mu.Lock()
			if cancel := p.inFlight[mcpwire.Key(m.Params[start:end])]; cancel != nil {
				cancel()
			}
			p.mu.Unlock()
		}
		if g := p.tape.note(p.script, m); g != nil {
			p.run(ctx, g, m)
		}
	}
}

// answered takes the client's answer to a request of the server.
func (p *play) answered(m mcpwire.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.waiting[m.Key()]; c != nil {
		delete(p.waiting, m.Key())
		c <- m // has room
		return
	}
	p.early[m.Key()] = m
}

// run plays a group: at once when nothing in it takes time, so that the order
// of answers is that of requests.
func (p *play) run(ctx context.Context, g *group, m mcpwire.Message) {
	at := g.at
	quick := p.tape.opts.Speed == 0
	for _, s := range g.steps {
		quick = quick && s.kind != await
	}
	if quick {
		p.steps(ctx, g, m, at)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	id := m.Key()
	if id != "" {
		p.inFlight[id] = cancel
	}
	p.groups.Go(func() {
		defer cancel()
		p.steps(ctx, g, m, at)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.inFlight, id)
	})
}

// steps plays the steps of a group, the first of which comes after at.
func (p *play) steps(ctx context.Context, g *group, m mcpwire.Message, at int64) {
	speed := p.tape.opts.Speed
	for i := range g.steps {
		s := &g.steps[i]
		if s.kind == await {
			if !p.await(ctx, s) {
				return
			}
		} else if wait := float64(s.at-at) / max(speed, 1e-9); speed > 0 && wait > 0 {
			if p.tape.opts.Clock.Sleep(ctx, time.Duration(wait*float64(time.Millisecond))) != nil {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		at = s.at
		switch s.kind {
		case say:
			if line := s.now(g, m); line != nil {
				p.send(line)
			}
		case answer:
			p.send(replace(s.bytes(), m.ID, "id"))
		case complain:
			fmt.Fprintln(p.tape.opts.Stderr, s.text)
		case leave:
			p.leave()
			return
		case await:
		}
	}
}

// now is what the server says, about the ids of this client. It is nil when
// the client asked for no progress.
func (s *step) now(g *group, m mcpwire.Message) []byte {
	line := s.bytes()
	if s.msg.Frame == nil {
		return line
	}
	if s.msg.Method == "notifications/progress" && g.token != "" {
		if start, end := member(line, "params", "progressToken"); string(line[start:end]) == g.token {
			token := tokenOf(m)
			if token == "" {
				return nil
			}
			return replace(line, []byte(token), "params", "progressToken")
		}
	}
	if start, end := member(line, "params", "_meta", subscription); end > 0 && mcpwire.Key(line[start:end]) == g.msg.Key() {
		line = replace(line, m.ID, "params", "_meta", subscription)
	}
	return line
}

// await waits for the client's answer, and reports whether it came.
func (p *play) await(ctx context.Context, s *step) bool {
	id := s.msg.Key()
	p.mu.Lock()
	got, ok := p.early[id]
	delete(p.early, id)
	answer := make(chan mcpwire.Message, 1)
	if !ok {
		p.waiting[id] = answer
	}
	p.mu.Unlock()
	if !ok {
		select {
		case got = <-answer:
		case <-ctx.Done():
			return false
		case <-p.silent:
			return false
		}
	}
	if (got.Error == nil) != (s.msg.Error == nil) {
		p.tape.miss("the answer to the server's request %s differs from line %d: recorded %s, now %s", s.msg.ID, s.line, outcome(s.msg), outcome(got))
	} else if a, b := string(clean(p.tape.secrets, got.Result)), string(s.msg.Result); a != b {
		p.tape.opts.Logf("tape %q: the answer to the server's request %s differs from line %d: recorded %s, now %s",
			p.tape.name, s.msg.ID, s.line, mcpwire.Excerpt([]byte(b), 80), mcpwire.Excerpt([]byte(a), 80))
	}
	return true
}

func outcome(m mcpwire.Message) string {
	if m.Error != nil {
		return fmt.Sprintf("error %d", m.Error.Code)
	}
	return "a result"
}

func (p *play) error(id json.RawMessage, code int, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	p.send(mcpwire.Message{ID: id, Error: &harness.RPCError{Code: code, Message: text}}.Encode())
}

// send writes a line. When the client is gone, so is the next read.
func (p *play) send(line []byte) { _ = p.out.Write(line) }
