// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/gate"
)

// headers are values of answers, kept so that they are not made for each.
type headers struct{ json, sse, noCache, chunked, version, no []string }

func newHeaders() headers {
	return headers{
		json:    []string{"application/json"},
		sse:     []string{"text/event-stream; charset=utf-8"},
		noCache: []string{"no-cache"}, chunked: []string{"chunked"}, version: []string{"2020-10-01"}, no: []string{"false"},
	}
}

// ServeHTTP answers the routes of the dialects (POST /v1/chat/completions, GET
// /v1/models and others), GET /rehearse/journal and POST /rehearse/reset.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.serve(w, r, r.URL.Path) }

// serve answers a request whose path, below the mock's root, is path.
func (m *Mock) serve(w http.ResponseWriter, r *http.Request, path string) {
	if !m.enter() {
		http.Error(w, "the mock is closed", http.StatusServiceUnavailable)
		return
	}
	defer m.wg.Done()
	x := exchanges.Get().(*exchange)
	x.entry = &entry{start: m.now(), path: path, headers: m.headersOf(r)}
	x.m, x.w, x.r, x.path = m, w, r, path
	m.serveExchange(x)
	if x.over { // else something may still look at it
		*x = exchange{}
		exchanges.Put(x)
	}
}

// headersOf are the headers of a request as the journal keeps them. Most
// clients send the same with each: those are kept once.
func (m *Mock) headersOf(r *http.Request) map[string]string {
	if p := m.lastHeaders.Load(); p != nil && dialect.SameHeaders(r.Header, *p) {
		return *p
	}
	now := dialect.Headers(r.Header, nil)
	m.lastHeaders.Store(&now)
	return now
}

func (m *Mock) serveExchange(x *exchange) {
	r, path := x.r, x.path
	if m.profile.Proxy() && m.serveProxy(x) {
		return
	}
	route, rest, known := m.routing.find(r.Method, path)
	if route != nil {
		x.api, x.rest = route.api, rest
	}
	lacks := !m.profile.Has(path) && m.lacks(x)
	if route == nil || lacks {
		x.api = m.profile.Errors(path)
	}
	switch {
	case route == nil && (path == "/rehearse" || strings.HasPrefix(path, "/rehearse/")):
		m.noAdmin(x)
	case (route != nil || known) && lacks, route == nil && !known:
		m.unknownPath(x)
	case route == nil:
		x.stray = true
		m.refuse(x, &dialect.Refusal{
			Status: http.StatusMethodNotAllowed, Type: "invalid_request_error",
			Message: fmt.Sprintf("Not allowed to %s on %s.", r.Method, path),
		})
	case route.api != nil:
		m.serveModel(x)
	default:
		route.serve(m, x)
	}
}

func (m *Mock) writeJSON(w http.ResponseWriter, v any) {
	w.Header()["Content-Type"] = m.headers.json
	_ = exactjson.Write(w, v) // the client is gone
}

// buffers hold request and reply bodies while they are needed.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// exchanges are those that are over and that nothing looks at any more. They are
// empty.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// maxPooled is the largest buffer that is kept for later.
const maxPooled = 1 << 20

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

// serveModel answers one model request.
func (m *Mock) serveModel(x *exchange) {
	refusal := m.read(x)
	if refusal == nil && len(m.program.Models) > 0 {
		refusal = m.unknownModel(x.chat.Model())
	}
	if refusal == nil && x.chat.Silent {
		m.answerNothing(x)
		return
	}
	if refusal == nil {
		aside, label, err := m.ruleFor(m.program.asides, 0, x)
		if err != nil {
			m.fail(x, err)
			return
		}
		if aside != nil {
			x.preset, x.kind = m.presetOf(x), harness.KindAside
			m.answerRule(x, aside, label)
			return
		}
		if len(m.program.lanes) > 0 {
			if m, err = m.laneOf(x); err != nil {
				x.m.fail(x, err)
				return
			}
		}
		if m.echoes && x.api.ChatFields {
			refusal = m.unechoed(x)
		}
	}
	if refusal != nil {
		m.refuse(x, refusal)
		return
	}
	if x.proxied != nil {
		x.preset = m.presetOf(x)
	}
	if m.program.ContextWindow > 0 && m.answerOverflow(x) {
		return
	}
	m.answerPosition(x)
}

// read reads the request's body.
func (m *Mock) read(x *exchange) (refusal *dialect.Refusal) {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	if err := m.readBody(x, b); err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
			err = fmt.Errorf("the request is larger than %d bytes", tooLarge.Limit)
		}
		return &dialect.Refusal{Status: status, Type: "invalid_request_error", Message: "reading the request: " + err.Error()}
	}
	x.before, x.dialect = m.prev.Load(), x.api.Name
	body := b.Bytes()
	if m.program.lenient {
		body = respelled(body)
	}
	x.chat, refusal = x.decode(body)
	return refusal
}

// readBody reads the request's body into b, which is empty.
func (m *Mock) readBody(x *exchange, b *bytes.Buffer) error {
	n, limit := x.r.ContentLength, int64(m.opts.MaxBodyBytes)
	if n <= 0 || n > limit {
		_, err := b.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, limit))
		return err
	}
	return gate.ReadAnnounced(b, x.r.Body, n)
}

// remember keeps a request that took its place in the conversation.
func (m *Mock) remember(c *dialect.Chat) {
	m.prev.Store(c)
	m.memory.last.Store(c)
}

// answerPosition answers a request by its position, or by a rule.
func (m *Mock) answerPosition(x *exchange) {
	m.mu.Lock()
	s, why, final := m.locate(x.chat)
	if s != nil {
		x.served, x.kind = s, harness.KindReply
		x.turn, x.reply, x.attempt, x.pos = s.turn+1, s.reply+1, s.attempts, s.script.Pos
		x.compacted = s.compacted
		if m.root != nil {
			m.inTurn(x, s)
		}
		if x.struckBy = m.pickFault(x, s, nil); x.struckBy == nil {
			x.repeated = s.clean > 0
			s.taken = true
		}
		m.remember(x.chat)
	}
	m.mu.Unlock()
	switch {
	case s != nil:
		if m.playBefore(x) {
			return
		}
		if s.script.Hold != "" {
			m.hold(x, s.script)
		}
		sp, err := m.giveAt(s, x)
		if err == nil {
			err = m.answer(x, sp)
		}
		if err == nil {
			return
		}
		m.mu.Lock()
		m.withdraw(s)
		m.mu.Unlock()
		if script := (*scriptError)(nil); errors.As(err, &script) {
			m.fail(x, located(place(s.turn+1, s.reply+1, harness.Position{}), s.script.Pos, script.err))
			return
		}
		m.miss(x, fmt.Sprintf("%s: %s", m.placeOf(s), err))
		return
	case !final:
		rule, label, err := m.ruleFor(m.program.rules, len(m.program.asides), x)
		if err != nil {
			m.fail(x, err)
			return
		}
		if rule != nil {
			m.remember(x.chat)
			x.kind = harness.KindRule
			m.answerRule(x, rule, label)
			return
		}
	}
	m.miss(x, why)
}

func (m *Mock) answerRule(x *exchange, rule *rule, label string) {
	x.pos = rule.Pos
	m.mu.Lock()
	x.struckBy = m.pickFault(x, nil, rule)
	m.mu.Unlock()
	if m.playBefore(x) {
		return
	}
	if rule.reply.Hold != "" {
		m.hold(x, rule.reply)
	}
	sp, err := m.giveReply(rule.reply, x, 0, 0, label)
	if err == nil {
		err = m.answer(x, sp)
	}
	switch script := (*scriptError)(nil); {
	case errors.As(err, &script):
		m.fail(x, located("reply of a rule", rule.Pos, script.err))
	case err != nil:
		m.miss(x, at(rule.Pos)+err.Error())
	}
}

// playBefore plays what the request's fault does before anything is sent. It
// reports whether that was all.
func (m *Mock) playBefore(x *exchange) (done bool) {
	if x.struckBy == nil {
		return false
	}
	x.effects = m.behind(x, m.effectsOf(x))
	return x.effects.before != nil && x.effects.before(x)
}

// record enters e into the journal.
func (m *Mock) record(e *entry, problem error) {
	if m.root != nil {
		m = m.root
	}
	m.mu.Lock()
	e.duration = m.now().Sub(e.start)
	m.journal.add(e)
	if problem != nil {
		m.journal.problem(problem)
	}
	m.mu.Unlock()
	m.observe(e, problem)
}

func (m *Mock) observe(e *entry, problem error) {
	if m.opts.Observe != nil {
		m.opts.Observe(e.kind, e.fault)
	}
	if problem != nil {
		m.logf("%v", problem)
	}
}

// answerID names an answer in its headers.
func (e *entry) answerID() string {
	const prefix, digits = "req_", 32
	var id [len(prefix) + digits]byte
	copy(id[:], prefix)
	n := uint64(e.seq)
	for i := len(id) - 1; i >= len(prefix); i-- {
		id[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
	return string(id[:])
}

// common sets the headers of every answer.
func (m *Mock) common(x *exchange) {
	h := x.w.Header()
	switch {
	case x.api == nil || x.api.OpenAI && x.proxied == nil:
		h["X-Request-Id"] = []string{x.answerID()}
		h["Openai-Version"] = m.headers.version
	case x.api.IDHeader != "" && x.proxied == nil:
		h[x.api.IDHeader] = []string{x.answerID()}
	}
	for k, v := range x.preset.header {
		if v == nil {
			delete(h, k)
		} else {
			h[k] = v
		}
	}
}

// routing finds routes by path.
type routing struct {
	exact  map[string][]*route
	prefix []*route
}

// find returns the route of a request. When only the method is wrong, known
// is true.
func (t *routing) find(method, path string) (r *route, rest string, known bool) {
	for _, r := range t.exact[path] {
		if r.method == method {
			return r, "", true
		}
		known = true
	}
	if known {
		return nil, "", true
	}
	n := 0
	for _, c := range t.prefix {
		after, ok := strings.CutPrefix(path, c.path)
		if !ok || after == "" || len(c.path) < n {
			continue
		}
		known = true
		if c.method == method && len(c.path) > n {
			r, rest, n = c, after, len(c.path)
		}
	}
	return r, rest, known
}

// decode reads a request in its dialect. The chat is nil when there is none to
// speak of.
func (x *exchange) decode(body []byte) (*dialect.Chat, *dialect.Refusal) {
	x.query.Prev, x.query.Held = x.m.memory.last.Load(), x.m.held
	if x.proxied != nil {
		return x.m.decodeProxied(x, body)
	}
	return x.decodeOwn(body)
}

// decodeOwn is decode as the provider itself does it.
func (x *exchange) decodeOwn(body []byte) (*dialect.Chat, *dialect.Refusal) {
	p := x.m.profile
	req, refusal := x.api.Read(body, &x.query)
	if r := p.Demands(x.r); r != nil {
		refusal = r
	}
	if req == nil {
		return nil, refusal
	}
	x.request = req
	c := req.AsChat()
	if refusal == nil && p.Strict() {
		refusal = c.Unsupported()
	}
	if refusal == nil {
		refusal = p.Serves(x.api, c.Model())
	}
	return c, refusal
}

// write writes a reply in the dialect of the request.
func (x *exchange) write(r *dialect.Reply) *dialect.Body {
	if x.proxied != nil {
		return x.m.writeProxied(x, r)
	}
	return x.writeOwn(r)
}

// writeOwn is write without the changes of a proxy.
func (x *exchange) writeOwn(r *dialect.Reply) *dialect.Body {
	w := dialect.Writing{Style: x.style, Stream: x.stream(), Hidden: x.m.profile.Behind(), Held: x.m.held, Buffers: x.buffers}
	if x.proxied != nil {
		w.Proxied, w.Settings = true, x.echoedSettings()
	}
	return x.request.Write(r, w)
}

// exchange is a request on its way through the mock.
type exchange struct {
	*entry   // what the journal keeps of it
	m        *Mock
	w        http.ResponseWriter
	r        *http.Request
	api      *dialect.Dialect // nil for anything that is not a model request
	query    dialect.Query    // what is known of it beside its body
	request  dialect.Request  // nil until it was read
	path     string           // below the mock's root
	rest     string           // of the path, after that of the route
	served   *served          // its position; nil for asides and rules
	struckBy *Fault           // the fault that it meets; nil is none
	effects  effects          // of it
	// scriptErr is why the condition of a fault could not be answered.
	scriptErr error
	// wire is the reply as it was rendered. flipped renders it for a stream
	// where none was asked for, and the other way round.
	wire    *dialect.Reply
	flipped bool
	preset  preset
	over    bool             // nothing looks at it any more
	buffers *dialect.Buffers // that the reply is written into
	sender  sender
	said    replyRoom
	drawn   *lots    // nil until a rule or a fault with a chance asks
	proxied *proxied // for endpoints that stand before the models
	// style is that of the habits with the fragments of the script. Nil is
	// the provider's way, as far as a reply is not rendered.
	style *dialect.Style
}

// replyRoom has a reply with room for one choice and one call, which most have.
type replyRoom struct {
	dialect.Reply
	choice [1]dialect.Choice
	call   [1]dialect.Call
}

// stream reports whether a reply is to be written as a stream.
func (x *exchange) stream() bool {
	stream := x.chat.Stream()
	if x.proxied != nil { // which goes by more than the dialect allows
		stream = x.proxied.ask.Stream
	}
	return stream != x.flipped
}

// plainChat reports whether the dialect is that of chat completions, as the
// provider has it.
func (x *exchange) plainChat() bool { return x.api.ChatFields && x.proxied == nil }

// enter reports whether the mock is open, and if so counts a request that
// m.wg.Done ends.
func (m *Mock) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.wg.Add(1)
	return true
}

// ServeHTTP hands a request to the mock whose name begins its path.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.RLock()
	rules := h.rules
	h.mu.RUnlock()
	rules.Handler(http.HandlerFunc(h.route)).ServeHTTP(w, r)
}

func (h *Host) route(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	h.mu.RLock()
	m := h.mounts[name]
	h.mu.RUnlock()
	if m == nil {
		http.Error(w, fmt.Sprintf("no mock model is mounted at %q", r.URL.Path), http.StatusNotFound)
		return
	}
	m.serve(w, r, r.URL.Path[1+len(name):])
}

// connState keeps track of connections that a client has opened and not used,
// which Shutdown would wait five seconds for.
func (h *Host) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		h.fresh.Store(c, nil)
	case http.StateActive, http.StateClosed:
		h.fresh.Delete(c)
	}
}

func (e *entry) size() int {
	n := entryBytes + len(e.err)
	if e.chat != nil {
		n += e.chat.Size()
	}
	if e.changed != nil {
		n += len(e.changed.Choices[0].Text)
	}
	return n
}

// add enters e, and forgets the oldest entries beyond the budget.
func (j *journal) add(e *entry) {
	j.seq++
	e.seq = j.seq
	j.entries = append(j.entries, sized{e, e.size()})
	j.size += j.entries[len(j.entries)-1].size
	drop := 0
	for (j.size > j.limit || len(j.entries)-drop > j.most) && drop < len(j.entries)-1 {
		j.size -= j.entries[drop].size
		j.entries[drop] = sized{}
		drop++
	}
	j.entries = j.entries[drop:]
}
