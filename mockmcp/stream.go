// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
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

	mu    sync.Mutex // guards what follows
	kept  [][]byte   // the last frames; nil for the empty event
	first int        // the number of kept[0]
	sent  int        // the number of the first frame that no connection took
	conn  *sseConn   // nil while there is none
	over  bool       // no more will come
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
	if st.conn != nil && st.write(n, frame) {
		st.sent = n + 1
	}
	if len(st.kept) > eventsKept || st.id == "" {
		st.kept, st.first = st.kept[1:], st.first+1
	}
}

// write sends one event; the caller holds mu and there is a connection.
func (st *stream) write(n int, frame []byte) bool {
	var b bytes.Buffer
	if st.id != "" {
		fmt.Fprintf(&b, "id: %s_%d\n", st.id, n)
	}
	if frame == nil {
		fmt.Fprintf(&b, "retry: %d\ndata:\n\n", st.retry.Milliseconds())
	} else {
		b.WriteString("event: message\n")
		for line := range bytes.Lines(frame) {
			fmt.Fprintf(&b, "data: %s\n", bytes.TrimRight(line, "\r\n"))
		}
		b.WriteString("\n")
	}
	return st.conn.write(b.Bytes()) == nil
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

// sseConn is the body of an HTTP answer that carries events.
type sseConn struct {
	mu     sync.Mutex // guards what follows
	w      http.ResponseWriter
	gone   bool          // the handler has returned, or is about to
	ended  bool          // over is closed
	taken  bool          // another carries the stream
	over   chan struct{} // closed when the handler is to return
	broken bool          // the handler is to break the connection
}

func newSSEConn(w http.ResponseWriter) *sseConn {
	return &sseConn{w: w, over: make(chan struct{})}
}

// open sends the head of the answer.
func (c *sseConn) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	h := c.w.Header()
	h.Set("Content-Type", typeStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	c.w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(c.w).Flush()
}

func (c *sseConn) write(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.ended {
		return http.ErrHandlerTimeout
	}
	if _, err := c.w.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(c.w).Flush()
}

// finish has the handler return.
func (c *sseConn) finish() { c.stop(false) }

// stop has the handler return, or break the connection.
func (c *sseConn) stop(broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.broken = true, broken
	close(c.over)
}

// left reports whether the answer is complete, on our side. It is not where the
// client came back before it was seen to be gone.
func (c *sseConn) left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended && !c.taken
}

// leave says that the handler is about to return: nothing may be written any
// more.
func (c *sseConn) leave() (broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	return c.broken
}

// newStream opens a stream of a session; one of a single request has no id.
func (c *client) newStream() *stream {
	if c.id == "" {
		return &stream{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	delete(c.streams, strconv.Itoa(c.opened-streamsKept))
	return c.stream(strconv.Itoa(c.opened))
}

// stream returns the stream with that id, new where there is none. The caller
// holds mu.
func (c *client) stream(id string) *stream {
	st := c.streams[id]
	if st == nil {
		st = &stream{id: id}
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
	return &outlet{c: c, wire: &streamWire{st: c.stream(listenID)}}
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

// streamWire is a stream as the wire of an outlet.
type streamWire struct{ st *stream }

func (w *streamWire) send(frame []byte) error {
	w.st.add(frame, false)
	return nil
}

func (w *streamWire) reply(frame []byte, _ *harness.RPCError) error {
	w.st.add(frame, true)
	return nil
}

func (w *streamWire) raw(b []byte) error {
	if conn := w.conn(); conn != nil {
		return conn.write(b)
	}
	return nil
}

func (w *streamWire) conn() *sseConn {
	w.st.mu.Lock()
	defer w.st.mu.Unlock()
	return w.st.conn
}

func (w *streamWire) cut() {
	if conn := w.conn(); conn != nil {
		conn.stop(true)
	}
}

func (w *streamWire) closeOut() {
	if conn := w.conn(); conn != nil {
		w.st.detach(conn)
		conn.finish()
	}
}

func (*streamWire) open(string)     {}
func (*streamWire) streaming() bool { return true }

func (*streamWire) status(int, http.Header, []byte) bool { return false }
