// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// replies pairs the requests on a connection with their answers, whatever
// carries them, and takes what the server tells and asks in between.
type replies struct {
	note     func(format string, args ...any)
	notified func(mcpwire.Message)                                           // gets the notifications; must not wait for an answer
	asked    func(context.Context, mcpwire.Message) (json.RawMessage, error) // answers requests of the server
	marked   map[string]*mcp.Tool                                            // the tools with arguments that are headers too, by name; guarded by mu

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex                 // guards the fields below
	words   map[chan struct{}]struct{} // under way
	closing bool
	pairing mcpwire.Pairing
	waiting map[string]chan answer
	junk    int // what came and was no JSON-RPC
	last    error
	framed  bool // a line was a header of another framing
	strays  int  // answers that nobody waited for
	stray   string
	binary  bool // it was noted that a frame is not UTF-8
}

// answer is what came for a request: a message, or why it cannot be read.
type answer struct {
	message mcpwire.Message
	err     error
}

// result is the result of an answer; an error of the server is an [*rpcError].
func (a answer) result() (json.RawMessage, error) {
	if a.err == nil && a.message.Error != nil {
		return nil, &rpcError{a.message.Error}
	}
	return a.message.Result, a.err
}

func newReplies(s *Session) *replies {
	life, end := context.WithCancel(context.Background())
	return &replies{
		note: s.note, notified: s.notified, asked: s.answer, life: life, end: end,
		words: make(map[chan struct{}]struct{}), waiting: make(map[string]chan answer), marked: make(map[string]*mcp.Tool),
	}
}

// spawn runs f on a goroutine that close waits for, unless that has begun.
func (x *replies) spawn(f func()) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closing {
		return false
	}
	x.running.Go(f)
	return true
}

// word runs f on a goroutine, as spawn does; f says something to the server that is
// said before the connection is closed.
func (x *replies) word(f func()) (said <-chan struct{}) {
	done := make(chan struct{})
	x.mu.Lock()
	x.words[done] = struct{}{}
	x.mu.Unlock()
	end := func() {
		x.mu.Lock()
		delete(x.words, done)
		x.mu.Unlock()
		close(done)
	}
	if !x.spawn(func() { defer end(); f() }) {
		end()
	}
	return done
}

// finish waits a moment for the words that are under way, if anybody is there to
// hear them.
func (x *replies) finish(gone <-chan struct{}) {
	x.mu.Lock()
	list := slices.Collect(maps.Keys(x.words))
	x.mu.Unlock()
	late := time.NewTimer(goodbye)
	defer late.Stop()
	for _, said := range list {
		select {
		case <-said:
		case <-gone:
			return
		case <-late.C:
			return
		}
	}
}

// shut ends what runs on behalf of the connection; running waits for it.
func (x *replies) shut() {
	x.mu.Lock()
	x.closing = true
	x.mu.Unlock()
	x.end()
}

// expect announces a request. The answer comes on the channel; done must be
// called when nobody waits for it any more.
func (x *replies) expect(m mcpwire.Message) (ch <-chan answer, done func()) {
	key, c := m.Key(), make(chan answer, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting[key] = c
	x.pairing.Ask(m)
	return c, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.waiting[key] == c {
			delete(x.waiting, key)
			x.pairing.Leave(key)
			x.accuse()
		}
	}
}

// take takes one message of the server. reply answers it, if it asks for
// something.
func (x *replies) take(m mcpwire.Message, reply func(mcpwire.Message)) {
	if !utf8.Valid(m.Frame) {
		x.mu.Lock()
		first := !x.binary
		x.binary = true
		x.mu.Unlock()
		if first {
			x.note("sent bytes that are not UTF-8: %q", prose.Excerpt(m.Frame, 120))
		}
	}
	switch {
	case m.IsRequest():
		x.word(func() { reply(m) })
	case m.IsNotification():
		x.notified(m)
	default:
		x.deliver(m)
	}
}

// deliver hands a response to the request that waits for it.
func (x *replies) deliver(m mcpwire.Message) {
	x.mu.Lock()
	key, match := x.pairing.Answer(m)
	ch := x.waiting[key]
	delete(x.waiting, key)
	if match == mcpwire.MatchNone {
		x.strays++
		x.stray = prose.Excerpt(m.Frame, 200)
	}
	x.accuse()
	n := x.strays
	x.mu.Unlock()
	switch {
	case ch != nil:
		ch <- answer{message: m}
	case match == mcpwire.MatchNone && n <= maxNotes:
		x.note("sent a response to no open request: %s", prose.Excerpt(m.Frame, 200))
	}
}

// accuse fails the requests that no answer will come for any more. x.mu is held.
func (x *replies) accuse() {
	for key, err := range x.pairing.Accused() {
		x.waiting[key] <- answer{err: err}
		delete(x.waiting, key)
	}
}

// unreadable counts anything that is not a message. A line that was to be an
// answer is told to whoever waits for it, now and not at the deadline. Messages
// in the line are taken all the same.
func (x *replies) unreadable(junk *mcpwire.JunkError, reply func(mcpwire.Message)) {
	found := junk.Salvage()
	defer func() {
		for _, m := range found {
			x.take(m, reply)
		}
	}()
	x.mu.Lock()
	x.junk++
	n := x.junk
	x.last = junk
	x.framed = x.framed || bytes.HasPrefix(bytes.ToLower(junk.Line[:min(len(junk.Line), 20)]), []byte("content-length:"))
	key := mcpwire.Key(junk.ID)
	ch, ok := x.waiting[key]
	if ok = ok && !junk.Torn; ok { // else the end of the server says more
		delete(x.waiting, key)
		x.pairing.Drop(key)
	}
	x.mu.Unlock()
	if n <= maxNotes { // there may be millions
		x.note("%v", junk)
	}
	if ok {
		ch <- answer{err: fmt.Errorf("%w: %w", mcpwire.ErrUnusable, junk)}
	}
}

// waits reports whether somebody waits for the answer to a request.
func (x *replies) waits(id json.RawMessage) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.waiting[mcpwire.Key(id)]
	return ok
}

// takeAll takes what should be one message, or a batch.
func (x *replies) takeAll(messages []mcpwire.Message, junk *mcpwire.JunkError, reply func(mcpwire.Message)) {
	if junk != nil {
		x.unreadable(junk, reply)
	}
	for _, m := range messages {
		x.take(m, reply)
	}
}

// unread tells, for the error of a request without an answer, what came
// instead of one.
func (x *replies) unread() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := ""
	switch {
	case x.framed:
		s += " (the server frames its messages with Content-Length, as language servers do; MCP requires one message per line)"
	case x.junk == 1:
		s += fmt.Sprintf(" (a %v)", x.last)
	case x.junk != 0:
		s += fmt.Sprintf(" (%d lines were not JSON-RPC; the last: %v)", x.junk, x.last)
	}
	switch {
	case x.strays == 1:
		s += fmt.Sprintf(" (a response had the id of no open request: %s)", x.stray)
	case x.strays != 0:
		s += fmt.Sprintf(" (%d responses had the id of no open request; the last: %s)", x.strays, x.stray)
	}
	return s
}

// answerTo answers a request of the server, which send carries.
func (x *replies) answerTo(m mcpwire.Message, send func(context.Context, mcpwire.Message) error) {
	reply := mcpwire.Message{ID: m.ID}
	var err error
	if reply.Result, err = x.asked(x.life, m); err != nil {
		var refused *rpcError
		if !errors.As(err, &refused) {
			x.note("asked for %q, which this client cannot provide: %v", m.Method, err)
			refused = &rpcError{&jsonrpc.Error{Code: mcpwire.CodeNoMethod, Message: err.Error()}}
		}
		reply.Error = refused.rpc
	}
	reply.Frame = reply.Encode()
	ctx, cancel := context.WithTimeout(x.life, goodbye)
	defer cancel()
	if err := send(ctx, reply); err != nil && x.life.Err() == nil {
		x.note("did not accept the client's answer: %v", err)
	}
}
