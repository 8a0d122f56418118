// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/profile"
)

// headers are values of answers, kept so that they are not made for each.
type headers struct{ json, google, sse, noCache, chunked, version, no []string }

func newHeaders() headers {
	return headers{
		json: []string{"application/json"}, google: []string{"application/json; charset=UTF-8"},
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
	*x = exchange{entry: &entry{start: m.opts.Clock.Now()}, m: m, w: w, r: r, path: path}
	m.serveExchange(x)
	if x.quick { // else something may still look at it
		*x = exchange{}
		exchanges.Put(x)
	}
}

func (m *Mock) serveExchange(x *exchange) {
	r, path := x.r, x.path
	if m.profile.Proxy() && m.serveProxy(x) {
		return
	}
	route, rest, known := m.routing.find(r.Method, path)
	if route != nil {
		x.speech, x.rest = route.speech, rest
	}
	lacks := m.lacks(x)
	if route == nil || lacks {
		x.speech = m.errorSpeech(x)
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
	case route.speech != nil:
		m.serveSpeech(x)
	default:
		route.serve(m, x)
	}
}

// unknownPath answers what is no endpoint of the profile. A POST to another
// endpoint of the provider is a miss, since the mock could have been asked for
// it by mistake only.
func (m *Mock) unknownPath(x *exchange) {
	x.stray = true
	hint := ""
	if _, _, known := m.routing.find(x.r.Method, x.path); known && m.lacks(x) {
		hint = fmt.Sprintf(": the profile %s has no such endpoint, others have, such as %s", m.profile.Name, m.profileWith(x.path))
	}
	if x.r.Method == http.MethodPost && strings.HasPrefix(x.path, "/v1") {
		if hint == "" {
			hint = ": a mock model has no such endpoint" + m.nearPath(x)
		}
		m.miss(x, fmt.Sprintf("%s %s%s", x.r.Method, x.path, hint))
		return
	}
	if m.routing.exact["/v1"+x.path] != nil {
		hint = fmt.Sprintf(": did you mean /v1%s? The base URL ends in /v1", x.path)
	}
	m.refuse(x, &dialect.Refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Invalid URL (%s %s)%s", x.r.Method, x.path, hint),
	})
}

// noAdmin answers what asks for the mock itself and is no route of it. It is no
// request to the provider, so that the journal has nothing of it.
func (m *Mock) noAdmin(x *exchange) {
	m.adminError(x, fmt.Sprintf("there is no %s %s; there are GET journal, POST reset and POST cue/NAME", x.r.Method, x.path))
}

func (m *Mock) adminError(x *exchange, message string) {
	x.w.Header()["Content-Type"] = m.headers.json
	x.w.WriteHeader(http.StatusNotFound)
	m.writeJSON(x.w, map[string]any{"error": map[string]string{
		"type":    "rehearse_admin",
		"message": message,
	}})
}

// profileWith is a profile that has an endpoint: the plain one if it can be.
func (m *Mock) profileWith(path string) string {
	for _, name := range profile.Names() {
		if p, ok := profile.Lookup(name); ok && p.Has(path) {
			return name
		}
	}
	return "none"
}

// nearPath names an endpoint that the client may have meant.
func (m *Mock) nearPath(x *exchange) string {
	var paths []string
	for path, list := range m.routing.exact {
		if list[0].method == x.r.Method && m.profile.Has(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	if near := harness.Suggest(x.path, paths); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

func (m *Mock) serveModels(x *exchange) {
	if m.serveOtherModels(x) {
		return
	}
	type list struct {
		Object string      `json:"object"`
		Data   []wireModel `json:"data"`
	}
	l := list{Object: "list"}
	for _, id := range m.models() {
		l.Data = append(l.Data, newWireModel(id))
	}
	m.writeJSON(x.w, l)
}

func (m *Mock) models() []string {
	if len(m.program.Models) == 0 {
		return []string{"rehearse-mock"}
	}
	return m.program.Models
}

func (m *Mock) serveModel(x *exchange) {
	if m.serveMethod(x) || m.serveOtherModels(x) {
		return
	}
	if r := m.unknownModel(x.rest); r != nil {
		m.writeError(x, r)
		return
	}
	m.writeJSON(x.w, newWireModel(x.rest))
}

// unknownModel refuses a model that is not listed.
func (m *Mock) unknownModel(id string) *dialect.Refusal {
	if len(m.program.Models) == 0 {
		return nil
	}
	for _, known := range m.program.Models {
		if id == known {
			return nil
		}
	}
	return &dialect.Refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found",
		Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", id),
	}
}

func (m *Mock) serveJournal(x *exchange) {
	list := m.Journal()
	if list == nil {
		list = []harness.Exchange{}
	}
	m.writeJSON(x.w, list)
}

func (m *Mock) serveReset(x *exchange) {
	m.Reset()
	x.w.WriteHeader(http.StatusNoContent)
}

func (m *Mock) writeJSON(w http.ResponseWriter, v any) {
	w.Header()["Content-Type"] = m.headers.json
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client is gone
}

// buffers hold request and reply bodies while they are needed.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// exchanges are those that are over and that nothing looks at any more.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// maxPooled is the largest buffer that is kept for later.
const maxPooled = 1 << 20

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

// serveSpeech answers one model request.
func (m *Mock) serveSpeech(x *exchange) {
	refusal := m.read(x)
	if refusal == nil && len(m.program.Models) > 0 {
		refusal = m.unknownModel(x.chat.Model())
	}
	if refusal == nil {
		aside, label, err := m.ruleFor(m.program.asides, 0, x.chat)
		if err != nil {
			m.fail(x, err)
			return
		}
		if aside != nil {
			x.habits, x.kind = m.habits(x), harness.KindAside
			m.answerRule(x, aside, label)
			return
		}
		if m, err = m.laneOf(x); err != nil {
			x.m.fail(x, err)
			return
		}
		refusal = m.unechoed(x)
	}
	if refusal != nil {
		m.refuse(x, refusal)
		return
	}
	x.habits = m.habits(x)
	if m.answerOverflow(x) {
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
	x.before = m.prev.Load()
	x.chat, refusal = x.speech.decode(x, b.Bytes(), m.memory.last.Load())
	return refusal
}

// readBody reads the request's body into b, which is empty.
func (m *Mock) readBody(x *exchange, b *bytes.Buffer) error {
	n, limit := x.r.ContentLength, int64(m.opts.MaxBodyBytes)
	if n <= 0 || n > limit {
		_, err := b.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, limit))
		return err
	}
	b.Grow(int(n))
	p := b.AvailableBuffer()[:n]
	if _, err := io.ReadFull(x.r.Body, p); err != nil {
		return err
	}
	b.Write(p) // where it stands already
	return nil
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
		m.inTurn(x, s)
		if x.met = m.pickFault(x, s, nil); x.met == nil {
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
		m.hold(x, s.script)
		sp, err := m.speakAt(s, x)
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
		rule, label, err := m.ruleFor(m.program.rules, len(m.program.asides), x.chat)
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
	x.met = m.pickFault(x, nil, rule)
	m.mu.Unlock()
	if m.playBefore(x) {
		return
	}
	m.hold(x, rule.reply)
	sp, err := m.speak(rule.reply, x, 0, 0, label)
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
	if x.met == nil {
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
	e.duration = m.opts.Clock.Now().Sub(e.start)
	m.journal.add(e)
	if problem != nil {
		m.journal.problem(problem)
	}
	m.mu.Unlock()
	m.observe(e, problem)
}

// recordDelivered records a reply that is about to be sent as a whole, and
// settles it.
func (m *Mock) recordDelivered(x *exchange) {
	if m.root != nil {
		m = m.root
	}
	m.mu.Lock()
	m.journal.add(x.entry)
	x.settled(true)
	m.mu.Unlock()
	m.observe(x.entry, nil)
}

func (m *Mock) observe(e *entry, problem error) {
	if m.opts.Observe != nil {
		m.opts.Observe(e.kind, e.fault)
	}
	if problem != nil {
		m.logf("%v", problem)
	}
}

// refuse answers as the provider would.
func (m *Mock) refuse(x *exchange, r *dialect.Refusal) {
	x.kind, x.status, x.err = harness.KindRefusal, r.Status, r.Error()
	m.record(x.entry, errors.New("refused: "+x.err))
	m.writeError(x, r)
}

// miss answers a request that nobody scripted.
func (m *Mock) miss(x *exchange, why string) {
	m.mu.Lock()
	text := m.explain(x.chat, why)
	m.mu.Unlock()
	x.kind, x.status, x.err = harness.KindMiss, http.StatusUnprocessableEntity, text
	m.record(x.entry, errors.New("miss: "+text))
	m.writeError(x, &dialect.Refusal{Status: x.status, Type: "rehearse_miss", Code: "rehearse_miss", Message: text})
}

// fail answers when the script itself is wrong.
func (m *Mock) fail(x *exchange, err error) {
	x.kind, x.status, x.err = harness.KindScript, http.StatusInternalServerError, err.Error()
	if where := (*locatedError)(nil); errors.As(err, &where) && !where.pos.IsZero() {
		x.pos = where.pos
	}
	m.record(x.entry, fmt.Errorf("script: %w", err))
	m.writeError(x, &dialect.Refusal{Status: x.status, Type: "rehearse_script", Code: "rehearse_script", Message: x.err})
}

func (m *Mock) writeError(x *exchange, r *dialect.Refusal) {
	h := x.w.Header()
	m.common(x)
	if b := m.envelope(x, r); b != nil {
		m.sendError(x, b)
		return
	}
	h["Content-Type"] = m.headers.json
	switch {
	case x.speech != nil && x.speech.name == gemini:
		h["Content-Type"] = m.headers.google
	case r.Status != http.StatusTooManyRequests:
		h["X-Should-Retry"] = m.headers.no
	}
	var body []byte
	if x.speech != nil && x.speech.refuse != nil {
		body = x.speech.refuse(x, r)
	} else {
		body = r.Body()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(r.Status)
	_, _ = x.w.Write(body) // the client is gone
}

// sendError sends an error as a profile writes it.
func (m *Mock) sendError(x *exchange, b *llmwire.Body) {
	h := x.w.Header()
	for k, v := range b.Header {
		h[k] = v
	}
	n := 0
	for _, f := range b.Frames {
		n += len(f.Data)
	}
	h.Set("Content-Length", strconv.Itoa(n))
	x.w.WriteHeader(b.Status)
	for _, f := range b.Frames {
		_, _ = x.w.Write(f.Data) // the client is gone
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
	case x.speech == nil || !x.speech.plain:
		h["X-Request-Id"] = []string{x.answerID()}
		h["Openai-Version"] = m.headers.version
	case x.speech.idHeader != "":
		h[x.speech.idHeader] = []string{x.answerID()}
	}
	for k, v := range x.habits.header {
		if v == nil {
			delete(h, k)
		} else {
			h[k] = v
		}
	}
}
