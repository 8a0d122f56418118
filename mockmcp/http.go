// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// serveHTTP answers calls and lists with our part in mcp-go's answer, and
// lets mcp-go answer the rest.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		http.Error(w, "the mock server is closed", http.StatusServiceUnavailable)
		return
	}
	defer s.sessions.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	r = r.WithContext(ctx)
	if r.Method != http.MethodPost {
		s.http.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcpwire.DefaultMaxFrame))
	if err != nil {
		http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	setBody(r, body)
	m, err := mcpwire.Parse(body)
	if err != nil {
		s.http.ServeHTTP(w, r) // mcp-go has its words for that
		return
	}
	modern := mcp.IsModernProtocol(metaVersion(m.Params)) || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	if m.Method != "" && m.Method != "initialize" && !modern && r.Header.Get(server.HeaderKeySessionID) == "" {
		// mcp-go answers 404 in plain text, which tells a client that probes
		// for the new era that there is no server here.
		writeError(w, http.StatusBadRequest, m.ID, mcp.INVALID_REQUEST, "Bad Request: Missing session ID")
		return
	}
	if m.Method != methodCall && m.Method != methodList {
		s.http.ServeHTTP(w, r)
		return
	}
	var t *ticket
	if m.Method == methodCall {
		t = &ticket{params: m.Params, decided: func() {}}
		r = r.WithContext(context.WithValue(ctx, ticketKey{}, t))
		s.standInHTTP(r, m)
	}
	// A recorder cannot stream, so mcp-go answers with one JSON object.
	rec := &recorder{header: http.Header{}, code: http.StatusOK}
	s.http.ServeHTTP(rec, r)
	if ctx.Err() != nil {
		return
	}
	s.forward(w, rec, m, t)
}

// standInHTTP puts the stand-in for a call into the request. The headers that
// name the tool must agree with the body, for mcp-go compares them.
func (s *Server) standInHTTP(r *http.Request, m mcpwire.Message) {
	if name := r.Header.Get(mcp.HeaderName); name != "" {
		if mcp.ValidateStandardHeaders(r.Header.Get, metaVersion(m.Params), mcp.MethodToolsCall, m.Params) != nil {
			return // mcp-go refuses the mismatch before it looks for the tool
		}
		r.Header = r.Header.Clone()
		r.Header.Set(mcp.HeaderName, stand)
	}
	setBody(r, standIn(m))
}

// forward sends what mcp-go answered, with our part in it.
func (s *Server) forward(w http.ResponseWriter, rec *recorder, m mcpwire.Message, t *ticket) {
	body := rec.body.Bytes()
	switch rec.code {
	case http.StatusOK:
		body = append(s.answer(m, t, body), '\n')
	case http.StatusNotFound:
		if !json.Valid(body) {
			writeError(w, http.StatusNotFound, m.ID, -32001, "Session not found")
			return
		}
	}
	for k, v := range rec.header {
		w.Header()[k] = v
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.code)
	_, _ = w.Write(body)
}

// recorder keeps an answer for us to change. It is no http.Flusher.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func setBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
}

// metaVersion is the protocol version that a request of the new era names.
func metaVersion(params json.RawMessage) string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var version string
	if json.Unmarshal(params, &p) == nil {
		_ = json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &version)
	}
	return version
}

func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(mcpwire.Message{ID: id, Error: rpcAnswer(code, message).RPCError}.Encode())
}

// TB is the part of [testing.TB] that [NewServer] needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// HTTPServer is a [Server] on a loopback port of its own.
type HTTPServer struct {
	*Server
	URL string // ends in /mcp
}

// NewServer starts a server for a test on a loopback port, over streamable
// HTTP. When the test ends it is closed, and each call that no scripted
// result fits fails the test.
func NewServer(t TB, script Script) *HTTPServer {
	t.Helper()
	s, err := New(script, nil)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("mock server %q: %v", script.Name, err)
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler())
	h := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.Serve(listener) // until Close
	}()
	t.Cleanup(func() {
		s.Close()
		h.Close()
		<-served
		if err := s.Err(); err != nil {
			t.Errorf("mock server %q: %v", script.Name, err)
		}
	})
	return &HTTPServer{Server: s, URL: "http://" + listener.Addr().String() + "/mcp"}
}
