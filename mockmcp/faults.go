// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// faults decides what goes wrong at a server. A nil one decides that nothing
// does.
type faults struct {
	s *Server

	mu     sync.Mutex // guards what follows
	player *fault.Player
	tools  []Tool                    // all that are offered at some time
	picked map[*Result]*fault.Player // of the faults of results
	pages  int                       // of lists without end
	errs   []error                   // of the script's matches
}

// loadFaults reads the faults of the script.
func (s *Server) loadFaults() []error {
	f := &faults{s: s, picked: make(map[*Result]*fault.Player)}
	var errs []error
	check := func(list []fault.Fault, where string) {
		for i := range list {
			if err := list[i].Check(); err != nil {
				at := where
				if !list[i].Pos.IsZero() {
					at = list[i].Pos.String() + ": "
				}
				errs = append(errs, fmt.Errorf("%s%w", at, err))
			}
		}
	}
	any := len(s.script.Faults) > 0
	check(s.script.Faults, "")
	tools := slices.Clone(s.script.Tools)
	for _, c := range s.script.Changes {
		tools = append(tools, c.AddTools...)
	}
	for _, t := range tools {
		for j := range t.Results {
			any = any || len(t.Results[j].Faults) > 0
			check(t.Results[j].Faults, fmt.Sprintf("tool %q: ", t.Name))
		}
	}
	if any && errs == nil {
		f.player, f.tools = fault.NewPlayer(s.script.Faults), tools
		s.faults = f
	}
	return errs
}

// reset has the faults strike from the beginning.
func (f *faults) reset() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.player, f.pages, f.errs = fault.NewPlayer(f.s.script.Faults), 0, nil
	clear(f.picked)
}

// IdleFaults returns those of the script's faults that have not struck, with the
// reason, in their order: the server's own, then those of results, tool by tool.
func (s *Server) IdleFaults() []fault.Idle {
	if s.faults == nil {
		return nil
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	out := s.faults.player.Idle()
	for _, t := range s.faults.tools {
		for j := range t.Results {
			r := &t.Results[j]
			if player := s.faults.picked[r]; player != nil {
				out = append(out, player.Idle()...)
				continue
			}
			for _, f := range r.Faults {
				out = append(out, fault.Idle{Fault: f, Why: fmt.Sprintf("no call of %q was answered by its result", t.Name)})
			}
		}
	}
	return out
}

// Unstruck returns the faults of [Server.IdleFaults].
func (s *Server) Unstruck() []fault.Fault {
	var out []fault.Fault
	for _, idle := range s.IdleFaults() {
		out = append(out, idle.Fault)
	}
	return out
}

// forgetAll has the server know no session any more, as after a restart.
func (s *Server) forgetAll() {
	s.mu.Lock()
	clients := slices.Collect(maps.Values(s.byID))
	s.mu.Unlock()
	for _, c := range clients {
		s.endSession(c)
	}
}

// pick has a fault of a result strike the call that the result answers,
// unless another one strikes it.
func (f *faults) pick(r *request, res *Result) {
	if f == nil || len(res.Faults) == 0 || r.out.strike != nil {
		return
	}
	f.mu.Lock()
	player := f.picked[res]
	if player == nil {
		player = fault.NewPlayer(res.Faults)
		f.picked[res] = player
	}
	f.mu.Unlock()
	e := fault.Event{Method: mcpwire.MethodCall, Tool: r.params.Name, Args: r.params.Arguments, Transport: r.client.transport, Modern: r.era == modern}
	if r.out.strike = f.ask(player, &e); r.out.strike != nil {
		r.out.strike.ofResult = true
		f.s.frames.strike(r.client.id, r.Message, r.out.strike.f.String())
	}
}

// problems are the errors of the script that its faults met.
func (f *faults) problems() []error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]error(nil), f.errs...)
}

// next returns the fault that strikes an event, with what it needs; nil for
// none.
func (f *faults) next(e *fault.Event) *strike { return f.ask(f.player, e) }

func (f *faults) ask(player *fault.Player, e *fault.Event) *strike {
	f.mu.Lock()
	defer f.mu.Unlock()
	hit, err := guard(func() (*fault.Fault, error) { return player.Next(e) })
	if err != nil {
		f.errs = append(f.errs, err)
		f.s.opts.Logf("mock server %q: %v", f.s.script.Name, err)
		return nil
	}
	if hit == nil {
		return nil
	}
	st := &strike{f: hit}
	if hit.Kind == fault.CursorLoop {
		f.pages++
		st.page = f.pages
	}
	return st
}

// start is called when a connection opens, before its first frame is read. An
// error ends the connection without an answer.
func (f *faults) start(ctx context.Context, c *client) error {
	if f == nil || c.out == nil { // over HTTP the first request is the start
		return nil
	}
	st := f.next(&fault.Event{Method: fault.Start, Transport: c.transport})
	if st == nil {
		return nil
	}
	o := c.out
	switch st.f.Kind {
	case fault.SlowStart:
		st.note(o)
		return f.s.opts.Clock.Sleep(ctx, st.slow())
	case fault.JunkLine:
		s := situation{transport: c.transport, streaming: c.transport == fault.SSE}
		st.do(ctx, o, s.junk(st.f, st.f.FormOf()))
		return nil
	}
	st.die(o)
	return errStruck
}

var errStruck = errors.New("a fault has ended the connection")

// arrive is called for each request, in order of arrival, and over HTTP for
// those that carry no message, whose method is GET or DELETE.
func (f *faults) arrive(c *client, m mcpwire.Message) *strike {
	if f == nil {
		return nil
	}
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if len(m.Params) > 0 {
		_ = json.Unmarshal(m.Params, &p) // the request is refused elsewhere
	}
	e := fault.Event{Method: m.Method, Transport: c.transport, Modern: mcpwire.IsModern(p.Meta.Version)}
	if m.Method == mcpwire.MethodCall {
		e.Tool, e.Args = p.Name, p.Arguments
	}
	var st *strike
	if c.transport == fault.HTTP && (m.Method == mcpwire.MethodInitialize || m.Method == mcpwire.MethodDiscover) {
		st = f.next(&fault.Event{Method: fault.Start, Transport: c.transport})
	}
	if st == nil {
		st = f.next(&e)
	}
	if st != nil {
		f.s.frames.strike(c.id, m, st.f.String())
	}
	return st
}

// ended is called when the input of a connection ends.
func (f *faults) ended(ctx context.Context, c *client) {
	if f == nil {
		return
	}
	st := f.next(&fault.Event{Method: fault.End, Transport: c.transport})
	if st == nil {
		return
	}
	st.note(c.out)
	if p := c.out.process(); p != nil {
		p.IgnoreEOF()
	}
	<-ctx.Done()
}

// strike marks the request as one that a fault has struck.
func (l *frameLog) strike(session string, m mcpwire.Message, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := l.n - 1; i >= 0; i-- {
		x := l.at(i)
		if x.In && x.Session == session && x.Method == m.Method && string(x.ID) == string(m.ID) {
			x.Fault = name
			return
		}
	}
}

// strike is a fault that is to strike one request.
type strike struct {
	f     *fault.Fault
	page  int  // of a list without end
	begun bool // what comes before the handling has been done
	// ofResult says that it is a fault of a result; drifted, that the tools have
	// changed already.
	ofResult, drifted bool
	call              *ticket // that it strikes; nil for other requests
}

// told says that what is sent next tells the client the result of the call, in
// whatever form.
func (st *strike) told(s *Server) {
	if st.call == nil || withholds(st.f) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.entry(st.call); entry != nil {
		entry.Unsent = false
	}
}

func (st *strike) slow() time.Duration { return cmp.Or(st.f.Delay, 5*time.Second) }

// note keeps in the log that the fault does something that is no frame.
func (st *strike) note(o *outlet) { o.log(jsonrpc.FrameEnd, "", nil, nil, st.f.String()) }

// die ends the process, or the connection where there is none.
func (st *strike) die(o *outlet) {
	st.note(o)
	said := st.f.Stderr
	if said == "" && st.f.Kind == fault.DieAtStart {
		said = "fatal: cannot read config.json: no such file or directory"
	}
	if w := o.stderr(); w != nil && said != "" {
		_, _ = fmt.Fprintln(w, strings.TrimSuffix(said, "\n"))
	}
	code := st.f.ExitCode
	if code == 0 && st.f.Kind != fault.NoFinalNewline {
		code = 1
	}
	o.cut(code)
	if o.c.transport == fault.HTTP || o.c.transport == fault.SSE {
		o.c.s.forgetAll()
	}
}

// before does what the fault does before the request is handled, and reports
// whether that was all.
func (st *strike) before(ctx context.Context, o *outlet) bool {
	if st == nil {
		return false
	}
	st.begun = true
	clock, form := o.c.s.opts.Clock, st.f.FormOf()
	if o.r != nil && (st.f.Kind == fault.Hang || st.f.Kind == fault.ServerRequest) {
		o.r.decided() // others do not wait for what may never come
	}
	switch st.f.Kind {
	case fault.SlowStart:
		return clock.Sleep(ctx, st.slow()) != nil
	case fault.DieAtStart:
		st.die(o)
		return true
	case fault.StderrFlood:
		if w := o.stderr(); w != nil {
			flood(w, cmp.Or(st.f.Size, 400_000), form == "lines")
		}
	case fault.ToolDrift:
		if !st.drifted {
			o.c.s.mu.Lock()
			o.c.s.drift(st.f, form, driftsAt(st.f, o.r))
			o.c.s.mu.Unlock()
		}
		if o.r != nil && o.r.Method == mcpwire.MethodCall {
			o.c.s.broadcast(mcpwire.NoticeTools, "", nil)
		}
	case fault.ListChanged:
		if form == "during" {
			o.c.s.broadcast(mcpwire.NoticeTools, "", nil)
			return clock.Sleep(ctx, cmp.Or(st.f.Delay, 50*time.Millisecond)) != nil
		}
	case fault.ServerRequest:
		st.ask(ctx, o, form)
	case fault.HTTPStatus:
		return st.status(o, cmp.Or(st.f.Status, http.StatusServiceUnavailable), st.f.Body)
	case fault.Session404:
		return st.forget(o, form)
	case fault.DiscoverError:
		return st.discover(ctx, o, form)
	case fault.Hang, fault.Exit, fault.AbortConnection:
		if form != "before" && o.r != nil {
			break // a GET and a DELETE have nothing but this
		}
		switch st.f.Kind {
		case fault.Hang:
			o.c.hang(ctx)
		case fault.Exit:
			st.die(o)
		default:
			st.note(o)
			o.cut(1)
		}
		return true
	}
	return false
}

// endlessCursor takes the cursor of a list without end out of a request.
func (r *request) endlessCursor() {
	if !strings.HasPrefix(r.params.Cursor, loopPrefix) {
		return
	}
	params, ok := readObject(r.Params)
	if !ok {
		return
	}
	delete(params, "cursor")
	r.params.Cursor = ""
	r.Params = mcpwire.Marshal(params)
	r.Frame = r.Encode()
}

func flood(w interface{ Write([]byte) (int, error) }, size int, lines bool) {
	line := append(padding(99), '\n')
	if !lines {
		line[99] = ' '
	}
	for ; size > 0; size -= len(line) {
		if _, err := w.Write(line[:min(size, len(line))]); err != nil {
			return
		}
	}
}

// ask asks the client something while its request is under way.
func (st *strike) ask(ctx context.Context, o *outlet, form string) {
	method, params := "ping", any(nil)
	switch form {
	case "roots":
		method = "roots/list"
	case "sampling":
		method = "sampling/createMessage"
		params = json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"Say yes."}}],"maxTokens":10}`)
	case "elicitation":
		method = "elicitation/create"
		params = json.RawMessage(`{"message":"Go on?","requestedSchema":{"type":"object","properties":{"yes":{"type":"boolean"}}}}`)
	case "unknown":
		method = cmp.Or(st.f.Body, "rehearse/unknown")
	}
	_, _, _ = o.ask(ctx, method, params)
}

// status answers with an HTTP status, or cuts the connection where that
// cannot be.
func (st *strike) status(o *outlet, code int, body string) bool {
	h := http.Header{}
	for name, v := range st.f.Headers {
		h.Set(name, v)
	}
	if body == "" {
		body = http.StatusText(code) + "\n"
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		if json.Valid([]byte(body)) {
			h.Set("Content-Type", typeJSON)
		}
	}
	if !o.status(code, h, []byte(body)) {
		st.note(o)
		o.cut(1)
	}
	return true
}

// forget has the session forgotten, and says so.
func (st *strike) forget(o *outlet, form string) bool {
	o.forget()
	if form == "text" {
		return st.status(o, http.StatusNotFound, "session not found\n")
	}
	code := http.StatusNotFound
	if form == "400" {
		code = http.StatusBadRequest
	}
	id := json.RawMessage("null")
	if o.r != nil && len(o.r.ID) > 0 {
		id = o.r.ID
	}
	m := mcpwire.Message{ID: id, Error: &jsonrpc.Error{Code: -32001, Message: "Session not found"}}
	return st.status(o, code, string(m.Encode()))
}

// discover answers the question of the new era as a server of the old one.
func (st *strike) discover(ctx context.Context, o *outlet, form string) bool {
	e := &jsonrpc.Error{Code: -32601, Message: "Method not found"}
	id := o.r.ID
	switch form {
	case "silent":
		o.c.hang(ctx)
		return true
	case "exit":
		st.die(o)
		return true
	case "status":
		h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		if o.status(cmp.Or(st.f.Status, http.StatusNotFound), h, []byte("Not Found\n")) {
			return true
		}
	case "invalid_params":
		e = &jsonrpc.Error{Code: -32602, Message: "Invalid request parameters"}
	case "invalid_request":
		e = &jsonrpc.Error{Code: -32600, Message: "Invalid Request"}
	case "internal":
		e = &jsonrpc.Error{Code: -32603, Message: "Internal error"}
	case "not_initialized":
		e = &jsonrpc.Error{Code: -32002, Message: "Server not initialized"}
	case "null_id":
		e, id = &jsonrpc.Error{Code: -32600, Message: "Invalid Request"}, json.RawMessage("null")
	case "unsupported":
		version := o.r.params.Meta.Version
		e = &jsonrpc.Error{Code: -32022, Message: "Unsupported protocol version", Data: mcpwire.Marshal(map[string]any{"supported": []string{version}, "requested": version})}
	}
	e.Code, e.Message = cmp.Or(st.f.Code, e.Code), cmp.Or(st.f.Message, e.Message)
	if st.f.Data != nil {
		e.Data = st.f.Data
	}
	st.do(ctx, o, []op{{do: opReply, data: mcpwire.Message{ID: id, Error: e}.Encode()}})
	return true
}

// reply sends the answer in place of the outlet.
func (st *strike) reply(ctx context.Context, o *outlet, frame []byte) {
	if !st.begun && st.before(ctx, o) { // the fault of a result
		return
	}
	s := situation{transport: o.c.transport, streaming: o.streaming(), page: st.page}
	if o.r != nil {
		s.request, s.token = o.r.Message, o.r.params.Meta.ProgressToken
	}
	st.do(ctx, o, plan(st.f, s, frame))
}

// do does what a plan says.
func (st *strike) do(ctx context.Context, o *outlet, ops []op) {
	name := st.f.String()
	for _, x := range ops {
		switch x.do {
		case opReply, opSend:
			m, _ := mcpwire.Parse(x.data)
			method := m.Method
			if method == "" && o.r != nil {
				method = o.r.Method
			}
			o.log(kindOf(m), method, m.ID, x.data, name)
			if m.IsResponse() {
				st.told(o.c.s)
			}
			if x.do == opReply {
				_ = o.sink.reply(x.data, m.Error)
			} else {
				_ = o.sink.send(x.data)
			}
		case opTell:
			o.c.s.broadcast(x.text, "", nil)
		case opRaw:
			o.log(jsonrpc.FrameJunk, "", nil, x.data, name)
			if st.f.Kind != fault.JunkLine {
				st.told(o.c.s)
			}
			_ = o.raw(x.data)
		case opOpen:
			o.open(x.text)
		case opWait:
			if o.c.s.opts.Clock.Sleep(ctx, x.wait) != nil {
				return
			}
		case opHang:
			st.note(o)
			o.c.hang(ctx)
		case opCut:
			st.note(o)
			o.cut(1)
		case opExit:
			st.die(o)
		case opCloseOut:
			st.note(o)
			o.closeOut()
		case opLeave:
			o.closeStream(x.wait)
		case opEnd:
			if o.c.transport == fault.HTTP {
				o.closeOut()
			}
		}
	}
}
