// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// Codes of errors that only HTTP has.
const (
	codeNoSession = -32001
	codeHTTP      = -32000
)

// bodyAnnounced is the longest body for which room is made before it comes.
const bodyAnnounced = 64 << 10

// Handler serves streamable HTTP, with sessions for clients up to 2025-11-25
// and without for clients of 2026-07-28, at whatever path it is mounted. Below
// /.well-known/oauth-protected-resource it serves the metadata of
// [Auth].
func (s *Server) Handler() http.Handler {
	return s.handler(fault.HTTP, func(x *webRequest) {
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
func (s *Server) handler(transport string, f func(*webRequest)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			http.Error(w, "the mock server is closed", http.StatusServiceUnavailable)
			return
		}
		defer s.sessions.Done()
		defer s.weigh()
		defer context.AfterFunc(s.ctx, func() { release(w, r) })()
		f(&webRequest{s: s, w: w, r: r, transport: transport, session: r.Header.Get(mcpwire.HeaderSession)})
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

// webRequest is one HTTP request and its answer, as long as it belongs to no
// client.
type webRequest struct {
	s         *Server
	w         http.ResponseWriter
	r         *http.Request
	transport string
	session   string // the id that it names, or ""
}

// client is who the log says it was when nobody knows.
func (x *webRequest) client() *client {
	return &client{s: x.s, id: x.session, transport: x.transport}
}

// refuse answers with a JSON-RPC error.
func (x *webRequest) refuse(status int, id []byte, code int, message string) {
	body := writeRPC(x.w, status, id, code, message)
	x.client().logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameResponse, ID: id, HTTP: strconv.Itoa(status)}, body)
}

// plain answers with a status and a line of text, or nothing.
func (x *webRequest) plain(status int, text string) {
	x.client().logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameHTTP, HTTP: strconv.Itoa(status)}, []byte(text))
	if text == "" {
		x.w.WriteHeader(status)
		return
	}
	http.Error(x.w, text, status)
}

func (x *webRequest) notAllowed(allow string) {
	x.w.Header().Set("Allow", allow)
	x.plain(http.StatusMethodNotAllowed, "method not allowed")
}

// admit logs a request and reports whether it may go on: not for foreign
// hosts and origins, nor without the token.
func (x *webRequest) admit(m mcpwire.Message) bool {
	x.client().received(m, x.r)
	if why := x.s.rules().Foreign(x.r); why != "" {
		x.plain(http.StatusForbidden, why)
		return false
	}
	return x.authorized()
}

// body reads a POST.
func (x *webRequest) body() (m mcpwire.Message, err error) {
	var b []byte
	if n := x.r.ContentLength; 0 < n && n <= bodyAnnounced {
		var came bytes.Buffer
		err = gate.ReadAnnounced(&came, x.r.Body, n)
		b = came.Bytes()
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
func (s *Server) post(x *webRequest) {
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
	header := x.r.Header.Get(mcpwire.HeaderVersion)
	meta := ""
	if m.Method != "" {
		meta = s.metaVersion(m)
	}
	if s.isModern(header) || s.isModern(meta) {
		s.postModern(x, m, header, meta)
		return
	}
	if m.Method == mcpwire.MethodDiscover && s.mode == ModernSilent {
		select {
		case <-x.r.Context().Done():
		case <-s.ctx.Done():
		}
		panic(http.ErrAbortHandler)
	}
	s.postLegacy(x, m, header)
}

// unreadable answers anything that is not a message.
func (x *webRequest) unreadable(m mcpwire.Message, err error) {
	id, rpc := unreadable(m.Frame, err.Error())
	x.refuse(http.StatusBadRequest, id, rpc.Code, rpc.Message)
}

// unreadable is the error that a frame deserves which is no message, whatever
// the transport, and the id that it is sent with. Batches are none: only
// 2025-03-26 had them.
func unreadable(frame []byte, why string) (id json.RawMessage, rpc *jsonrpc.Error) {
	frame = bytes.TrimSpace(frame)
	switch {
	case !json.Valid(frame):
		return mcpwire.IDOf(frame), &jsonrpc.Error{Code: mcpwire.CodeParse, Message: "Parse error: " + why}
	case frame[0] == '[':
		return nil, &jsonrpc.Error{Code: mcpwire.CodeInvalidRequest, Message: "Invalid Request: batches are not supported"}
	}
	return mcpwire.IDOf(frame), &jsonrpc.Error{Code: mcpwire.CodeInvalidRequest, Message: "Invalid Request: " + why}
}

// metaVersion is the version that a modern message names.
func (s *Server) metaVersion(m mcpwire.Message) string {
	if !strings.Contains(string(m.Params), mcpwire.MetaVersion) {
		return ""
	}
	c := &client{s: s}
	return c.newRequest(m, nil).params.Meta.Version
}

// postModern answers a message that stands for itself.
func (s *Server) postModern(x *webRequest, m mcpwire.Message, header, meta string) {
	bad := func(code int, message string) { x.refuse(http.StatusBadRequest, m.ID, code, message) }
	switch {
	case x.r.Header.Get(mcpwire.HeaderLastEventID) != "":
		bad(mcpwire.CodeHeaderMismatch, "Last-Event-ID is not supported in protocol version "+mcpwire.FirstModern+": streams are not resumable")
	case m.Method == "":
		bad(mcpwire.CodeInvalidRequest, "responses of clients are not supported in protocol version "+mcpwire.FirstModern)
	case header == "":
		bad(mcpwire.CodeHeaderMismatch, mcpwire.HeaderVersion+" header is required for requests carrying "+mcpwire.MetaVersion)
	case m.IsNotification() && meta == "":
		// Only requests have to carry it: the Go SDK sends notifications/cancelled
		// without.
		x.plain(http.StatusAccepted, "")
	case meta == "":
		bad(mcpwire.CodeInvalidParams, "missing or invalid _meta field "+mcpwire.MetaVersion)
	case header != meta:
		bad(mcpwire.CodeHeaderMismatch, mcpwire.HeaderVersion+" header "+header+" does not match request "+mcpwire.MetaVersion+" "+meta)
	case m.IsNotification():
		x.plain(http.StatusAccepted, "")
	default:
		c := s.newClient(s.ctx, "", x.transport)
		c.modern = true
		w := newHTTPSink(c, x.w, x.r)
		r := c.newRequest(m, w)
		if err := s.checkHeaders(x.r.Header, r); err != nil {
			bad(mcpwire.CodeHeaderMismatch, err.Error())
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
	if r.Method != mcpwire.MethodCall {
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
func (s *Server) postLegacy(x *webRequest, m mcpwire.Message, header string) {
	if header != "" && m.Method != mcpwire.MethodInitialize && !slices.Contains(s.legacyVersions, header) {
		x.refuse(http.StatusBadRequest, m.ID, codeHTTP, "Bad Request: Unsupported protocol version: "+header+" (supported versions: "+strings.Join(s.legacyVersions, ", ")+")")
		return
	}
	if len(s.legacyVersions) == 0 {
		x.refuse(http.StatusBadRequest, m.ID, mcpwire.CodeInvalidParams, "missing or invalid _meta field "+mcpwire.MetaVersion)
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
		w := newHTTPSink(c, x.w, x.r)
		r := c.newRequest(m, w)
		if m.Method == mcpwire.MethodInitialize && c.id != "" {
			x.w.Header().Set(mcpwire.HeaderSession, c.id)
		}
		s.serveHTTPRequest(x, c, r, w)
		if _, opened := c.handshake(); !opened && m.Method == mcpwire.MethodInitialize {
			s.endSession(c)
		}
	}
}

// sessionOf finds the session of a message, or opens one. false means that
// the request has been answered.
func (s *Server) sessionOf(x *webRequest, m mcpwire.Message) (*client, bool) {
	mode := s.sessionRule
	id := x.r.Header.Get(mcpwire.HeaderSession)
	switch {
	case mode == SessionsNone:
		return s.newClient(s.ctx, "", x.transport), true
	case m.Method == mcpwire.MethodInitialize:
		c := s.newClient(s.ctx, "mcp-session-"+rand.Text(), x.transport)
		s.mu.Lock()
		s.byID[c.id] = c
		s.mu.Unlock()
		s.addClient(c)
		return c, true
	case id == "" && mode == SessionsOptional:
		return s.newClient(s.ctx, "", x.transport), true
	case id == "":
		x.refuse(http.StatusBadRequest, m.ID, mcpwire.CodeInvalidRequest, "Bad Request: Missing session ID")
		return nil, false
	}
	return s.session(x, m, id)
}

// session finds a session by its id.
func (s *Server) session(x *webRequest, m mcpwire.Message, id string) (*client, bool) {
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
func (s *Server) serveHTTPRequest(x *webRequest, c *client, r *request, w *httpSink) {
	if r.Method == mcpwire.MethodInitialize || r.Method == mcpwire.MethodDiscover {
		if s.faults.start(x.r.Context(), c) != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if s.faults != nil {
		r.out.strike = s.faults.arrive(c, r.Message)
	}
	s.order(r)
	mcpwire.Taken(x.r.Context())
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

func closedChannel() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

const onlyPOST = "POST"

// allows are the HTTP methods that the client of a request may use: the others
// are for sessions, which there are none of in 2026-07-28.
func (s *Server) allows(r *http.Request) string {
	if s.sessionRule == SessionsNone || len(s.legacyVersions) == 0 ||
		s.isModern(r.Header.Get(mcpwire.HeaderVersion)) {
		return onlyPOST
	}
	return "GET, POST, DELETE"
}

// rules say which requests over HTTP are answered.
func (s *Server) rules() gate.Rules {
	return gate.Rules{Hosts: s.opts.Hosts, Origins: s.opts.Origins}
}

// authorized reports whether a request has the token, and answers one that
// has not.
func (x *webRequest) authorized() bool {
	auth := x.s.script.Protocol.Auth
	if auth == nil || gate.Bearer(x.r, auth.Token) {
		return true
	}
	challenge := fmt.Sprintf("Bearer resource_metadata=%q", origin(x.r)+metadataPath+x.r.URL.Path)
	if len(auth.Scopes) > 0 {
		challenge += fmt.Sprintf(", scope=%q", strings.Join(auth.Scopes, " "))
	}
	if x.r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token", error_description="the token is not valid"`
	}
	x.w.Header().Set("WWW-Authenticate", challenge)
	x.plain(http.StatusUnauthorized, "Unauthorized")
	return false
}

// origin is where a request was sent to.
func origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// metadata answers with the metadata of the protected resource.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	auth := s.script.Protocol.Auth
	if auth == nil || s.rules().Foreign(r) != "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(mcpwire.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers,omitempty"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name,omitempty"`
	}{origin(r) + strings.TrimPrefix(r.URL.Path, metadataPath), auth.Servers, auth.Scopes, []string{"header"}, s.script.Name}))
}

// metadataPath is where the metadata of a protected resource stands.
const metadataPath = "/.well-known/oauth-protected-resource"
