// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Handler serves the tape over streamable HTTP, at any path. Each session of
// the tape is one over HTTP; what was recorded of a server without sessions is
// answered without.
func (t *Tape) Handler() http.Handler {
	s := &webServer{tape: t, sessions: map[string]*webSession{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			s.post(w, r)
		case http.MethodGet:
			if session := s.find(w, r); session != nil {
				session.get(w, r)
			}
		case http.MethodDelete:
			if session := s.find(w, r); session != nil {
				s.delete(session, w)
			}
		default:
			w.Header().Set("Allow", "GET, POST, DELETE")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		}
	})
}

// webServer is a tape over HTTP.
type webServer struct {
	tape *Tape

	mu       sync.Mutex // guards the rest
	sessions map[string]*webSession
	all      *webSession // of requests without the id of a session
}

// webSession is a session over HTTP.
type webSession struct {
	id     string // "" for those without
	play   *play
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex // guards the rest
	sides []*side
}

// begin begins a session.
func (s *webServer) begin(id string, scripts []*script) *webSession {
	session := &webSession{id: id}
	session.ctx, session.cancel = context.WithCancel(s.tape.ctx)
	session.play = newPlay(s.tape, scripts, &sides{session}, session.cancel)
	for n, script := range scripts {
		if id != "" && n > 0 || id == "" && script.named {
			continue // it is heard by others
		}
		for _, l := range script.listens {
			session.sides = append(session.sides, newSide(l))
		}
	}
	if !s.tape.http {
		session.sides = append(session.sides, newSide(&listening{head: head{HTTP: &HTTP{Status: http.StatusOK, Type: kindEvents}}}))
	}
	t := s.tape
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		session.cancel()
		return session
	}
	t.running.Go(func() {
		<-session.ctx.Done()
		session.play.end()
	})
	session.play.run(session.ctx, scripts[0].start, mcpwire.Message{})
	return session
}

// find finds the session of a request. Nil means that it was refused.
func (s *webServer) find(w http.ResponseWriter, r *http.Request) *webSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.Header.Get(mcpwire.HeaderSession)
	if id == "" {
		if s.all == nil {
			s.all = s.begin("", s.tape.scripts)
		}
		return s.all
	}
	session := s.sessions[id]
	if session == nil {
		writeJSON(w, http.StatusNotFound, mcpwire.EncodeReply(nil, nil, &jsonrpc.Error{Code: -32001, Message: "Session not found"}))
	}
	return session
}

// initialize begins the next session of the tape that has an id; nil when
// there is none.
func (s *webServer) initialize() *webSession {
	t := s.tape
	t.mu.Lock()
	var script *script
	if !t.closed {
		script = t.free(named)
	}
	t.mu.Unlock()
	if script == nil {
		return nil
	}
	session := s.begin(rand.Text(), t.of(script))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[session.id] = session
	return session
}

func named(s *script) bool { return s.named }

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", kindJSON)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs none
}

// post takes a message of the client.
func (s *webServer) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcpwire.DefaultMaxFrame))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	m, err := mcpwire.Parse(body)
	if err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
			err = errors.New("a batch is not replayed over HTTP")
		}
		s.tape.miss("the body of a POST is not a message: %v: %q", err, prose.Excerpt(body, 120))
		writeJSON(w, http.StatusBadRequest, junkAnswer(mcpwire.IDOf(body), err.Error()))
		return
	}
	var session *webSession
	if m.Method == "initialize" && r.Header.Get(mcpwire.HeaderSession) == "" {
		session = s.initialize()
	}
	if session == nil {
		session = s.find(w, r)
	}
	if session != nil {
		session.take(w, r, m)
	}
}

// delete ends a session.
func (s *webServer) delete(session *webSession, w http.ResponseWriter) {
	deleted := session.play.scripts[0].deleted
	if session.id == "" && deleted == nil {
		http.Error(w, "the session does not exist", http.StatusMethodNotAllowed)
		return
	}
	if deleted == nil {
		deleted = &head{HTTP: &HTTP{Status: http.StatusOK}}
	}
	if deleted.Status < 300 && session.id != "" {
		s.mu.Lock()
		delete(s.sessions, session.id)
		s.mu.Unlock()
		session.cancel()
	}
	deleted.write(w)
}

// write answers with what has no message.
func (h *head) write(w http.ResponseWriter) {
	if h.Type != "" {
		w.Header().Set("Content-Type", h.Type)
	}
	w.WriteHeader(h.Status)
	_, _ = io.WriteString(w, h.text)
}

// take answers a message of the client.
func (s *webSession) take(w http.ResponseWriter, r *http.Request, m mcpwire.Message) {
	if s.ctx.Err() != nil { // the server ended
		panic(http.ErrAbortHandler)
	}
	p := s.play
	var g *group
	switch {
	case m.IsResponse():
		p.answered(m)
	case m.IsRequest():
		var refusal []byte
		if g, refusal = p.find(m); g == nil {
			writeJSON(w, http.StatusOK, refusal)
			return
		}
	default:
		g = p.noted(m)
	}
	if g == nil || !m.IsRequest() && (g.stream == 0 || g.last < 0) { // nothing to answer with
		w.WriteHeader(http.StatusAccepted)
		if g != nil {
			p.run(s.ctx, g, m)
		}
		return
	}
	a := &reply{session: s, w: w, done: make(chan struct{})}
	cancel := p.begin(s.ctx, m, func(ctx context.Context) {
		p.steps(ctx, g, m, g.at, a)
		if ctx.Err() != nil { // cancelled
			a.finish(false)
		}
	})
	if cancel == nil {
		panic(http.ErrAbortHandler)
	}
	if g.resumed {
		cancel = func() {} // the client comes back for the answer
	}
	defer a.leave(cancel)
	select {
	case <-a.done:
	case <-r.Context().Done():
	case <-s.ctx.Done():
		a.finish(true)
	}
}

// reply is the answer to a POST.
type reply struct {
	session *webSession
	done    chan struct{} // closed when it is over

	mu     sync.Mutex // guards the rest
	w      http.ResponseWriter
	begun  bool
	events bool // it is a stream
	over   bool
	broken bool // by the server
}

// finish ends the answer; broken breaks it off.
func (a *reply) finish(broken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(broken)
}

// end is finish for who holds mu.
func (a *reply) end(broken bool) {
	if !a.over {
		a.over, a.broken = true, broken
		close(a.done)
	}
}

// leave is the end of the handler: nothing is written any more. cancel ends
// what is played for a client that did not wait for the end.
func (a *reply) leave(cancel context.CancelFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.over:
		a.over = true
		close(a.done)
		cancel()
	case a.broken:
		panic(http.ErrAbortHandler)
	}
}

// put plays a step of the answer.
func (a *reply) put(g *group, m mcpwire.Message, n int, line []byte) {
	s := &g.steps[n]
	if s.kind == answer && s.sub == nil && g.msg.Key() == s.msg.Key() { // else it was never that of the request
		line = replace(line, s.id(g, m), "id")
	}
	if s.sub == nil && (s.stream != 0 || g.stream == 0 && g.answered && n > g.last) {
		a.session.push(s, line)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	switch s.kind {
	case begin:
		a.begin(s.http, g)
		_, _ = a.w.Write(line)
		if a.events || n != g.last {
			a.flush()
		} else {
			a.end(false)
		}
		return
	case hangup:
		a.end(s.text != "")
		return
	case leave:
		a.end(true)
		return
	}
	if !a.begun {
		h := s.http
		if h == nil || h.Status == 0 { // recorded over stdio
			h = &HTTP{Status: http.StatusOK, Type: kindEvents, Session: g.named}
			if n == g.last && !g.listens {
				h.Type = kindJSON
			}
		}
		a.begin(h, g)
	}
	if a.events {
		_, _ = a.w.Write(s.event(line))
		a.flush()
	} else {
		_, _ = a.w.Write(line)
	}
	switch {
	case s.sub != nil:
		if s.kind == answer {
			a.end(false)
		}
	case n == g.last && !g.listens && (g.answered || !a.events), n == g.last && g.answered:
		a.end(false)
	}
}

// begin writes the head. The caller holds mu.
func (a *reply) begin(h *HTTP, g *group) {
	a.begun, a.events = true, h.Type == kindEvents
	header := a.w.Header()
	if h.Type != "" {
		header.Set("Content-Type", h.Type)
	}
	if a.events {
		header.Set("Cache-Control", "no-cache")
	}
	if id := a.session.id; id != "" && (h.Session || g.named) {
		header.Set(mcpwire.HeaderSession, id)
	}
	a.w.WriteHeader(h.Status)
}

func (a *reply) flush() { _ = http.NewResponseController(a.w).Flush() }

// event is a step as an event.
func (s *step) event(line []byte) []byte {
	ev := sse.Event{Name: "message", Data: line}
	if s.http != nil {
		ev.ID, ev.SetsID = s.http.Event, s.http.Event != ""
		ev.Name = cmp.Or(s.http.Name, ev.Name)
		ev.Retry = time.Duration(min(s.http.Retry, math.MaxInt32)) * time.Millisecond
	}
	return ev.Append(nil)
}

// side is a stream that the client listens to.
type side struct {
	*listening
	change chan struct{} // has room for one; tells that there is something new

	// Guarded by the session's mu.
	queue    []sideStep
	taken    bool
	attached bool
	over     bool
}

type sideStep struct {
	event  []byte
	ends   bool
	broken bool
}

func newSide(l *listening) *side { return &side{listening: l, change: make(chan struct{}, 1)} }

// sides is the outlet of what belongs to no request.
type sides struct{ *webSession }

func (s *sides) put(g *group, _ mcpwire.Message, n int, line []byte) {
	if st := &g.steps[n]; st.kind == say || st.kind == answer || st.kind == hangup {
		s.push(st, line)
	}
}

// push puts a step on the stream that it was recorded on, else on the first
// that is there for all.
func (s *webSession) push(st *step, line []byte) {
	item := sideStep{ends: st.kind == hangup, broken: st.text != ""}
	if !item.ends {
		item.event = st.event(line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var to *side
	for _, one := range s.sides {
		if one.stream == st.stream {
			to = one
			break
		}
		if to == nil && one.after == "" {
			to = one
		}
	}
	if to == nil {
		return // nobody ever listened
	}
	to.queue = append(to.queue, item)
	select {
	case to.change <- struct{}{}:
	default:
	}
}

// attach finds the stream that a client wants to listen to.
func (s *webSession) attach(after string) *side {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *side
	for _, one := range s.sides {
		switch {
		case one.attached, one.over:
		case !one.taken && one.after == after:
			one.taken, one.attached = true, true
			return one
		case one.taken && found == nil: // the client comes back
			found = one
		}
	}
	if found != nil {
		found.attached = true
	}
	return found
}

// get is a client that listens.
func (s *webSession) get(w http.ResponseWriter, r *http.Request) {
	if len(s.sides) == 0 {
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	from := s.attach(r.Header.Get(mcpwire.HeaderLastEventID))
	if from == nil { // more often than was recorded: it hears nothing
		from = newSide(&listening{head: head{HTTP: &HTTP{Status: http.StatusOK, Type: kindEvents}}})
	}
	broken := false
	h := from.head
	if h.HTTP == nil { // the server never answered
		h.HTTP = &HTTP{Status: http.StatusOK, Type: kindEvents}
	}
	if h.Status != http.StatusOK || h.Type != kindEvents {
		h.write(w)
	} else {
		w.Header().Set("Content-Type", kindEvents)
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		broken = s.feed(r.Context(), w, from)
	}
	s.mu.Lock()
	from.attached = false
	s.mu.Unlock()
	if broken {
		panic(http.ErrAbortHandler)
	}
}

// feed writes what comes on a stream until it ends, and reports whether it
// broke off.
func (s *webSession) feed(ctx context.Context, w http.ResponseWriter, from *side) (broken bool) {
	for {
		s.mu.Lock()
		var item *sideStep
		if len(from.queue) > 0 {
			item = &from.queue[0]
			from.queue = from.queue[1:]
			from.over = item.ends
		}
		s.mu.Unlock()
		if item != nil {
			if item.ends {
				return item.broken
			}
			if _, err := w.Write(item.event); err != nil {
				return false
			}
			_ = http.NewResponseController(w).Flush()
			continue
		}
		select {
		case <-from.change:
		case <-ctx.Done():
			return false
		case <-s.ctx.Done():
			return true
		}
	}
}
