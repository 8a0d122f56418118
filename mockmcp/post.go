// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockmcp/protocol"
)

// httpWire is the answer to an HTTP request.
type httpWire struct {
	c      *client
	conn   *sseConn
	accept string

	mu    sync.Mutex // guards what follows
	began bool       // the head has been sent
	st    *stream    // the stream that the answer has become, or nil
}

func newHTTPWire(c *client, w http.ResponseWriter, r *http.Request) *httpWire {
	return &httpWire{c: c, conn: newSSEConn(w), accept: strings.Join(r.Header.Values("Accept"), ",")}
}

// accepts reports whether the client takes answers of that type.
func (w *httpWire) accepts(mediaType string) bool {
	return w.accept == "" || strings.Contains(w.accept, mediaType) || strings.Contains(w.accept, "*/*")
}

// stream makes a stream of the answer, unless it is one; nil when it cannot be
// one any more.
func (w *httpWire) stream() *stream {
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

func (w *httpWire) send(frame []byte) error {
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
func (w *httpWire) resumable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.st != nil && w.st.id != "" && w.st.retry > 0
}

// done ends the stream: nothing works on the request any more.
func (w *httpWire) done() {
	w.mu.Lock()
	st := w.st
	w.mu.Unlock()
	if st != nil {
		st.end()
	}
}

// closeStream ends the connection and keeps the stream, which begins with the
// time after which the client is to come back. It does nothing where there is
// no way back.
func (w *httpWire) closeStream(retry time.Duration) {
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

// plain reports whether the reply will be JSON and no stream.
func (w *httpWire) plain() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.began && w.accepts(typeJSON) && (w.c.s.script.Protocol.Replies != protocol.SSE || !w.accepts(typeStream))
}

func (w *httpWire) streaming() bool {
	w.mu.Lock()
	is := w.st != nil
	w.mu.Unlock()
	return is || !w.plain()
}

func (w *httpWire) open(contentType string) {
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

// nextStatus is the status that goes out with the next frame; "" when it has.
func (w *httpWire) nextStatus(rpc *harness.RPCError) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return ""
	}
	return strconv.Itoa(w.replyStatus(rpc))
}

// replyStatus is the status of a reply that is no stream.
func (w *httpWire) replyStatus(rpc *harness.RPCError) int {
	if w.c.modern {
		return statusOf(rpc)
	}
	return http.StatusOK
}

func (w *httpWire) reply(frame []byte, rpc *harness.RPCError) error {
	if w.plain() {
		w.whole(w.replyStatus(rpc), frame)
	} else if st := w.stream(); st != nil {
		st.add(frame, true)
	}
	w.conn.finish()
	return nil
}

func (w *httpWire) raw(b []byte) error {
	w.open(typeJSON)
	return w.conn.write(b)
}

func (w *httpWire) cut() { w.conn.stop(true) }

func (w *httpWire) closeOut() {
	w.mu.Lock()
	st := w.st
	w.mu.Unlock()
	if st != nil {
		st.detach(w.conn)
	}
	w.conn.finish()
}

// whole writes an answer that is complete, for the handler to flush when it
// returns: a flush before that costs a chunk.
func (w *httpWire) whole(code int, frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return
	}
	w.began = true
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	if w.conn.gone {
		return
	}
	h := w.conn.w.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(frame)))
	w.conn.w.WriteHeader(code)
	_, _ = w.conn.w.Write(frame)
}

func (w *httpWire) status(code int, h http.Header, body []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return false
	}
	w.began = true
	w.conn.head(code, h)
	if len(body) > 0 {
		_ = w.conn.write(body)
	}
	return true
}

// head sends the head of an answer that is no stream.
func (c *sseConn) head(code int, h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	for name, values := range h {
		c.w.Header()[name] = values
	}
	c.w.WriteHeader(code)
}

// wait waits until the answer is complete, or the request is: done is closed
// when nothing works on it any more. It panics with [http.ErrAbortHandler]
// where the connection is to break.
func (w *httpWire) wait(gone, done <-chan struct{}) {
	select {
	case <-w.conn.over:
	case <-gone:
	case <-done:
		w.mu.Lock()
		began := w.began
		w.mu.Unlock()
		if !began {
			w.nothing()
		}
	}
	w.mu.Lock()
	st := w.st
	w.mu.Unlock()
	if st != nil {
		st.detach(w.conn)
	}
	if w.conn.leave() {
		panic(http.ErrAbortHandler)
	}
}

// nothing answers a request that has no answer: one that was cancelled.
func (w *httpWire) nothing() {
	if w.accepts(typeStream) {
		w.status(http.StatusOK, http.Header{"Content-Type": {typeStream}}, nil)
	} else {
		w.status(http.StatusAccepted, nil, nil)
	}
}

// statusOf is the HTTP status that 2026-07-28 has for a reply.
func statusOf(rpc *harness.RPCError) int {
	if rpc == nil {
		return http.StatusOK
	}
	switch rpc.Code {
	case -32601:
		return http.StatusNotFound
	case -32700, -32600, -32602, -32020, -32021, -32022:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// writeRPC writes a JSON-RPC error with an HTTP status.
func writeRPC(w http.ResponseWriter, status int, id []byte, code int, message string) []byte {
	body := encodeReply(id, &outcome{rpc: &harness.RPCError{Code: code, Message: message}})
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return body
}
