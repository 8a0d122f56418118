// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// The methods that we answer ourselves, inside mcp-go's envelope.
const (
	methodCall = "tools/call"
	methodList = "tools/list"
)

// opens reports whether a request opens a session. What comes behind it waits
// for its answer, also where a client has written both at once.
func opens(method string) bool { return method == "initialize" || method == "server/discover" }

// stand is the name of the only tool that mcp-go knows of. Each call is
// passed to it under this name, so that mcp-go checks versions, headers and
// sessions and makes the envelope of the era, while names, schemas and results
// stay out of its reach.
const stand = "call"

func newLibrary(s *Server) *server.MCPServer {
	lib := server.NewMCPServer(s.script.Name, s.script.Version,
		server.WithToolCapabilities(false),
		server.WithInstructions(s.script.Instructions))
	lib.AddTool(mcp.NewTool(stand), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if t, ok := ctx.Value(ticketKey{}).(*ticket); ok {
			s.run(ctx, t)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	return lib
}

// standIn returns the frame of a tools/call as mcp-go gets it.
func standIn(m mcpwire.Message) []byte {
	var params map[string]json.RawMessage
	if json.Unmarshal(m.Params, &params) != nil || params == nil {
		return m.Frame // mcp-go refuses it
	}
	params["name"] = json.RawMessage(`"` + stand + `"`)
	delete(params, "arguments")
	delete(params, "task")
	m.Params = mcpwire.Marshal(params)
	return m.Encode()
}

// answer puts our part into mcp-go's answer to a call or a list: frame is the
// answer, m the request. Errors of mcp-go's stand.
func (s *Server) answer(m mcpwire.Message, t *ticket, frame []byte) []byte {
	reply, err := mcpwire.Parse(frame)
	if err != nil {
		return frame
	}
	reply.ID = m.ID // as the client wrote it: mcp-go reads it as a float
	envelope := map[string]json.RawMessage{}
	if reply.Error == nil && json.Unmarshal(reply.Result, &envelope) == nil {
		switch {
		case m.Method == methodList:
			envelope["tools"] = s.listing
			reply.Result = mcpwire.Marshal(envelope)
			s.mu.Lock()
			s.lists++
			s.mu.Unlock()
		case m.Method == methodCall && t != nil && t.answer != nil && t.answer.RPCError != nil:
			reply.Result, reply.Error = nil, t.answer.RPCError
			s.sent(t, nil)
		case m.Method == methodCall && t != nil && t.answer != nil:
			reply.Result = t.answer.result(envelope)
			s.sent(t, reply.Result)
		}
	}
	return reply.Encode()
}

// result is the result object of an answer in the envelope of the era.
func (a *Answer) result(envelope map[string]json.RawMessage) json.RawMessage {
	r := struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent,omitempty"`
		IsError    bool              `json:"isError,omitempty"`
		ResultType json.RawMessage   `json:"resultType,omitempty"`
		Meta       json.RawMessage   `json:"_meta,omitempty"`
	}{Content: a.blocks(), IsError: a.IsError, ResultType: envelope["resultType"], Meta: envelope["_meta"]}
	// Before 2026-07-28 structured content is an object or absent.
	if modern := r.ResultType != nil; isObject(a.JSON) || modern {
		r.Structured = a.JSON
	}
	return mcpwire.Marshal(r)
}

// session is a pipe's session towards mcp-go. mcp-go's own for stdio is one
// for the whole process, and two servers steal each other's notifications.
type session struct {
	id          string
	initialized atomic.Bool
	notes       chan mcp.JSONRPCNotification
}

func (p *session) Initialize()                                         { p.initialized.Store(true) }
func (p *session) Initialized() bool                                   { return p.initialized.Load() }
func (p *session) SessionID() string                                   { return p.id }
func (p *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return p.notes }

// What to do with calls that are under way when the input ends.
type ending bool

const (
	finish  ending = false // the peer closed its output and still reads
	abandon ending = true  // the peer is gone
)

// serve speaks with one client over a pipe. It returns when the input ends,
// after all that it started.
func (s *Server) serve(ctx context.Context, in io.Reader, out io.Writer, end ending) error {
	s.mu.Lock()
	s.dialed++
	p := &pipe{
		s:       s,
		session: &session{id: fmt.Sprintf("pipe-%d", s.dialed), notes: make(chan mcp.JSONRPCNotification, 100)},
		out:     mcpwire.NewWriter(out),
	}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(s.lib.WithContext(ctx, p.session))
	var running sync.WaitGroup
	defer func() {
		if end == abandon {
			cancel()
		}
		running.Wait()
		cancel()
	}()
	r := mcpwire.NewReader(in, nil)
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			p.write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`))
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
			return nil
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("reading requests to mock server %q: %w", s.script.Name, err)
		case m.IsNotification():
			s.lib.HandleMessage(ctx, m.Frame)
		case m.IsRequest() && opens(m.Method):
			p.handle(ctx, m, nil)
		case m.IsRequest():
			t := p.ticket(m)
			running.Go(func() { p.handle(ctx, m, t) })
		}
	}
}

// pipe is one client over a pipe.
type pipe struct {
	s       *Server
	session *session
	out     *mcpwire.Writer
	last    <-chan struct{} // closed when the call that arrived last is decided
}

// ticket makes the ticket of a call, in order of arrival: calls run
// concurrently, but results are picked in the order of the pipe.
func (p *pipe) ticket(m mcpwire.Message) *ticket {
	if m.Method != methodCall {
		return nil
	}
	decided := make(chan struct{})
	t := &ticket{params: m.Params, after: p.last, decided: sync.OnceFunc(func() { close(decided) })}
	p.last = decided
	return t
}

func (p *pipe) handle(ctx context.Context, m mcpwire.Message, t *ticket) {
	frame := m.Frame
	if t != nil {
		defer t.decided()
		ctx = context.WithValue(ctx, ticketKey{}, t)
		frame = standIn(m)
	}
	reply := p.s.lib.HandleMessage(ctx, frame)
	if reply == nil || ctx.Err() != nil || t != nil && t.cancelled {
		return
	}
	// What mcp-go tells while it handles a request goes out before the reply.
	for {
		select {
		case note := <-p.session.notes:
			p.write(mcpwire.Marshal(note))
			continue
		default:
		}
		break
	}
	p.write(p.s.answer(m, t, mcpwire.Marshal(reply)))
}

// write sends a frame; a client that does not read any more misses it.
func (p *pipe) write(frame []byte) { _ = p.out.Write(frame) }
