// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/protocol"
)

// era is how a client deals with the server.
type era int

const (
	legacy era = iota // initialize opens a session
	modern            // 2026-07-28: each request stands for itself
)

// The transports, as frames name them.
const (
	overPipe  = "pipe"
	overStdio = "stdio"
	overHTTP  = "http"
	overSSE   = "sse"
	overWS    = "ws"
)

// client is one connected client, whatever the transport: a pipe, a
// WebSocket, a session over HTTP, or a single modern HTTP request.
type client struct {
	s         *Server
	id        string // of the session or connection; "" for a single HTTP request
	transport string
	modern    bool    // a single modern HTTP request
	out       *outlet // frames about no request; nil over streamable HTTP
	lib       *libSession
	ctx       context.Context // ends with the session or connection
	end       context.CancelFunc
	eof       chan struct{} // closed when the input of a connection has ended; nil elsewhere

	running sync.WaitGroup // requests of a connection
	crew    crew           // that answers them

	mu sync.Mutex // guards the fields below
	// last is closed when the call that arrived last on a connection is
	// decided: results are picked in order of arrival.
	last        <-chan struct{}
	version     string // negotiated by initialize; "" before
	initialized bool   // notifications/initialized came
	greeted     bool   // initialize was answered: what is told to all reaches it too
	caps        json.RawMessage
	level       string                             // of logging/setLevel; "" when never set
	subscribed  map[string]bool                    // resources by URI
	listens     []*listen                          // subscriptions/listen under way
	inflight    map[string]context.CancelCauseFunc // requests of the client, by id
	pending     map[string]*question               // requests to the client, by id
	asked       int                                // how many there were
	streams     map[string]*stream                 // over streamable HTTP, by id
	opened      int                                // how many streams there were
}

// question is a request of ours that waits for the client's answer.
type question struct {
	method string
	answer chan mcpwire.Message
}

var errCancelled = errors.New("the client cancelled the request")

func (s *Server) newClient(ctx context.Context, id, transport string) *client {
	c := &client{s: s, id: id, transport: transport}
	c.ctx, c.end = context.WithCancel(ctx)
	c.lib = &libSession{c: c}
	return c
}

// greet notes that initialize was answered.
func (c *client) greet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.greeted = true
}

// handshake returns the version of the session, and whether there is one.
func (c *client) handshake() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, c.version != ""
}

// begin notes a request as under way. ctx ends when the client cancels it.
func (c *client) begin(ctx context.Context, r *request) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c.id == "" {
		return ctx, func() { cancel(nil) } // nobody can name it
	}
	key := r.Key()
	c.mu.Lock()
	if c.inflight == nil {
		c.inflight = make(map[string]context.CancelCauseFunc)
	}
	c.inflight[key] = cancel
	c.mu.Unlock()
	return ctx, func() {
		c.mu.Lock()
		delete(c.inflight, key)
		c.mu.Unlock()
		cancel(nil)
	}
}

// hang waits until nobody waits any more: ctx has ended, or the client says
// nothing from now on.
func (c *client) hang(ctx context.Context) {
	c.s.idle(ctx, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-c.eof:
		}
	})
}

// idle waits for what may never come. A clock with a method for that is told.
func (s *Server) idle(ctx context.Context, wait func(context.Context)) {
	clock, ok := s.opts.Clock.(interface{ Idle(ctx context.Context) })
	if !ok {
		wait(ctx)
		return
	}
	over, end := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() { clock.Idle(over) })
	wait(ctx)
	end()
	told.Wait()
}

// notified deals with a notification of the client.
func (c *client) notified(m mcpwire.Message) {
	switch m.Method {
	case "notifications/initialized":
		c.mu.Lock()
		c.initialized = true
		c.mu.Unlock()
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		c.mu.Lock()
		cancel := c.inflight[mcpwire.Key(p.RequestID)]
		c.mu.Unlock()
		if cancel != nil {
			cancel(errCancelled)
		}
	}
}

// answered deals with a response of the client. It reports whether anybody
// waits for it.
func (c *client) answered(m mcpwire.Message) bool {
	c.mu.Lock()
	q := c.pending[m.Key()]
	delete(c.pending, m.Key())
	c.mu.Unlock()
	if q == nil {
		return false
	}
	q.answer <- m
	return true
}

// askedFor is the method that a response of the client answers.
func (c *client) askedFor(m mcpwire.Message) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.pending[m.Key()]; q != nil {
		return q.method
	}
	return ""
}

// wire is where frames go: a connection, or the answer to an HTTP request.
type wire interface {
	// send writes one frame in the framing of the transport.
	send(frame []byte) error
	// reply writes the frame that is the answer, and is the last.
	reply(frame []byte, rpc *harness.RPCError) error
	// raw writes exactly these bytes, without framing.
	raw(b []byte) error
	// cut ends the connection without a word.
	cut()
	// closeOut ends the output in good order. Input is still read.
	closeOut()
	// open sends the head of an HTTP answer with that content type, "" for
	// none; text/event-stream makes it a stream. Elsewhere it does nothing.
	open(contentType string)
	// streaming reports whether the reply will be an event of a stream.
	streaming() bool
	// status answers an HTTP request with a status of its own; false when
	// there is none, or something was written already.
	status(code int, h http.Header, body []byte) bool
}

// outlet is where frames about one request go, or those of a connection that
// are about none. Each frame to a client goes through one.
type outlet struct {
	wire
	c      *client
	r      *request // nil when the frames are about no request
	strike *strike  // the fault that is to strike the request; nil for none

	mu    sync.Mutex // guards what follows
	noted time.Time  // when the last notification was sent
	news  time.Time  // when all clients were told something that is to overtake the reply
}

// tellsFirst has f tell all clients something that is to reach them before the
// reply.
func (o *outlet) tellsFirst(f func()) {
	f()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.news = time.Now()
}

// notify sends a notification about the request. params is anything that
// encodes as an object, or nil.
func (o *outlet) notify(method string, params any) error {
	var raw json.RawMessage
	if params != nil {
		raw = members(params)
	}
	o.mu.Lock()
	o.noted = o.c.s.opts.Clock.Now()
	o.mu.Unlock()
	return o.tell(method, raw)
}

// members encodes params; null for what encodes as null.
func members(params any) json.RawMessage {
	if raw := mcpwire.Marshal(params); string(raw) != "null" {
		return raw
	}
	return nil
}

// tell sends a notification.
func (o *outlet) tell(method string, params json.RawMessage) error {
	return o.write(harness.FrameNotification, method, nil, mcpwire.Message{Method: method, Params: params}.Encode())
}

// ask sends a request to a legacy client and waits for its answer.
func (o *outlet) ask(ctx context.Context, method string, params any) (json.RawMessage, *harness.RPCError, error) {
	c := o.c
	if c.id == "" {
		return nil, nil, fmt.Errorf("asking for %s: the client has no session to answer in", method)
	}
	q := &question{method, make(chan mcpwire.Message, 1)}
	c.mu.Lock()
	c.asked++
	id := strconv.Itoa(c.asked)
	if c.pending == nil {
		c.pending = make(map[string]*question)
	}
	c.pending[id] = q
	c.mu.Unlock()
	m := mcpwire.Message{ID: json.RawMessage(id), Method: method}
	if params != nil {
		m.Params = mcpwire.Marshal(params)
	}
	if err := o.write(harness.FrameRequest, method, m.ID, m.Encode()); err != nil {
		return nil, nil, fmt.Errorf("asking for %s: %w", method, err)
	}
	select {
	case a := <-q.answer:
		return a.Result, a.Error, nil
	case <-ctx.Done():
	case <-c.ctx.Done():
	case <-c.eof:
	}
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
	return nil, nil, fmt.Errorf("asking for %s: %w", method, context.Canceled)
}

// reply sends the answer to the request of o, a while after the last
// notification about it: clients lose those that come with the answer.
func (o *outlet) reply(ctx context.Context, frame []byte, rpc *harness.RPCError) {
	o.mu.Lock()
	noted, news := o.noted, o.news
	o.mu.Unlock()
	settle := o.c.s.script.Protocol.SettleTime()
	if !noted.IsZero() {
		clock := o.c.s.opts.Clock
		if left := settle - clock.Now().Sub(noted); left > 0 && clock.Sleep(ctx, left) != nil {
			return
		}
	}
	if !news.IsZero() && o.c.transport == overHTTP {
		// They went over another stream, and nothing but time has a client read
		// that one first: a clock that skips waits would not do.
		if left := settle - time.Since(news); left > 0 && harness.SystemClock().Sleep(ctx, left) != nil {
			return
		}
	}
	if o.strike != nil {
		o.strike.reply(ctx, o, frame)
		return
	}
	o.c.logFrame(harness.Frame{Kind: harness.FrameResponse, Method: o.r.Method, ID: o.r.ID, HTTP: o.httpStatus(rpc)}, frame)
	_ = o.wire.reply(frame, rpc)
}

// write is the one way out for all frames but replies.
func (o *outlet) write(kind harness.FrameKind, method string, id json.RawMessage, frame []byte) error {
	o.log(kind, method, id, frame, "")
	return o.wire.send(frame)
}

// log keeps a frame that is about to be written; fault names the fault that
// writes it.
func (o *outlet) log(kind harness.FrameKind, method string, id json.RawMessage, frame []byte, fault string) {
	o.c.logFrame(harness.Frame{Kind: kind, Method: method, ID: id, HTTP: o.httpStatus(nil), Fault: fault}, frame)
}

// httpStatus is the HTTP status that goes out with the next frame; "" where
// there is none.
func (o *outlet) httpStatus(rpc *harness.RPCError) string {
	if w, ok := o.wire.(*httpWire); ok {
		return w.nextStatus(rpc)
	}
	return ""
}

// forget has the server know the session of o no more.
func (o *outlet) forget() { o.c.s.forget(o.c) }

// stderr is where a server process complains; nil when it has no process.
func (o *outlet) stderr() io.Writer {
	if p := o.process(); p != nil {
		return p.Stderr()
	}
	return nil
}

// process is the process that the server plays for the client, or nil.
func (o *outlet) process() Process {
	if w, ok := o.wire.(*pipeWire); ok {
		return w.process
	}
	return nil
}

// request is one request of a client.
type request struct {
	mcpwire.Message
	client *client
	out    *outlet
	era    era
	params params
	// odd says that the library is to answer, for something is wrong.
	odd bool
	// after is closed when the call that arrived before on the same pipe has
	// been decided; nil when there is no such order. decided tells the next
	// call that this one has been.
	after   <-chan struct{}
	decided func()
}

// params are the members of a request's params that everybody needs.
type params struct {
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Cursor    string          `json:"cursor"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		Version       string          `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities  json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		LogLevel      string          `json:"io.modelcontextprotocol/logLevel"`
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// newRequest reads what a request says of itself. w takes the frames about it.
func (c *client) newRequest(m mcpwire.Message, w wire) *request {
	r := &request{Message: m, client: c, decided: func() {}}
	r.out = &outlet{wire: w, c: c, r: r}
	if len(m.Params) > 0 {
		r.odd = json.Unmarshal(m.Params, &r.params) != nil
	}
	switch {
	case !protocol.IsModern(r.params.Meta.Version):
	case c.s.knowsModern():
		r.era = modern
		r.odd = r.odd || !isObject(r.params.Meta.Capabilities)
	default:
		r.Frame = withoutMeta(m)
	}
	r.odd = r.odd || m.Version != "2.0"
	return r
}

// capabilities are what the client says it can do; an object, or null.
func (r *request) capabilities() json.RawMessage {
	if r.era == modern {
		return r.params.Meta.Capabilities
	}
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	return r.client.caps
}

// logLevel is the least level of log messages that the client wants about r.
// "" means that it never said: a modern client gets none, a legacy one what
// the server sees fit.
func (r *request) logLevel() string {
	if r.era == modern {
		return r.params.Meta.LogLevel
	}
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	return r.client.level
}
