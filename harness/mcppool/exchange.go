// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// exchange pairs requests with their answers, whatever carries them, and
// takes what the server tells and asks in between. mcp-go's own transports
// skip in silence what they cannot read, take an id that comes back as a
// string for an unknown one, and drop the raw answer.
type exchange struct {
	note func(format string, args ...any)
	told func(mcpwire.Message) // gets the notifications; must not wait for an answer
	max  int                   // bytes of a frame
	era  Era

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	closing bool
	waiting map[string]chan answer
	lasting map[string]bool // of those waiting, the ones that wait for ever
	asked   transport.RequestHandler
	junk    int // what came and was no JSON-RPC
	last    error
	framed  bool // a line was a header of another framing
	strays  int  // answers that nobody waited for
	stray   string
	binary  bool   // it was noted that a frame is not UTF-8
	version string // what was agreed on, for those who must tell it
	lost    bool   // the server went away at the probe of its era
	asking  bool   // it was asked something before that
	late    bool   // the last probe of the era was not answered in time
	tardy   bool   // late is, or was
	refused error  // what became of it, if it failed
}

// answer is what came for a request: a message, or why it cannot be read.
type answer struct {
	message mcpwire.Message
	err     error
}

// wire is what a session tells its transports.
type wire struct {
	note func(format string, args ...any)
	told func(mcpwire.Message)
	max  int
	era  Era
	dial dialer // of HTTP
}

func newExchange(w wire) *exchange {
	life, end := context.WithCancel(context.Background())
	return &exchange{note: w.note, told: w.told, max: w.max, era: w.era, life: life, end: end, waiting: make(map[string]chan answer), lasting: make(map[string]bool)}
}

// SetNotificationHandler does nothing: notifications go to the session, as
// they came.
func (x *exchange) SetNotificationHandler(func(mcp.JSONRPCNotification)) {}

// SetRequestHandler sets what answers requests of the server.
func (x *exchange) SetRequestHandler(f transport.RequestHandler) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = f
}

// SetProtocolVersion takes the version that was agreed on. mcp-go takes a
// transport that has this method for one over HTTP, and leaves it to that to
// tell the server of requests that were given up.
func (x *exchange) SetProtocolVersion(version string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.version = version
}

// spawn runs f on a goroutine that close waits for, unless that has begun.
func (x *exchange) spawn(f func()) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closing {
		return false
	}
	x.running.Go(f)
	return true
}

// shut ends what runs on behalf of the connection; running waits for it.
func (x *exchange) shut() {
	x.mu.Lock()
	x.closing = true
	x.mu.Unlock()
	x.end()
}

// expect announces a request. The answer comes on the channel; done must be
// called when nobody waits for it any more.
func (x *exchange) expect(request transport.JSONRPCRequest) (ch <-chan answer, done func()) {
	key, c := mcpwire.Key(mcpwire.Marshal(request.ID)), make(chan answer, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting[key] = c
	if request.Method == string(mcp.MethodSubscriptionsListen) {
		x.lasting[key] = true
	}
	return c, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.lasting, key)
		if x.waiting[key] == c {
			delete(x.waiting, key)
		}
	}
}

// take takes one message of the server. reply carries our answer to it, if it
// asks for one.
func (x *exchange) take(m mcpwire.Message, reply func(frame []byte)) {
	if !utf8.Valid(m.Frame) {
		x.mu.Lock()
		first := !x.binary
		x.binary = true
		x.mu.Unlock()
		if first {
			x.note("sent bytes that are not UTF-8: %q", mcpwire.Excerpt(m.Frame, 120))
		}
	}
	switch {
	case m.IsRequest():
		x.spawn(func() { reply(x.answer(m)) })
	case m.IsNotification():
		x.told(m)
	default:
		x.deliver(m)
	}
}

// deliver hands a response to the request that waits for it. An error without
// an id belongs to the only request under way, if there is only one.
func (x *exchange) deliver(m mcpwire.Message) {
	x.mu.Lock()
	key := m.Key()
	if key == "" && m.Error != nil && len(x.waiting)-len(x.lasting) <= 1 {
		for only := range x.waiting {
			if !x.lasting[only] {
				key = only
			}
		}
	}
	ch, ok := x.waiting[key]
	delete(x.waiting, key)
	if !ok {
		x.strays++
		x.stray = mcpwire.Excerpt(m.Frame, 200)
	}
	n := x.strays
	x.mu.Unlock()
	if ok {
		ch <- answer{message: m}
	} else if n <= maxNotes {
		x.note("sent a response that no request waits for: %s", mcpwire.Excerpt(m.Frame, 200))
	}
}

// unreadable counts what is no message. A line that was to be an answer is
// told to whoever waits for it, now and not at the deadline. Messages in the
// line are taken all the same.
func (x *exchange) unreadable(junk *mcpwire.JunkError, reply func(frame []byte)) {
	found := salvage(junk.Line)
	for _, m := range found {
		if m.IsResponse() && m.Key() == mcpwire.Key(junk.ID) {
			junk.ID = nil // it is answered
		}
	}
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
	}
	x.mu.Unlock()
	if n <= maxNotes { // there may be millions
		x.note("%v", junk)
	}
	if ok {
		ch <- answer{err: fmt.Errorf("%w: %w", errMalformed, junk)}
	}
}

// waits reports whether somebody waits for the answer to a request.
func (x *exchange) waits(id json.RawMessage) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.waiting[mcpwire.Key(id)]
	return ok
}

// takeFrame takes what should be one message, or a batch.
func (x *exchange) takeFrame(frame []byte, reply func([]byte)) {
	messages, junk := parseAll(frame)
	if junk != nil {
		x.unreadable(junk, reply)
	}
	for _, m := range messages {
		x.take(m, reply)
	}
}

// parseAll reads a message, or a batch as its messages. There is one at least
// unless junk says why not.
func parseAll(raw []byte) (messages []mcpwire.Message, junk *mcpwire.JunkError) {
	frames := []json.RawMessage{raw}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '[' {
		if json.Unmarshal(trimmed, &frames) != nil || len(frames) == 0 {
			frames = []json.RawMessage{raw}
		}
	}
	for _, frame := range frames {
		m, err := mcpwire.Parse(frame)
		if err != nil {
			return messages, &mcpwire.JunkError{Line: frame, Why: err.Error(), ID: mcpwire.IDOf(frame)}
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// giveUp tells the server that nobody waits for a request any more. It comes
// back when that is said, or in a moment: what the caller does next should
// come after it.
func (x *exchange) giveUp(ctx context.Context, request transport.JSONRPCRequest, send func(context.Context, mcp.JSONRPCNotification) error) {
	if request.Method == string(mcp.MethodInitialize) || request.Method == string(mcp.MethodServerDiscover) {
		return
	}
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = string(mcp.MethodNotificationCancelled)
	n.Params.AdditionalFields = map[string]any{"requestId": request.ID, "reason": context.Cause(ctx).Error()}
	said := make(chan struct{})
	if x.spawn(func() {
		defer close(said)
		ctx, cancel := context.WithTimeout(x.life, goodbye)
		defer cancel()
		_ = send(ctx, n) // a courtesy
	}) {
		soon(said)
	}
}

// modern reports whether the new era was agreed on.
func (x *exchange) modern() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return mcp.IsModernProtocol(x.version)
}

// What a transport without a lasting connection has to say of it.

func (x *exchange) gone() bool     { return false }
func (x *exchange) ending() string { return "" }
func (x *exchange) stderr() string { return "" }

// salvage finds whole messages in a line that is none: after half a message
// that went before, after a word of somebody else's, before one. What begins a
// message cannot stand in a string, where its quotes are escaped.
func salvage(line []byte) (found []mcpwire.Message) {
	begin := []byte(`{"jsonrpc"`)
	for {
		i := bytes.Index(line, begin)
		if i < 0 {
			return found
		}
		line = line[i:]
		dec := json.NewDecoder(bytes.NewReader(line))
		var frame json.RawMessage
		if dec.Decode(&frame) != nil {
			line = line[len(begin):]
			continue
		}
		if m, err := mcpwire.Parse(frame); err == nil {
			found = append(found, m)
		}
		line = line[dec.InputOffset():]
	}
}

// babble tells, for the error of a request without an answer, what came
// instead of one.
func (x *exchange) babble() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := ""
	switch {
	case x.framed:
		s += " (the server frames its messages with Content-Length, as language servers do; MCP wants one a line)"
	case x.junk == 1:
		s += fmt.Sprintf(" (a %v)", x.last)
	case x.junk > 1:
		s += fmt.Sprintf(" (%d lines were no JSON-RPC; the last: %v)", x.junk, x.last)
	}
	switch {
	case x.strays == 1:
		s += fmt.Sprintf(" (a response had an id that no request waits for: %s)", x.stray)
	case x.strays > 1:
		s += fmt.Sprintf(" (%d responses had an id that no request waits for; the last: %s)", x.strays, x.stray)
	}
	return s
}

// answer is our answer to a request of the server. What the session has no
// handler for is a method that we do not have.
func (x *exchange) answer(m mcpwire.Message) []byte {
	x.mu.Lock()
	f := x.asked
	x.mu.Unlock()
	reply := mcpwire.Message{ID: m.ID}
	var request transport.JSONRPCRequest
	err := json.Unmarshal(m.Frame, &request)
	if err == nil && f == nil {
		err = errors.New("method not found")
	}
	if err == nil {
		var response *transport.JSONRPCResponse
		if response, err = f(x.life, request); err == nil && response != nil {
			reply.Result, reply.Error = response.Result, rawError(response.Error)
		}
	}
	var refused *refusal
	switch {
	case err == nil:
	case errors.As(err, &refused):
		reply.Error = refused.rpc
	default:
		x.note("asked for %q, which this client cannot give: %v", m.Method, err)
		reply.Error = &harness.RPCError{Code: mcp.METHOD_NOT_FOUND, Message: err.Error()}
	}
	return reply.Encode()
}

// response makes of an answer what mcp-go wants, and keeps it.
func response(ctx context.Context, request transport.JSONRPCRequest, a answer) (*transport.JSONRPCResponse, error) {
	if a.err != nil {
		return nil, a.err
	}
	m := a.message
	result := keep(ctx, request.Method, m.Result, m.Error)
	r := &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: request.ID, Result: result}
	if m.Error != nil {
		r.Error = &mcp.JSONRPCErrorDetails{Code: m.Error.Code, Message: m.Error.Message}
		_ = json.Unmarshal(m.Error.Data, &r.Error.Data) // absent is fine
	}
	return r, nil
}

func rawError(e *mcp.JSONRPCErrorDetails) *harness.RPCError {
	if e == nil {
		return nil
	}
	rpc := &harness.RPCError{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		rpc.Data = mcpwire.Marshal(e.Data)
	}
	return rpc
}
