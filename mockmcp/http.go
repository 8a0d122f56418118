// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/protocol"
)

const sessionHeader = "Mcp-Session-Id"

// Codes of errors that only HTTP has.
const (
	codeNoSession = -32001
	codeHTTP      = -32000
)

// Handler serves streamable HTTP, with sessions for clients up to 2025-11-25
// and without for clients of 2026-07-28, at whatever path it is mounted. Below
// /.well-known/oauth-protected-resource it serves the metadata of
// [protocol.Auth].
func (s *Server) Handler() http.Handler {
	return s.handler(overHTTP, func(x *exchange) {
		switch x.r.Method {
		case http.MethodPost:
			s.post(x)
		case http.MethodGet:
			s.get(x)
		case http.MethodDelete:
			s.delete(x)
		default:
			if x.admit(mcpwire.Message{}) {
				x.notAllowed(s.allows(x.r))
			}
		}
	})
}

// handler has f answer the requests of a transport as long as the server is
// open.
func (s *Server) handler(transport string, f func(*exchange)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			http.Error(w, "the mock server is closed", http.StatusServiceUnavailable)
			return
		}
		defer s.sessions.Done()
		defer context.AfterFunc(s.ctx, func() { release(w, r) })()
		f(&exchange{s: s, w: w, r: r, transport: transport, session: r.Header.Get(sessionHeader)})
	})
}

// closeGrace is how long a client has to take what is written to it when the
// server closes.
const closeGrace = time.Second

// release ends the writes of a handler that is still there after a while, for
// its client does not read.
func release(w http.ResponseWriter, r *http.Request) {
	t := time.NewTimer(closeGrace)
	defer t.Stop()
	select {
	case <-t.C:
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
	case <-r.Context().Done():
	}
}

// exchange is one HTTP request and its answer, as long as it belongs to no
// client.
type exchange struct {
	s         *Server
	w         http.ResponseWriter
	r         *http.Request
	transport string
	session   string // the id that it names, or ""
}

// client is who the log says it was when nobody knows.
func (x *exchange) client() *client {
	return &client{s: x.s, id: x.session, transport: x.transport}
}

// refuse answers with a JSON-RPC error.
func (x *exchange) refuse(status int, id []byte, code int, message string) {
	body := writeRPC(x.w, status, id, code, message)
	x.client().logFrame(harness.Frame{Kind: harness.FrameResponse, ID: id, HTTP: strconv.Itoa(status)}, body)
}

// plain answers with a status and a line of text, or nothing.
func (x *exchange) plain(status int, text string) {
	x.client().logFrame(harness.Frame{Kind: harness.FrameHTTP, HTTP: strconv.Itoa(status)}, []byte(text))
	if text == "" {
		x.w.WriteHeader(status)
		return
	}
	http.Error(x.w, text, status)
}

func (x *exchange) notAllowed(allow string) {
	x.w.Header().Set("Allow", allow)
	x.plain(http.StatusMethodNotAllowed, "method not allowed")
}

// admit logs a request and reports whether it may go on: not for foreign
// hosts and origins, nor without the token.
func (x *exchange) admit(m mcpwire.Message) bool {
	x.client().received(m, x.r)
	if why := mcpwire.Foreign(x.r, x.s.opts.Hosts, x.s.opts.Origins); why != "" {
		x.plain(http.StatusForbidden, why)
		return false
	}
	return x.authorized()
}

// body reads a POST.
func (x *exchange) body() (m mcpwire.Message, err error) {
	var b []byte
	if n := x.r.ContentLength; 0 < n && n <= bodyKept {
		b = make([]byte, n)
		_, err = io.ReadFull(x.r.Body, b)
	} else {
		b, err = io.ReadAll(http.MaxBytesReader(nil, x.r.Body, mcpwire.DefaultMaxFrame))
	}
	if err != nil {
		return m, err
	}
	m, err = mcpwire.Parse(b)
	m.Frame = b
	return m, err
}

// post answers a POST: one message.
func (s *Server) post(x *exchange) {
	m, err := x.body()
	if !x.admit(m) {
		return
	}
	var tooLong *http.MaxBytesError
	switch mediaType, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type")); {
	case errors.As(err, &tooLong):
		x.refuse(http.StatusRequestEntityTooLarge, nil, codeHTTP, err.Error())
		return
	case mediaType != "application/json":
		x.refuse(http.StatusUnsupportedMediaType, nil, codeHTTP, "Unsupported Media Type: Content-Type must be application/json")
		return
	case err != nil:
		x.unreadable(m, err)
		return
	}
	header := x.r.Header.Get(mcp.HeaderProtocolVersion)
	meta := ""
	if m.Method != "" {
		meta = s.metaVersion(m)
	}
	if s.knowsModern() && (protocol.IsModern(header) || protocol.IsModern(meta)) {
		s.postModern(x, m, header, meta)
		return
	}
	if m.Method == methodDiscover && s.script.Protocol.ModernMode() == protocol.Silent {
		select {
		case <-x.r.Context().Done():
		case <-s.ctx.Done():
		}
		panic(http.ErrAbortHandler)
	}
	s.postLegacy(x, m, header)
}

// unreadable answers what is no message.
func (x *exchange) unreadable(m mcpwire.Message, err error) {
	id, rpc := unreadable(m.Frame, err.Error())
	x.refuse(http.StatusBadRequest, id, rpc.Code, rpc.Message)
}

// unreadable is the error that a frame deserves which is no message, whatever
// the transport, and the id that it is sent with. Batches are none: only
// 2025-03-26 had them.
func unreadable(frame []byte, why string) (id json.RawMessage, rpc *harness.RPCError) {
	frame = bytes.TrimSpace(frame)
	switch {
	case !json.Valid(frame):
		return mcpwire.IDOf(frame), &harness.RPCError{Code: mcp.PARSE_ERROR, Message: "Parse error: " + why}
	case frame[0] == '[':
		return nil, &harness.RPCError{Code: mcp.INVALID_REQUEST, Message: "Invalid Request: batches are not supported"}
	}
	return mcpwire.IDOf(frame), &harness.RPCError{Code: mcp.INVALID_REQUEST, Message: "Invalid Request: " + why}
}

// knowsModern reports whether the server has heard of 2026-07-28.
func (s *Server) knowsModern() bool {
	mode := s.script.Protocol.ModernMode()
	return mode == protocol.On || mode == protocol.Reject
}

// metaVersion is the version that a modern message names.
func (s *Server) metaVersion(m mcpwire.Message) string {
	if !s.knowsModern() || !strings.Contains(string(m.Params), mcp.MetaKeyProtocolVersion) {
		return ""
	}
	c := &client{s: s}
	return c.newRequest(m, nil).params.Meta.Version
}

// postModern answers a message that stands for itself.
func (s *Server) postModern(x *exchange, m mcpwire.Message, header, meta string) {
	bad := func(code int, message string) { x.refuse(http.StatusBadRequest, m.ID, code, message) }
	switch {
	case x.r.Header.Get(mcp.HeaderLastEventID) != "":
		bad(mcp.HEADER_MISMATCH, "Last-Event-ID is not supported in protocol version "+protocol.FirstModern+": streams are not resumable")
	case m.Method == "":
		bad(mcp.INVALID_REQUEST, "responses of clients are not supported in protocol version "+protocol.FirstModern)
	case header == "":
		bad(mcp.HEADER_MISMATCH, mcp.HeaderProtocolVersion+" header is required for requests carrying "+mcp.MetaKeyProtocolVersion)
	case m.IsNotification() && meta == "":
		// Only requests have to carry it: the Go SDK sends notifications/cancelled
		// without.
		x.plain(http.StatusAccepted, "")
	case meta == "":
		bad(mcp.INVALID_PARAMS, "missing or invalid _meta field "+mcp.MetaKeyProtocolVersion)
	case header != meta:
		bad(mcp.HEADER_MISMATCH, mcp.HeaderProtocolVersion+" header "+header+" does not match request "+mcp.MetaKeyProtocolVersion+" "+meta)
	case m.IsNotification():
		x.plain(http.StatusAccepted, "")
	default:
		c := s.newClient(s.ctx, "", x.transport)
		c.modern = true
		w := newHTTPWire(c, x.w, x.r)
		r := c.newRequest(m, w)
		if err := s.checkHeaders(x.r.Header, r); err != nil {
			bad(mcp.HEADER_MISMATCH, err.Error())
			return
		}
		s.serveHTTPRequest(x, c, r, w)
	}
}

// checkHeaders compares the headers of a modern request with its body.
func (s *Server) checkHeaders(h http.Header, r *request) error {
	if err := mcp.ValidateStandardHeaders(h.Get, r.params.Meta.Version, mcp.MCPMethod(r.Method), r.Params); err != nil {
		return err
	}
	if r.Method != methodCall {
		return nil
	}
	tool := s.offer.Load().tools.byName[r.params.Name]
	if tool == nil || tool.headers == nil {
		return nil
	}
	return mcp.ValidateParamHeadersLookup(func(name string) (string, bool) {
		values := h.Values(name)
		return strings.Join(values, ", "), len(values) > 0
	}, tool.headers, r.Params)
}

// postLegacy answers a message of a session.
func (s *Server) postLegacy(x *exchange, m mcpwire.Message, header string) {
	if header != "" && m.Method != methodInitialize && !slices.Contains(s.legacyVersions, header) {
		x.refuse(http.StatusBadRequest, m.ID, codeHTTP, "Bad Request: Unsupported protocol version: "+header+" (supported versions: "+strings.Join(s.legacyVersions, ", ")+")")
		return
	}
	if len(s.legacyVersions) == 0 {
		x.refuse(http.StatusBadRequest, m.ID, mcp.INVALID_PARAMS, "missing or invalid _meta field "+mcp.MetaKeyProtocolVersion)
		return
	}
	c, ok := s.sessionOf(x, m)
	if !ok {
		return
	}
	switch {
	case m.IsNotification():
		c.notified(m)
		x.plain(http.StatusAccepted, "")
	case !m.IsRequest():
		c.answered(m)
		x.plain(http.StatusAccepted, "")
	default:
		w := newHTTPWire(c, x.w, x.r)
		r := c.newRequest(m, w)
		if m.Method == methodInitialize && c.id != "" {
			x.w.Header().Set(sessionHeader, c.id)
		}
		s.serveHTTPRequest(x, c, r, w)
		if _, opened := c.handshake(); !opened && m.Method == methodInitialize {
			s.endSession(c)
		}
	}
}

// sessionOf finds the session of a message, or opens one. false means that
// the request has been answered.
func (s *Server) sessionOf(x *exchange, m mcpwire.Message) (*client, bool) {
	mode := s.script.Protocol.SessionMode()
	id := x.r.Header.Get(sessionHeader)
	switch {
	case mode == protocol.None:
		return s.newClient(s.ctx, "", x.transport), true
	case m.Method == methodInitialize:
		c := s.newClient(s.ctx, "mcp-session-"+rand.Text(), x.transport)
		s.mu.Lock()
		s.byID[c.id] = c
		s.mu.Unlock()
		s.addClient(c)
		return c, true
	case id == "" && mode == protocol.Optional:
		return s.newClient(s.ctx, "", x.transport), true
	case id == "":
		x.refuse(http.StatusBadRequest, m.ID, mcp.INVALID_REQUEST, "Bad Request: Missing session ID")
		return nil, false
	}
	return s.session(x, m, id)
}

// session finds a session by its id.
func (s *Server) session(x *exchange, m mcpwire.Message, id string) (*client, bool) {
	s.mu.Lock()
	c := s.byID[id]
	s.mu.Unlock()
	if c == nil || c.transport != x.transport {
		x.refuse(http.StatusNotFound, m.ID, codeNoSession, "Session not found")
		return nil, false
	}
	return c, true
}

func (s *Server) endSession(c *client) {
	s.forget(c)
	c.end()
}

// serveHTTPRequest answers the request r in an HTTP answer.
func (s *Server) serveHTTPRequest(x *exchange, c *client, r *request, w *httpWire) {
	if r.Method == methodInitialize || r.Method == methodDiscover {
		if s.faults.start(x.r.Context(), c) != nil {
			panic(http.ErrAbortHandler)
		}
	}
	r.out.strike = s.faults.arrive(c, r.Message)
	ctx, cancel := context.WithCancel(c.ctx)
	// The request ends with its connection, unless it is we who closed that or
	// the client can come back.
	stop := context.AfterFunc(x.r.Context(), func() {
		if !w.conn.left() && !w.resumable() {
			cancel()
		}
	})
	answer := func() {
		defer stop()
		defer cancel()
		defer w.done()
		s.serveRequest(ctx, r)
	}
	if r.out.strike == nil && !s.outlasting {
		answer()
		w.wait(x.r.Context().Done(), closedChannel())
		return
	}
	// What works on the request may outlast the answer that it has here.
	done := make(chan struct{})
	s.sessions.Go(func() {
		defer close(done)
		answer()
	})
	w.wait(x.r.Context().Done(), done)
}

// get answers a GET: what a legacy session listens to.
func (s *Server) get(x *exchange) {
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
	w := newHTTPWire(c, x.w, x.r)
	o := &outlet{c: c, wire: w}
	if o.strike = s.faults.arrive(c, mcpwire.Message{Method: http.MethodGet}); o.strike.before(x.r.Context(), o) {
		w.wait(x.r.Context().Done(), closedChannel())
		return
	}
	c.logFrame(harness.Frame{Kind: harness.FrameHTTP, HTTP: "200"}, nil)
	w.began, w.st = true, st
	w.conn.open()
	st.attach(w.conn, from)
	stop := context.AfterFunc(c.ctx, w.conn.finish)
	defer stop()
	w.wait(x.r.Context().Done(), nil)
	c.logFrame(harness.Frame{Kind: harness.FrameEnd}, nil)
}

func closedChannel() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

const onlyPOST = "POST"

// allows are the HTTP methods that the client of a request may use: the others
// are for sessions, which there are none of in 2026-07-28.
func (s *Server) allows(r *http.Request) string {
	if s.script.Protocol.SessionMode() == protocol.None || len(s.legacyVersions) == 0 ||
		s.knowsModern() && protocol.IsModern(r.Header.Get(mcp.HeaderProtocolVersion)) {
		return onlyPOST
	}
	return "GET, POST, DELETE"
}

// sessionForStream finds the session of a GET or a DELETE.
func (s *Server) sessionForStream(x *exchange) (*client, bool) {
	id := x.r.Header.Get(sessionHeader)
	switch {
	case s.allows(x.r) == onlyPOST:
		x.notAllowed(onlyPOST)
		return nil, false
	case id == "":
		x.refuse(http.StatusBadRequest, nil, mcp.INVALID_REQUEST, "Bad Request: Missing session ID")
		return nil, false
	}
	return s.session(x, mcpwire.Message{}, id)
}

// delete answers a DELETE: the end of a session.
func (s *Server) delete(x *exchange) {
	if !x.admit(mcpwire.Message{}) {
		return
	}
	c, ok := s.sessionForStream(x)
	if !ok {
		return
	}
	w := newHTTPWire(c, x.w, x.r)
	o := &outlet{c: c, wire: w}
	if o.strike = s.faults.arrive(c, mcpwire.Message{Method: http.MethodDelete}); o.strike.before(x.r.Context(), o) {
		w.wait(x.r.Context().Done(), closedChannel())
		return
	}
	s.endSession(c)
	c.logFrame(harness.Frame{Kind: harness.FrameEnd}, nil)
	x.plain(http.StatusOK, "")
}
