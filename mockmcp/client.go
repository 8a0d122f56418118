// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// era is how a client deals with the server.
type era int

const (
	legacy era = iota // initialize opens a session
	modern            // 2026-07-28: each request stands for itself
)

// client is one connected client, whatever the transport: a pipe, a
// WebSocket, a session over HTTP, or a single modern HTTP request.
type client struct {
	s         *Server
	id        string // of the session or connection; "" for a single HTTP request
	transport string
	modern    bool            // a single modern HTTP request
	out       *outlet         // frames about no request; nil over streamable HTTP
	ctx       context.Context // ends with the session or connection
	end       context.CancelFunc
	eof       chan struct{} // closed when the input of a connection has ended; nil elsewhere

	running sync.WaitGroup // requests of a connection
	crew    crew           // that answers them

	line line // of the calls of a connection

	mu          sync.Mutex // guards the fields below
	version     string     // negotiated by initialize; "" before
	initialized bool       // notifications/initialized came
	greeted     bool       // initialize was answered: what is told to all reaches it too
	caps        json.RawMessage
	level       string                             // of logging/setLevel; "" when never set
	subscribed  map[string]bool                    // resources by URI
	listens     []*listen                          // subscriptions/listen under way
	inflight    map[string]context.CancelCauseFunc // requests of the client, by id
	pending     map[string]*clientRequest          // requests to the client, by id
	asked       int                                // how many there were
	streams     map[string]*stream                 // over streamable HTTP, by id
	opened      int                                // how many streams there were
}

// clientRequest is a request of ours that waits for the client's answer.
type clientRequest struct {
	method string
	answer chan mcpwire.Message
}

var errCancelled = errors.New("the client cancelled the request")

func (s *Server) newClient(ctx context.Context, id, transport string) *client {
	c := &client{s: s, id: id, transport: transport}
	c.ctx, c.end = context.WithCancel(ctx)
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

// unwatched is how a request is waited for by the machine's clock, which skips
// no time.
func unwatched(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

// begin notes a request as under way. ctx ends when the client cancels it.
func (c *client) begin(ctx context.Context, r *request) (context.Context, func()) {
	ctx, answered := c.s.waiting(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	if c.id == "" {
		return ctx, func() { answered(); cancel(nil) } // nobody can name it
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
		answered()
		cancel(nil)
	}
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

// sink is where frames go: a connection, or the answer to an HTTP request.
type sink interface {
	// send writes one frame in the framing of the transport.
	send(frame []byte) error
	// reply writes the frame that is the answer, and is the last.
	reply(frame []byte, rpc *jsonrpc.Error) error
	// raw writes exactly these bytes, without framing.
	raw(b []byte) error
	// cut ends the connection abruptly; a process ends with that code.
	cut(code int)
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
	// nextStatus is the HTTP status that goes out with the next frame, which
	// may have that error; "" where there is none, or it has gone out.
	nextStatus(rpc *jsonrpc.Error) string
	// closeStream ends the connection of a stream that the client can come
	// back to, after retry. Elsewhere it does nothing.
	closeStream(retry time.Duration)
	// process is the process that the server plays for the client, or nil.
	process() Process
}

// outlet is where frames about one request go, or those of a connection that
// are about none. Each frame to a client goes through one.
type outlet struct {
	sink
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
	o.noted = o.c.s.now()
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
	return o.write(jsonrpc.FrameNotification, method, nil, mcpwire.Message{Method: method, Params: params}.Encode())
}

// reply sends the answer to the request of o, a while after the last
// notification about it: clients lose those that come with the answer.
func (o *outlet) reply(ctx context.Context, frame []byte, rpc *jsonrpc.Error) {
	o.mu.Lock()
	noted, news := o.noted, o.news
	o.mu.Unlock()
	settle := o.c.s.settle
	if !noted.IsZero() {
		clock := o.c.s.opts.Clock
		if left := settle - o.c.s.now().Sub(noted); left > 0 && clock.Sleep(ctx, left) != nil {
			return
		}
	}
	if !news.IsZero() && o.c.transport == fault.HTTP {
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
	o.c.logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameResponse, Method: o.r.Method, ID: o.r.ID, HTTP: o.nextStatus(rpc)}, frame)
	_ = o.sink.reply(frame, rpc)
}

// write is the one way out for all frames but replies.
func (o *outlet) write(kind jsonrpc.FrameKind, method string, id json.RawMessage, frame []byte) error {
	o.log(kind, method, id, frame, "")
	return o.sink.send(frame)
}

// log keeps a frame that is about to be written; fault names the fault that
// writes it.
func (o *outlet) log(kind jsonrpc.FrameKind, method string, id json.RawMessage, frame []byte, fault string) {
	o.c.logFrame(jsonrpc.Frame{Kind: kind, Method: method, ID: id, HTTP: o.nextStatus(nil), Fault: fault}, frame)
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

// request is one request of a client.
type request struct {
	mcpwire.Message
	client *client
	out    *outlet
	era    era
	params params
	unread error // the params are of the wrong type
	// after is closed when the call that arrived before has been decided; nil where
	// there was none. decided tells the next call that this one has been.
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
func (c *client) newRequest(m mcpwire.Message, w sink) *request {
	r := &request{Message: m, client: c, decided: func() {}}
	r.out = &outlet{sink: w, c: c, r: r}
	if len(m.Params) > 0 {
		r.unread = json.Unmarshal(m.Params, &r.params)
	}
	if c.s.isModern(r.params.Meta.Version) {
		r.era = modern
	}
	if r.params.Cursor != "" {
		r.endlessCursor()
	}
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

// gauge counts what goes on, for those who wait until nothing does.
type gauge struct {
	mu   sync.Mutex // guards what follows
	n    int
	zero chan struct{} // closed when n becomes 0; nil when nobody waits
}

func (g *gauge) add(d int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n += d; g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

// begin counts a session in, unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sessions.Add(1)
	if s.changes != nil {
		s.changes.start()
	}
	return true
}

// outcome is what a request is answered with: result or rpc.
type outcome struct {
	result json.RawMessage // without what the era adds to each result
	meta   json.RawMessage // the script's _meta of the result, or null
	rpc    *jsonrpc.Error
	// kind is the resultType of 2026-07-28; "" means complete.
	kind string
	// cached adds the hints of 2026-07-28 for lists and reads.
	cached bool
	// sent is told of the result as it goes out; after is called when it has.
	// Both may be nil.
	sent  func(result json.RawMessage)
	after func()
}

// method answers the requests of one method. nil means that there is no
// answer.
type method func(ctx context.Context, r *request) *outcome

// extend adds the members of the object more to object. Both are compact.
func extend(object, more []byte) []byte {
	if len(more) <= len("{}") {
		return object
	}
	b := make([]byte, 0, len(object)+len(more))
	b = append(b, object[:len(object)-1]...)
	if len(object) > len("{}") {
		b = append(b, ',')
	}
	return append(b, more[1:]...)
}

// wrap puts the members of the era into a result.
func (s *Server) wrap(r *request, o *outcome) json.RawMessage {
	result, meta := o.result, o.meta
	if len(result) == 0 {
		result = json.RawMessage(`{}`)
	}
	if r.era == modern {
		result = extend(result, fmt.Appendf(nil, `{"resultType":%q}`, cmp.Or(o.kind, "complete")))
		if o.cached {
			result = extend(result, []byte(`{"ttlMs":0,"cacheScope":"private"}`))
		}
		meta = extend(s.serverInfo, meta)
	}
	if len(meta) > 0 {
		result = extend(result, slices.Concat([]byte(`{"_meta":`), meta, []byte(`}`)))
	}
	return result
}

// serveRequest answers one request, unless its client goes away or cancels it.
func (s *Server) serveRequest(ctx context.Context, r *request) {
	defer r.decided()
	ctx, done := r.client.begin(ctx, r)
	defer done()
	if r.Method != mcpwire.MethodListen {
		s.working.add(1)
		defer s.working.add(-1)
	}
	if st := r.out.strike; st == nil || !st.before(ctx, r.out) {
		s.answer(ctx, r)
	}
}

// answer answers a request that no fault has dealt with.
func (s *Server) answer(ctx context.Context, r *request) {
	defer s.weigh()
	o := s.respond(ctx, r)
	if o == nil || ctx.Err() != nil {
		return
	}
	if o.rpc == nil {
		o.result = s.wrap(r, o)
	}
	if o.sent != nil {
		o.sent(o.result)
	}
	r.out.reply(ctx, encodeReply(r.ID, o), o.rpc)
	if r.Method == mcpwire.MethodInitialize {
		r.client.greet()
	}
	if o.after != nil {
		o.after()
	}
}

// encodeReply is a reply on one line.
func encodeReply(id json.RawMessage, o *outcome) []byte {
	return mcpwire.EncodeReply(id, o.result, o.rpc)
}

// respond answers a request by the rules of the protocol, and those that are
// in order by what is scripted.
func (s *Server) respond(ctx context.Context, r *request) *outcome {
	switch {
	case r.Method == mcpwire.MethodDiscover && s.mode == ModernSilent:
		r.client.hang(ctx)
		return nil
	case r.era == modern && (s.mode == ModernReject || !slices.Contains(s.modernVersions, r.params.Meta.Version)):
		return s.unsupported(r)
	case r.era == legacy:
		if o := s.refuseLegacy(r); o != nil {
			return o
		}
	}
	answer := s.answers[r.Method]
	switch {
	case r.Version != "2.0":
		return fails(mcpwire.CodeInvalidRequest, "Invalid JSON-RPC version")
	case r.era == modern && !mcpwire.IsObject(r.params.Meta.Capabilities):
		return fails(mcpwire.CodeInvalidParams, "missing or invalid _meta field %s", mcpwire.MetaCapabilities)
	case answer == nil:
		return r.lacking()
	case r.unread != nil:
		return unparsable(r.Method, r.unread)
	}
	return answer(ctx, r)
}

// refuseLegacy refuses a request that the legacy era does not allow. A server
// that serves modern clients as well takes requests without a handshake; one
// that knows only the old era does not.
func (s *Server) refuseLegacy(r *request) *outcome {
	switch {
	case len(s.legacyVersions) == 0:
		return fails(mcpwire.CodeInvalidParams, "missing or invalid _meta field %s", mcpwire.MetaVersion)
	case r.Method == mcpwire.MethodDiscover, r.Method == mcpwire.MethodListen:
		return fails(mcpwire.CodeNoMethod, "Method %s not found", r.Method)
	case s.mode == ModernOn || r.Method == mcpwire.MethodInitialize || r.Method == mcpwire.MethodPing || r.client.id == "":
		return nil
	}
	if _, ok := r.client.handshake(); ok || s.answers[r.Method] == nil || early(r.Method) {
		return nil
	}
	return fails(mcpwire.CodeInvalidRequest, "%s before initialize", r.Method)
}

// early reports whether a method may come before the handshake, which
// 2026-07-28 has removed.
func early(method string) bool {
	return method == mcpwire.MethodSetLevel || method == methodSubscribe || method == methodUnsubscribe
}

// isModern reports whether a version is one of 2026-07-28 or later, and the
// server has heard of those.
func (s *Server) isModern(version string) bool {
	return version >= mcpwire.FirstModern && (s.mode == ModernOn || s.mode == ModernReject)
}
