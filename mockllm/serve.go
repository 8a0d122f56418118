// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
)

// headers are values of answers, kept so that they are not made for each.
type headers struct{ json, sse, noCache, chunked, version, no []string }

func newHeaders() headers {
	return headers{
		json: []string{"application/json"}, sse: []string{"text/event-stream; charset=utf-8"},
		noCache: []string{"no-cache"}, chunked: []string{"chunked"}, version: []string{"2020-10-01"}, no: []string{"false"},
	}
}

// ServeHTTP answers POST /v1/chat/completions, GET /v1/models and
// /v1/models/{id}, GET /rehearse/journal and POST /rehearse/reset.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.serve(w, r, r.URL.Path) }

// serve answers a request whose path, below the mock's root, is path.
func (m *Mock) serve(w http.ResponseWriter, r *http.Request, path string) {
	if !m.enter() {
		http.Error(w, "the mock is closed", http.StatusServiceUnavailable)
		return
	}
	defer m.wg.Done()
	method := http.MethodGet
	var answer func(http.ResponseWriter, *http.Request)
	switch id, isModel := strings.CutPrefix(path, "/v1/models/"); {
	case path == "/v1/chat/completions":
		method, answer = http.MethodPost, m.serveChat
	case path == "/v1/models":
		answer = m.serveModels
	case isModel:
		answer = func(w http.ResponseWriter, _ *http.Request) { m.serveModel(w, id) }
	case path == "/rehearse/journal":
		answer = m.serveJournal
	case path == "/rehearse/reset":
		method, answer = http.MethodPost, m.serveReset
	default:
		m.unknownPath(w, r, path)
		return
	}
	if r.Method != method {
		m.refuse(w, &entry{start: m.opts.Clock.Now()}, &dialect.Refusal{
			Status: http.StatusMethodNotAllowed, Type: "invalid_request_error",
			Message: fmt.Sprintf("Not allowed to %s on %s.", r.Method, path),
		})
		return
	}
	answer(w, r)
}

// unknownPath answers what is neither the provider's chat completions nor the
// mock's own. Another endpoint of the provider is a miss, since the mock could
// have been asked for it by mistake only.
func (m *Mock) unknownPath(w http.ResponseWriter, r *http.Request, path string) {
	e := &entry{start: m.opts.Clock.Now()}
	if r.Method == http.MethodPost && strings.HasPrefix(path, "/v1/") {
		m.miss(w, e, fmt.Sprintf("%s %s: a mock model answers /v1/chat/completions only", r.Method, path))
		return
	}
	m.refuse(w, e, &dialect.Refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, path),
	})
}

func (m *Mock) serveModels(w http.ResponseWriter, _ *http.Request) {
	type list struct {
		Object string      `json:"object"`
		Data   []wireModel `json:"data"`
	}
	l := list{Object: "list"}
	for _, id := range m.models() {
		l.Data = append(l.Data, newWireModel(id))
	}
	m.writeJSON(w, l)
}

func (m *Mock) models() []string {
	if len(m.program.Models) == 0 {
		return []string{"rehearse-mock"}
	}
	return m.program.Models
}

func (m *Mock) serveModel(w http.ResponseWriter, id string) {
	if r := m.unknownModel(id); r != nil {
		m.writeError(w, &entry{}, r)
		return
	}
	m.writeJSON(w, newWireModel(id))
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

func (m *Mock) serveJournal(w http.ResponseWriter, _ *http.Request) {
	list := m.Journal()
	if list == nil {
		list = []harness.Exchange{}
	}
	m.writeJSON(w, list)
}

func (m *Mock) serveReset(w http.ResponseWriter, _ *http.Request) {
	m.Reset()
	w.WriteHeader(http.StatusNoContent)
}

func (m *Mock) writeJSON(w http.ResponseWriter, v any) {
	w.Header()["Content-Type"] = m.headers.json
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client is gone
}

// buffers hold request and reply bodies while they are needed.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest buffer that is kept for later.
const maxPooled = 1 << 20

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

// serveChat answers one chat completions request.
func (m *Mock) serveChat(w http.ResponseWriter, r *http.Request) {
	e := &entry{start: m.opts.Clock.Now()}
	chat, refusal := m.readChat(w, r)
	e.chat = chat
	if refusal == nil && len(m.program.Models) > 0 {
		refusal = m.unknownModel(chat.Model())
	}
	if refusal != nil {
		m.refuse(w, e, refusal)
		return
	}
	if n := chat.Choices(); n > 1 {
		m.miss(w, e, fmt.Sprintf("%d choices are asked for, and a mock gives one", n))
		return
	}
	aside, label, err := m.ruleFor(m.program.asides, 0, chat)
	if err != nil {
		m.fail(w, e, err)
		return
	}
	if aside != nil {
		e.kind = harness.KindAside
		m.answerRule(w, r, e, aside, label)
		return
	}
	m.answerPosition(w, r, e)
}

func (m *Mock) readChat(w http.ResponseWriter, r *http.Request) (*dialect.Chat, *dialect.Refusal) {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	if n := r.ContentLength; n > 0 && n <= int64(m.opts.MaxBodyBytes) {
		b.Grow(int(n) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, int64(m.opts.MaxBodyBytes))); err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
			err = fmt.Errorf("the request is larger than %d bytes", tooLarge.Limit)
		}
		return nil, &dialect.Refusal{Status: status, Type: "invalid_request_error", Message: "reading the request: " + err.Error()}
	}
	return dialect.DecodeChat(b.Bytes(), m.memory.last.Load())
}

// answerPosition answers a request by its position, or by a rule.
func (m *Mock) answerPosition(w http.ResponseWriter, r *http.Request, e *entry) {
	m.mu.Lock()
	s, why, final := m.locate(e.chat)
	var fault *Fault
	if s != nil {
		fault, e.repeated = s.admit()
		e.turn, e.reply, e.attempt = s.turn+1, s.reply+1, s.attempts
		e.compacted = s.compacted
		m.memory.last.Store(e.chat)
	}
	m.mu.Unlock()
	switch {
	case fault != nil:
		e.kind = harness.KindReply
		m.rateLimit(w, e, fault)
		return
	case s != nil:
		e.kind = harness.KindReply
		sp, err := m.speakAt(s, e.chat)
		if err == nil {
			m.answer(w, r, e, s, sp)
			return
		}
		m.mu.Lock()
		m.withdraw(s)
		m.mu.Unlock()
		if script := (*scriptError)(nil); errors.As(err, &script) {
			m.fail(w, e, located(place(s.turn+1, s.reply+1, harness.Position{}), s.script.Pos, script.err))
			return
		}
		m.miss(w, e, fmt.Sprintf("%s: %s", m.placeOf(s), err))
		return
	case !final:
		rule, label, err := m.ruleFor(m.program.rules, len(m.program.asides), e.chat)
		if err != nil {
			m.fail(w, e, err)
			return
		}
		if rule != nil {
			m.memory.last.Store(e.chat)
			e.kind = harness.KindRule
			m.answerRule(w, r, e, rule, label)
			return
		}
	}
	m.miss(w, e, why)
}

func (m *Mock) answerRule(w http.ResponseWriter, r *http.Request, e *entry, rule *rule, label string) {
	sp, err := m.speak(rule.reply, e.chat, 0, 0, label)
	switch script := (*scriptError)(nil); {
	case errors.As(err, &script):
		m.fail(w, e, located("reply of a rule", rule.Pos, script.err))
	case err != nil:
		m.miss(w, e, at(rule.Pos)+err.Error())
	default:
		m.answer(w, r, e, nil, sp)
	}
}

// record enters e into the journal.
func (m *Mock) record(e *entry, problem error) {
	m.mu.Lock()
	e.duration = m.opts.Clock.Now().Sub(e.start)
	m.journal.add(e)
	if problem != nil {
		m.journal.problem(problem)
	}
	m.mu.Unlock()
	if problem != nil {
		m.logf("%v", problem)
	}
}

// refuse answers as the provider would.
func (m *Mock) refuse(w http.ResponseWriter, e *entry, r *dialect.Refusal) {
	e.kind, e.status, e.err = harness.KindRefusal, r.Status, r.Error()
	m.record(e, errors.New("refused: "+e.err))
	m.writeError(w, e, r)
}

// miss answers a request that nobody scripted.
func (m *Mock) miss(w http.ResponseWriter, e *entry, why string) {
	m.mu.Lock()
	text := m.explain(e.chat, why)
	m.mu.Unlock()
	e.kind, e.status, e.err = harness.KindMiss, http.StatusUnprocessableEntity, text
	m.record(e, errors.New("miss: "+text))
	m.writeError(w, e, &dialect.Refusal{Status: e.status, Type: "rehearse_miss", Code: "rehearse_miss", Message: text})
}

// fail answers when the script itself is wrong.
func (m *Mock) fail(w http.ResponseWriter, e *entry, err error) {
	e.kind, e.status, e.err = harness.KindScript, http.StatusInternalServerError, err.Error()
	m.record(e, fmt.Errorf("script: %w", err))
	m.writeError(w, e, &dialect.Refusal{Status: e.status, Type: "rehearse_script", Code: "rehearse_script", Message: e.err})
}

// rateLimit plays the fault of that name.
func (m *Mock) rateLimit(w http.ResponseWriter, e *entry, f *Fault) {
	e.status, e.fault, e.retryAfter = http.StatusTooManyRequests, string(f.Kind), f.RetryAfter
	m.record(e, nil)
	text := fmt.Sprintf("Rate limit reached for %s on requests per min (RPM).", e.chat.Model())
	if f.RetryAfter > 0 {
		text += fmt.Sprintf(" Please try again in %s.", f.RetryAfter)
		seconds := (f.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(f.RetryAfter.Milliseconds(), 10))
	}
	m.writeError(w, e, &dialect.Refusal{Status: e.status, Type: "requests", Code: "rate_limit_exceeded", Message: text})
}

func (m *Mock) writeError(w http.ResponseWriter, e *entry, r *dialect.Refusal) {
	h := w.Header()
	m.common(h, e)
	h["Content-Type"] = m.headers.json
	if r.Status != http.StatusTooManyRequests {
		h["X-Should-Retry"] = m.headers.no
	}
	body := r.Body()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.Status)
	_, _ = w.Write(body) // the client is gone
}

// common sets the headers of every answer.
func (m *Mock) common(h http.Header, e *entry) {
	const hexLen = 32
	id := make([]byte, 0, 4+hexLen)
	id = append(id, "req_"...)
	digits := strconv.AppendInt(nil, int64(e.seq), 16)
	for range hexLen - len(digits) {
		id = append(id, '0')
	}
	h["X-Request-Id"] = []string{string(append(id, digits...))}
	h["Openai-Version"] = m.headers.version
}
