// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// httpSink is the answer to an HTTP request.
type httpSink struct {
	c      *client
	conn   *sseConn
	accept string

	mu    sync.Mutex // guards what follows
	began bool       // the head has been sent
	st    *stream    // the stream that the answer has become, or nil
}

func newHTTPSink(c *client, w http.ResponseWriter, r *http.Request) *httpSink {
	return &httpSink{c: c, conn: newSSEConn(w), accept: strings.Join(r.Header.Values("Accept"), ",")}
}

// accepts reports whether the client takes answers of that type.
func (w *httpSink) accepts(mediaType string) bool {
	return w.accept == "" || strings.Contains(w.accept, mediaType) || strings.Contains(w.accept, "*/*")
}

// done ends the stream: nothing works on the request any more.
func (w *httpSink) done() {
	w.mu.Lock()
	st := w.st
	w.mu.Unlock()
	if st != nil {
		st.end()
	}
}

// plain reports whether the reply will be JSON and no stream.
func (w *httpSink) plain() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.began && w.accepts(typeJSON) && (w.c.s.script.Protocol.Replies != RepliesSSE || !w.accepts(typeStream))
}

func (w *httpSink) streaming() bool {
	w.mu.Lock()
	is := w.st != nil
	w.mu.Unlock()
	return is || !w.plain()
}

func (w *httpSink) nextStatus(rpc *jsonrpc.Error) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return ""
	}
	return strconv.Itoa(w.replyStatus(rpc))
}

// replyStatus is the status of a reply that is no stream.
func (w *httpSink) replyStatus(rpc *jsonrpc.Error) int {
	if w.c.modern {
		return statusOf(rpc)
	}
	return http.StatusOK
}

func (w *httpSink) reply(frame []byte, rpc *jsonrpc.Error) error {
	if w.plain() {
		w.whole(w.replyStatus(rpc), frame)
	} else if st := w.stream(); st != nil {
		st.add(frame, true)
	}
	w.conn.finish()
	return nil
}

func (w *httpSink) cut(int) { w.conn.stop(true) }

func (*httpSink) process() Process { return nil }

// whole writes an answer that is complete, for the handler to flush when it
// returns: a flush before that costs a chunk.
func (w *httpSink) whole(code int, frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return
	}
	w.began = true
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	if w.conn.returned {
		return
	}
	h := w.conn.w.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(frame)))
	w.conn.w.WriteHeader(code)
	_, _ = w.conn.w.Write(frame)
}

func (w *httpSink) status(code int, h http.Header, body []byte) bool {
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

// wait waits until the answer is complete, or the request is: done is closed
// when nothing works on it any more. It panics with [http.ErrAbortHandler]
// where the connection is to break.
func (w *httpSink) wait(left, done <-chan struct{}) {
	select {
	case <-w.conn.over:
	case <-left:
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
func (w *httpSink) nothing() {
	if w.accepts(typeStream) {
		w.status(http.StatusOK, http.Header{"Content-Type": {typeStream}}, nil)
	} else {
		w.status(http.StatusAccepted, nil, nil)
	}
}

// statusOf is the HTTP status that 2026-07-28 has for a reply.
func statusOf(rpc *jsonrpc.Error) int {
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
	body := encodeReply(id, &outcome{rpc: &jsonrpc.Error{Code: code, Message: message}})
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return body
}

// sseConn is the body of an HTTP answer that carries events.
type sseConn struct {
	mu       sync.Mutex // guards what follows
	w        http.ResponseWriter
	returned bool          // the handler has returned, or is about to
	ended    bool          // over is closed
	taken    bool          // another carries the stream
	over     chan struct{} // closed when the handler is to return
	broken   bool          // the handler is to break the connection
}

func newSSEConn(w http.ResponseWriter) *sseConn {
	return &sseConn{w: w, over: make(chan struct{})}
}

func (c *sseConn) write(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned || c.ended {
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
	c.returned = true
	return c.broken
}
