// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

const defaultBytes = 256 << 20

// MCP serves one script of a mock MCP server to many tests at once, each with
// a server of its own. It is an [http.Handler] like [Server], with the same
// paths; the server of a conversation is at /mcp, /sse or /ws. It is safe for
// concurrent use.
type MCP struct {
	*host[mockmcp.Script, mockmcp.Options, *toolServer]
	ending sync.WaitGroup // servers that were replaced
}

// toolServer is the mock MCP server of one conversation.
type toolServer struct {
	*mockmcp.Server
	http.Handler
}

// Close ends it at once.
func (m *toolServer) Close() { _ = m.Server.Close() } // it has no errors

// NewMCP returns a server of script. The error says why it cannot be played.
func NewMCP(script mockmcp.Script, opts *MCPOptions) (*MCP, error) {
	s := &MCP{host: newHost[mockmcp.Script, mockmcp.Options, *toolServer](opts)}
	s.opts.Transport = cmp.Or(s.opts.Transport, "http")
	mock := &s.opts.Mock
	if mock.Logf == nil {
		mock.Logf = func(string, ...any) {}
	}
	if mock.Memory == nil {
		mock.Memory = &mockmcp.Memory{Bytes: cmp.Or(s.opts.MaxBytes, defaultBytes)}
	}
	mock.Hosts, mock.Origins = s.opts.Gate.Hosts, s.opts.Gate.Origins
	called := mock.OnCall
	mock.OnCall = func(tool string) {
		s.metrics.called(s.known(tool))
		if called != nil {
			called(tool)
		}
	}
	s.logf, s.fresh, s.end, s.atOnce, s.converse = mock.Logf, s.toolServer, s.shutdown, true, s.ask
	s.entries = func(id string, m *toolServer) []entry { return serverEntries(id, m.Journal(), m.Frames()) }
	s.shows = map[string]func(*toolServer) any{
		"GET journal":      func(m *toolServer) any { return some(m.Journal()) },
		"GET frames":       func(m *toolServer) any { return some(m.Frames()) },
		"GET state":        func(m *toolServer) any { return m.State() },
		"GET state/diff":   func(m *toolServer) any { return m.StateDiff() },
		"GET expectations": func(m *toolServer) any { return findingsOf(m.Server) },
	}
	s.admin = map[string]adminRoute{
		"PUT state":         s.serveSetState,
		"GET conversations": s.serveConversations,
		"GET metrics":       s.serveMetrics,
		"POST verify": s.verify(func(data []byte) (judge[*toolServer], error) {
			c, err := decodeClaims(data)
			return func(ctx context.Context, m *toolServer) []check { return c.judge(ctx, m.Server) }, err
		}),
	}
	if err := s.Load(script); err != nil {
		return nil, err
	}
	return s, nil
}

// Path is where the server of the default conversation is.
func (s *MCP) Path() string {
	if s.opts.Transport == "http" {
		return "/mcp"
	}
	return "/" + s.opts.Transport
}

// Default is the server of the default conversation as it is now.
func (s *MCP) Default() *mockmcp.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[""].mock.Server
}

// known is a tool that metrics may name: those of the script.
func (s *MCP) known(tool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.script.Tools, func(t mockmcp.Tool) bool { return t.Name == tool }) {
		return tool
	}
	return "other"
}

// toolServer makes the server of a conversation that is not known yet.
func (s *MCP) toolServer(id string, script mockmcp.Script) (*toolServer, error) {
	opts := s.opts.Mock
	opts.Logf = s.logOf(id)
	server, err := mockmcp.New(script, &opts)
	if err != nil {
		return nil, err
	}
	switch s.opts.Transport {
	case "sse":
		return &toolServer{server, server.SSEHandler()}, nil
	case "ws":
		return &toolServer{server, server.WSHandler()}, nil
	}
	return &toolServer{server, server.Handler()}, nil
}

// shutdown has a server that was replaced end once it has answered what it is
// answering.
func (s *MCP) shutdown(m *toolServer) {
	s.ending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.opts.Grace)
		defer cancel()
		_ = m.Shutdown(ctx) // what is left then is cut
	})
}

// Close ends all servers and waits for them. Later requests are answered 503.
func (s *MCP) Close() {
	s.host.Close()
	s.ending.Wait()
}

// drain ends all servers once they have answered what they are answering, or
// when ctx ends.
func (s *MCP) drain(ctx context.Context) {
	var all sync.WaitGroup
	_, list := s.conversations()
	for _, m := range list {
		all.Go(func() { _ = m.Shutdown(ctx) })
	}
	all.Wait()
}

// ask hands a request to the server of a conversation.
func (s *MCP) ask(w http.ResponseWriter, r *http.Request, id string) {
	if path := r.URL.Path; path != s.Path() && !(s.opts.Transport == "sse" && path == "/message") && !strings.HasPrefix(path, "/.well-known/") {
		writeError(w, http.StatusNotFound, fmt.Errorf("%s does not exist; the mock server is at %s", path, s.Path()))
		return
	}
	c, err := s.enter(id)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	defer s.leave(c)
	m := s.metrics.begin(w, r)
	defer m.end()
	c.mock.Handler.ServeHTTP(m, r)
}

// findings say how many calls came and what went against the script.
type findings struct {
	OK    bool `json:"ok"` // every fault struck, and there are no problems
	Calls int  `json:"calls"`
	// Unstruck are the faults that met no request yet.
	Unstruck []string `json:"unstruck"`
	// Problems are misses and errors of the script.
	Problems []string `json:"problems"`
}

func findingsOf(m *mockmcp.Server) findings {
	f := findings{Calls: m.Calls(), Unstruck: []string{}, Problems: []string{}}
	for _, x := range m.IdleFaults() {
		f.Unstruck = append(f.Unstruck, fmt.Sprintf("%s: %s", strings.TrimSpace(fmt.Sprintf("%s %s", x.Fault.Kind, x.Fault.Pos)), x.Why))
	}
	for _, err := range m.Problems() {
		f.Problems = append(f.Problems, err.Error())
	}
	f.OK = len(f.Unstruck)+len(f.Problems) == 0
	return f
}

func (s *MCP) serveSetState(w http.ResponseWriter, r *http.Request, t target) {
	data, ok := readBody(w, r, jsonTypes)
	if !ok {
		return
	}
	s.with(w, t, func(m *toolServer) {
		if err := s.room(posted{id: t.id, state: true}, len(data)); err != nil {
			writeError(w, http.StatusServiceUnavailable, err)
		} else if err := m.SetState(json.RawMessage(data)); err != nil {
			writeError(w, http.StatusBadRequest, err)
		} else {
			w.WriteHeader(http.StatusNoContent)
		}
	})
}

func (s *MCP) serveConversations(w http.ResponseWriter, _ *http.Request, _ target) {
	type row struct {
		ID       string `json:"id"`
		Calls    int    `json:"calls"`
		Problems int    `json:"problems"`
	}
	rows := []row{}
	ids, list := s.conversations()
	for i, m := range list {
		f := findingsOf(m.Server)
		rows = append(rows, row{ids[i], f.Calls, len(f.Problems)})
	}
	writeJSON(w, http.StatusOK, rows)
}

func (s *MCP) serveMetrics(w http.ResponseWriter, _ *http.Request, _ target) {
	misses := 0
	faults := map[string]int{}
	_, list := s.conversations()
	for _, m := range list {
		for _, x := range m.Journal() {
			if x.Miss != "" {
				misses++
			}
		}
		for _, f := range m.Frames() {
			if f.Fault != "" {
				faults[f.Fault]++
			}
		}
	}
	s.metrics.writeMCP(w, len(list), misses, faults)
}
