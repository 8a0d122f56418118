// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// SSEHandler serves the transport of 2024-11-05: a GET opens the stream that
// carries all frames to the client and names the place for its POSTs, which is
// "message" beside the path of the GET. Mount it at both.
func (s *Server) SSEHandler() http.Handler {
	return s.handler(fault.SSE, func(x *webRequest) {
		switch x.r.Method {
		case http.MethodGet:
			s.openSSE(x)
		case http.MethodPost:
			s.postSSE(x)
		default:
			if x.admit(mcpwire.Message{}) {
				x.notAllowed("GET, POST")
			}
		}
	})
}

// sseSink is the stream of a session, with answers among all else.
type sseSink struct{ *streamSink }

func (w sseSink) reply(frame []byte, _ *jsonrpc.Error) error { return w.send(frame) }

// postSink is the stream of a session while the POST that carried the request
// has no answer yet.
type postSink struct {
	sink
	post *httpSink
}

func (w postSink) status(code int, h http.Header, body []byte) bool {
	return w.post.status(code, h, body)
}

// openSSE opens a session.
func (s *Server) openSSE(x *webRequest) {
	if !x.admit(mcpwire.Message{}) {
		return
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	c := s.newClient(ctx, "sse-session-"+rand.Text(), fault.SSE)
	defer c.end()
	st, conn := &stream{}, newSSEConn(x.w)
	c.out = &outlet{c: c, sink: sseSink{&streamSink{st}}}
	c.logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameOpen, HTTP: "200"}, nil)
	conn.open()
	st.attach(conn, 0)
	if s.faults.start(c.ctx, c) != nil {
		conn.stop(true)
	}
	s.mu.Lock()
	s.byID[c.id] = c
	s.mu.Unlock()
	s.addClient(c)
	defer s.forget(c)
	_ = conn.write(sse.Data("endpoint", []byte(endpoint(x.r, c.id))))
	select {
	case <-conn.over:
	case <-c.ctx.Done():
	}
	c.end()
	c.running.Wait()
	st.detach(conn)
	c.logFrame(jsonrpc.Frame{Kind: jsonrpc.FrameEnd}, nil)
	if conn.leave() {
		panic(http.ErrAbortHandler)
	}
}

// endpoint is where the client of a session is to POST: the path as the client
// knows it, which is not what a mux has left of it.
func endpoint(r *http.Request, session string) string {
	p := r.URL.Path
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		p = u.Path
	}
	return path.Join(path.Dir(p), "message") + "?sessionId=" + url.QueryEscape(session)
}

// postSSE takes one message of a session.
func (s *Server) postSSE(x *webRequest) {
	m, err := x.body()
	x.session = x.r.URL.Query().Get("sessionId")
	if !x.admit(m) {
		return
	}
	if err != nil {
		x.unreadable(m, err)
		return
	}
	c, ok := s.session(x, m, x.session)
	if !ok {
		return
	}
	// Counted in under a lock, so that nobody waits for the session's end
	// meanwhile.
	c.mu.Lock()
	ended := c.ctx.Err() != nil
	if !ended {
		c.running.Add(1)
	}
	c.mu.Unlock()
	if ended {
		x.refuse(http.StatusNotFound, m.ID, codeNoSession, "Session not found")
		return
	}
	defer c.running.Done()
	if !m.IsRequest() {
		x.plain(http.StatusAccepted, "")
		c.dispatch(m, nil)
		return
	}
	w := c.out.sink
	post := newHTTPSink(c, x.w, x.r)
	r := c.newRequest(m, postSink{w, post})
	r.out.strike = s.faults.arrive(c, m)
	s.order(r)
	mcpwire.Taken(x.r.Context())
	if r.out.strike.before(c.ctx, r.out) {
		r.decided()
		post.status(http.StatusAccepted, nil, nil)
		return
	}
	r.out.sink = w
	post.status(http.StatusAccepted, nil, nil)
	_ = http.NewResponseController(x.w).Flush()
	c.running.Go(func() {
		defer r.decided()
		ctx, done := c.begin(c.ctx, r)
		defer done()
		s.answer(ctx, r)
	})
}

// WSHandler serves WebSockets of the subprotocol mcp: one message in each text
// frame.
func (s *Server) WSHandler() http.Handler {
	return s.handler(fault.WS, func(x *webRequest) {
		if !x.admit(mcpwire.Message{}) {
			return
		}
		if !strings.EqualFold(x.r.Header.Get("Upgrade"), "websocket") {
			x.w.Header().Set("Connection", "Upgrade")
			x.w.Header().Set("Upgrade", "websocket")
			x.plain(http.StatusUpgradeRequired, "a WebSocket is wanted")
			return
		}
		socket, err := mcpwire.AcceptSocket(x.w, x.r)
		if err != nil {
			return // it has answered
		}
		defer socket.Abort()
		defer context.AfterFunc(s.ctx, func() { socket.Close() })()
		_ = s.attend(s.ctx, &socketProcess{Socket: socket}, fault.WS, abandon)
		socket.Close()
	})
}

// socketProcess is a WebSocket as a process: its end is the connection's.
type socketProcess struct {
	*mcpwire.Socket
	plainProcess
}

func (p *socketProcess) Read(b []byte) (int, error)  { return p.Socket.Read(b) }
func (p *socketProcess) Write(b []byte) (int, error) { return p.Socket.Write(b) }
func (p *socketProcess) CloseStdin() error           { return p.Socket.Close() }
func (p *socketProcess) CloseStdout() error          { return p.Socket.Close() }
func (p *socketProcess) Exit(int)                    { p.Abort() }
