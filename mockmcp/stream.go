// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// The content types of answers over HTTP.
const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// What can be sent again: so many events of a stream, and so many streams of a
// session.
const (
	eventsKept  = 1000
	streamsKept = 100
)

// stream is a stream of server-sent events: the answer to a POST, or what a
// legacy client listens to. It outlives the connection that carries it, so
// that a client can come back and go on.
type stream struct {
	id    string        // "" for one that nobody can come back to
	retry time.Duration // when set, the stream begins with an empty event

	mu    sync.Mutex    // guards what follows
	kept  [][]byte      // the last frames; nil for the empty event
	first int           // the number of kept[0]
	sent  int           // the number of the first frame that no connection took
	conn  *sseConn      // nil while there is none
	over  bool          // no more will come
	total *atomic.Int64 // bytes that all streams of the server keep; nil where this one does not count
}

// add puts a frame on the stream. last says that none will follow.
func (st *stream) add(frame []byte, last bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if frame != nil || st.retry > 0 {
		st.begin()
		st.push(frame)
	}
	if last {
		st.finish()
	}
}

// end says that no more will come.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.finish()
}

// finish is end; the caller holds mu.
func (st *stream) finish() {
	st.over = true
	if st.conn != nil {
		st.conn.finish()
	}
}

// begin has the stream begin with the empty event. The caller holds mu.
func (st *stream) begin() {
	if st.retry > 0 && st.first+len(st.kept) == 0 {
		st.push(nil)
	}
}

func (st *stream) push(frame []byte) {
	n := st.first + len(st.kept)
	st.kept = append(st.kept, frame)
	st.count(len(frame))
	if st.conn != nil && st.write(n, frame) {
		st.sent = n + 1
	}
	if len(st.kept) > eventsKept || st.id == "" {
		st.count(-len(st.kept[0]))
		st.kept, st.first = st.kept[1:], st.first+1
	}
}

// write sends one event; the caller holds mu and there is a connection.
func (st *stream) write(n int, frame []byte) bool {
	ev := sse.Event{SetsID: st.id != ""}
	if ev.SetsID {
		ev.ID = fmt.Sprintf("%s_%d", st.id, n)
	}
	if frame == nil {
		ev.Retry = st.retry
	} else {
		ev.Name, ev.Data = "message", bytes.TrimRight(frame, "\r\n")
	}
	return st.conn.write(ev.Append(nil)) == nil
}

// attach has conn carry the stream, in place of any other, from the event with
// that number; -1 means from the first that no connection took.
func (st *stream) attach(conn *sseConn, from int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn != nil {
		st.conn.mu.Lock()
		st.conn.taken = true
		st.conn.mu.Unlock()
		st.conn.finish()
	}
	st.conn = conn
	if from < 0 {
		from = st.sent
	}
	for n := max(from, st.first); n < st.first+len(st.kept); n++ {
		if !st.write(n, st.kept[n-st.first]) {
			return
		}
		st.sent = max(st.sent, n+1)
	}
	st.begin()
	if st.over {
		conn.finish()
	}
}

// detach takes the stream from conn.
func (st *stream) detach(conn *sseConn) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn == conn {
		st.conn = nil
	}
}

// open sends the head of the answer.
func (c *sseConn) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned {
		return
	}
	h := c.w.Header()
	h.Set("Content-Type", typeStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	c.w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(c.w).Flush()
}

// newStream opens a stream of a session; one of a single request has no id.
func (c *client) newStream() *stream {
	if c.id == "" {
		return &stream{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	if oldest := strconv.Itoa(c.opened - streamsKept); c.streams[oldest] != nil {
		c.streams[oldest].discount()
		delete(c.streams, oldest)
	}
	return c.stream(strconv.Itoa(c.opened))
}

// stream returns the stream with that id, new where there is none. The caller
// holds mu.
func (c *client) stream(id string) *stream {
	st := c.streams[id]
	if st == nil {
		st = &stream{id: id, total: &c.s.streamed}
		if c.version >= "2025-11-25" { // before, clients read the empty event as a frame
			st.retry = c.s.script.Protocol.Retry
		}
		if c.streams == nil {
			c.streams = make(map[string]*stream)
		}
		c.streams[id] = st
	}
	return st
}

// listenID is the id of the stream that a session listens to.
const listenID = "listen"

// listening returns the outlet of what a session listens to.
func (c *client) listening() *outlet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &outlet{c: c, sink: &streamSink{st: c.stream(listenID)}}
}

// resume finds the event that a client saw last: its stream, and the number
// of the event after it.
func (c *client) resume(lastEvent string) (*stream, int, bool) {
	at := strings.LastIndexByte(lastEvent, '_')
	if at < 0 {
		return nil, 0, false
	}
	n, err := strconv.Atoi(lastEvent[at+1:])
	c.mu.Lock()
	st := c.streams[lastEvent[:at]]
	c.mu.Unlock()
	return st, n + 1, err == nil && st != nil
}

// streamSink is a stream as the wire of an outlet.
type streamSink struct{ st *stream }

func (w *streamSink) send(frame []byte) error {
	w.st.add(frame, false)
	return nil
}

func (w *streamSink) reply(frame []byte, _ *jsonrpc.Error) error {
	w.st.add(frame, true)
	return nil
}

func (w *streamSink) raw(b []byte) error {
	if conn := w.conn(); conn != nil {
		return conn.write(b)
	}
	return nil
}

func (w *streamSink) conn() *sseConn {
	w.st.mu.Lock()
	defer w.st.mu.Unlock()
	return w.st.conn
}

func (w *streamSink) cut(int) {
	if conn := w.conn(); conn != nil {
		conn.stop(true)
	}
}

func (w *streamSink) closeOut() {
	if conn := w.conn(); conn != nil {
		w.st.detach(conn)
		conn.finish()
	}
}

func (*streamSink) open(string) {}

func (*streamSink) streaming() bool { return true }

func (*streamSink) status(int, http.Header, []byte) bool { return false }

func (*streamSink) nextStatus(*jsonrpc.Error) string { return "" }

func (*streamSink) closeStream(time.Duration) {}

func (*streamSink) process() Process { return nil }

// forget gives up the events of a stream that is over.
func (st *stream) forget() (freed int, ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.over || st.conn != nil {
		return 0, false
	}
	return st.empty(), true
}

// empty gives up all events; the caller holds mu.
func (st *stream) empty() (freed int) {
	for _, frame := range st.kept {
		freed += len(frame)
	}
	st.first, st.kept = st.first+len(st.kept), nil
	st.count(-freed)
	return freed
}

// count notes that so many more bytes are kept; the caller holds mu.
func (st *stream) count(n int) {
	if st.total != nil {
		st.total.Add(int64(n))
	}
}

// discount says that nobody can come back to the stream: what it has does not
// outlive its answer.
func (st *stream) discount() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, frame := range st.kept {
		st.count(-len(frame))
	}
	st.total = nil
}

// abandon gives up the streams of a session that has ended.
func (c *client) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, st := range c.streams {
		st.discount()
	}
	c.streams = nil
}

// get answers a GET: what a legacy session listens to.
func (s *Server) get(x *webRequest) {
	if strings.HasPrefix(x.r.URL.Path, metadataPath) {
		s.metadata(x.w, x.r)
		return
	}
	if !x.admit(mcpwire.Message{}) {
		return
	}
	c, ok := s.sessionForStream(x)
	if !ok {
		return
	}
	st, from := (*stream)(nil), -1
	if last := x.r.Header.Get("Last-Event-ID"); last != "" {
		if st, from, ok = c.resume(last); !ok {
			x.refuse(http.StatusBadRequest, nil, codeHTTP, "Bad Request: unknown event "+strconv.Quote(last))
			return
		}
	} else {
		c.mu.Lock()
		st = c.stream(listenID)
		c.mu.Unlock()
	}
	w := newHTTPSink(c, x.w, x.r)
	o := &outlet{c: c, sink: w}
	if o.strike = s.faults.arrive(c, mcpwire.Message{Method: http.MethodGet}); o.strike.before(x.r.Context(), o) {
		w.wait(x.r.Context().Done(), closedChannel())
		return
	}
	c.logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameHTTP, HTTP: "200"}, nil)
	w.began, w.st = true, st
	w.conn.open()
	st.attach(w.conn, from)
	stop := context.AfterFunc(c.ctx, w.conn.finish)
	defer stop()
	w.wait(x.r.Context().Done(), nil)
	c.logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameEnd}, nil)
}

// sessionForStream finds the session of a GET or a DELETE.
func (s *Server) sessionForStream(x *webRequest) (*client, bool) {
	id := x.r.Header.Get(mcpwire.HeaderSession)
	switch {
	case s.allows(x.r) == onlyPOST:
		x.notAllowed(onlyPOST)
		return nil, false
	case id == "":
		x.refuse(http.StatusBadRequest, nil, mcpwire.CodeInvalidRequest, "Bad Request: Missing session ID")
		return nil, false
	}
	return s.session(x, mcpwire.Message{}, id)
}

// delete answers a DELETE: the end of a session.
func (s *Server) delete(x *webRequest) {
	if !x.admit(mcpwire.Message{}) {
		return
	}
	c, ok := s.sessionForStream(x)
	if !ok {
		return
	}
	w := newHTTPSink(c, x.w, x.r)
	o := &outlet{c: c, sink: w}
	if o.strike = s.faults.arrive(c, mcpwire.Message{Method: http.MethodDelete}); o.strike.before(x.r.Context(), o) {
		w.wait(x.r.Context().Done(), closedChannel())
		return
	}
	s.endSession(c)
	c.logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameEnd}, nil)
	x.plain(http.StatusOK, "")
}

// stream makes a stream of the answer, unless it is one; nil when it cannot be
// one any more.
func (w *httpSink) stream() *stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.st != nil || w.began {
		return w.st
	}
	w.began, w.st = true, w.c.newStream()
	w.conn.open()
	w.st.attach(w.conn, 0)
	return w.st
}

func (w *httpSink) send(frame []byte) error {
	if !w.accepts(typeStream) {
		return nil // there is no other place for it
	}
	if st := w.stream(); st != nil {
		st.add(frame, false)
	}
	return nil
}

// resumable reports whether the client was told that it can come back for the
// rest when the connection breaks.
func (w *httpSink) resumable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.st != nil && w.st.id != "" && w.st.retry > 0
}

// closeStream ends the connection and keeps the stream, which begins with the
// time after which the client is to come back. It does nothing where there is
// no way back.
func (w *httpSink) closeStream(retry time.Duration) {
	if w.c.id == "" || !w.accepts(typeStream) {
		return
	}
	w.mu.Lock()
	begun := w.st != nil || w.began
	w.mu.Unlock()
	st := w.stream()
	if st == nil {
		return
	}
	if !begun && retry > 0 {
		st.mu.Lock()
		if st.retry == 0 {
			st.retry = retry
			st.begin()
		}
		st.mu.Unlock()
	}
	w.closeOut()
}

func (w *httpSink) open(contentType string) {
	if contentType == typeStream {
		w.stream()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.began {
		w.began = true
		w.conn.head(http.StatusOK, http.Header{"Content-Type": typeHeader(contentType)})
		_ = w.conn.write(nil)
	}
}

// typeHeader is a header of one value. A header without values keeps net/http
// from guessing one.
func typeHeader(contentType string) []string {
	if contentType == "" {
		return nil
	}
	return []string{contentType}
}

func (w *httpSink) raw(b []byte) error {
	w.open(typeJSON)
	return w.conn.write(b)
}

func (w *httpSink) closeOut() {
	w.mu.Lock()
	st := w.st
	w.mu.Unlock()
	if st != nil {
		st.detach(w.conn)
	}
	w.conn.finish()
}

// head sends the head of an answer that is no stream.
func (c *sseConn) head(code int, h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned {
		return
	}
	for name, values := range h {
		c.w.Header()[name] = values
	}
	c.w.WriteHeader(code)
}
