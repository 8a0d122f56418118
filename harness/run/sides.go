// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/passthrough"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// modelSide is what stands on the model's side of a trial.
type modelSide interface {
	beginTurn(n int)
	journal() []harness.Exchange
	// each tells f of the exchanges of the journal, perhaps without what was said,
	// until it returns false.
	each(f func(*harness.Exchange) bool)
	remaining() []conduct.Unreached // scripted replies not asked for
	idle() []conduct.IdleFault      // scripted faults that struck nothing
	heldInVain() []string           // cues that were waited for and not given
	settle()                        // ends what is under way
	close()
}

// mockModel is the scripted model.
type mockModel struct {
	*mockllm.Mock
	unmount func()
}

func (m *mockModel) beginTurn(n int)                     { m.BeginTurn(n) }
func (m *mockModel) journal() []harness.Exchange         { return m.Journal() }
func (m *mockModel) each(f func(*harness.Exchange) bool) { m.EachOutline(f) }
func (m *mockModel) settle()                             {}
func (m *mockModel) heldInVain() []string                { return m.HeldInVain() }
func (m *mockModel) close() {
	m.unmount()
	m.Close()
}

func (m *mockModel) idle() []conduct.IdleFault {
	var out []conduct.IdleFault
	for _, idle := range m.IdleFaults() {
		out = append(out, conduct.IdleFault{Fault: idle.Fault.String(), Why: idle.Why, Pos: idle.Fault.Pos})
	}
	return out
}

func (m *mockModel) remaining() []conduct.Unreached {
	var out []conduct.Unreached
	m.EachRemaining(func(lane string, turn, _ int, pos harness.Position) {
		out = append(out, conduct.Unreached{Lane: lane, Turn: turn, Pos: pos})
	})
	return out
}

func (t *trial) openMock() (harness.Endpoint, error) {
	script := t.scenario.ModelScript()
	script.Servers = map[string][]harness.Tool{} // those of real servers too
	for _, s := range t.servers {
		if len(s.tools) > 0 && t.granted(s.name) {
			script.Servers[s.name] = s.tools
		}
	}
	script.Names = t.names(script.Servers)
	script.Asides = slices.Concat(t.subject.Asides, script.Asides)
	var mock *mockllm.Mock
	script.Results = func(issued []harness.Call) ([]harness.Call, error) {
		return trajectory.Fill(issued, mock.Outline(), t.toolJournal()), nil
	}
	var err error
	mock, err = mockllm.New(script, &mockllm.Options{Clock: t.clock, Seed: t.seed, Memory: t.memory, Logf: t.logf, JournalEntries: journalEntries})
	if err != nil {
		t.infra = &trials.Cause{Kind: trials.CauseScenario, Message: err.Error(), Pos: t.scenario.Pos}
		return harness.Endpoint{}, err
	}
	t.prompter.start(mock.Cue)
	base, unmount := t.gateway.mount(t.wires.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mock.ServeHTTP(w, r)
		t.checkLimits()
	})))
	t.model = &mockModel{mock, unmount}
	e := harness.Endpoint{BaseURL: base + "/v1", APIKey: placeholderKey}
	if !t.subject.Foreign {
		e.Transport = &shortcut{mock: t.wires.transport(mock.Transport()), base: base, others: t.opts.Transport, check: t.checkLimits}
	}
	return e, nil
}

// asides tells which requests of a turn to a real endpoint, or to its recording, are
// beside the conversation: those that a mock model would answer by an aside. What
// that leaves to chance, or cannot decide, belongs to the conversation.
func (t *trial) asides() func(turn int, r harness.Request) bool {
	rules := slices.Concat(t.subject.Asides, t.scenario.ModelScript().Asides)
	return func(turn int, r harness.Request) bool {
		ask := &mockllm.Ask{Request: r, Turn: turn}
		if turn > 0 && turn <= len(t.scenario.Turns) {
			ask.User = t.scenario.Turns[turn-1].User
		}
		return slices.ContainsFunc(rules, func(rule mockllm.Rule) bool {
			if rule.Chance > 0 || rule.When == nil {
				return rule.Chance == 0
			}
			holds, err := rule.When(ask)
			return err == nil && holds
		})
	}
}

// granted reports whether the subject may use a server.
func (t *trial) granted(server string) bool {
	grants := t.scenario.Grants
	return grants == nil || slices.Contains(grants[t.as()], server)
}

// as is the agent that the subject is; "" when nobody says.
func (t *trial) as() string {
	as, _ := t.settings().Extra["as"].(string)
	return as
}

// placeholderKey is the API key that subjects are given, for clients that
// need one.
const placeholderKey = "rehearse"

// shortcut carries requests to a mock model in memory: those to the URL at
// which it is mounted, and those to any other host, so that nothing leaves
// this process. What else is at the gateway is reached over loopback.
type shortcut struct {
	mock   http.RoundTripper
	base   string // of the mount, without a slash at its end
	others http.RoundTripper
	check  func() // looks at the limits after each answer
}

func (s *shortcut) RoundTrip(r *http.Request) (*http.Response, error) {
	host, mount, _ := strings.Cut(strings.TrimPrefix(s.base, "http://"), "/")
	asked := r
	if r.URL.Host == host {
		path, ours := strings.CutPrefix(r.URL.Path, "/"+mount+"/")
		if !ours {
			return s.others.RoundTrip(r)
		}
		inner, u := *r, *r.URL
		u.Path, u.RawPath = "/"+path, ""
		inner.URL = &u
		r = &inner
	}
	res, err := s.mock.RoundTrip(r)
	s.check()
	if res != nil {
		res.Request = asked
	}
	return res, err
}

// toolServer is one MCP server of a trial.
type toolServer struct {
	name   string
	reach  harness.Server
	tools  []harness.Tool  // as it lists them
	offer  []harness.Tool  // those of tools that a model can be offered
	absent []absentTool    // and the others
	mock   *mockmcp.Server // nil for a real one
	calls  func() []harness.ToolExchange
	end    []func() error // in order
	failed mockmcp.FailedWhen
	// pos and trouble are of a real one: where it stands in its file, and what
	// it failed to do.
	pos     harness.Position
	trouble func() []passthrough.Trouble
	// settings of a mock server that conduct looks at, and its children.
	script    *scenarios.Server
	processes *processes
	children  []conduct.Child
}

func (s *toolServer) close() error {
	var errs []error
	for _, end := range s.end {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// journal returns the calls; those of a real server are judged by
// failed_when here, since nothing else knows the scenario.
func (s *toolServer) journal() []harness.ToolExchange {
	calls := s.calls()
	for i := range calls {
		x := &calls[i]
		if s.failed == nil || x.Failed || x.Result == nil { // nothing came back
			continue
		}
		failed, err := s.failed(&mockmcp.Call{Tool: x.Tool, Args: x.Args}, x.Result)
		if err != nil {
			x.ScriptError, x.ScriptPos = fmt.Sprintf("%s.%s: failed_when of server %q: %s", s.name, x.Tool, s.name, filepos.Bare(err)), filepos.Of(err)
		}
		x.Failed = failed
	}
	return calls
}

// journalEntries is how many model calls and how many calls of a server can be
// judged in a trial; the journals are bounded in bytes as well.
const journalEntries = 100_000

// openServer starts a mock server, or stands before a real one. The error
// names the server, where it was sought, and the reason.
func (t *trial) openServer(ctx context.Context, s *scenarios.Server) (*toolServer, error) {
	if s.Mock == nil {
		return t.openReal(ctx, s)
	}
	var clock harness.Clock = t.clock
	var watch *serverClock // nil where no time is skipped
	switch {
	case s.RealWaits:
		clock = realWaits{t.clock}
	case t.virtual != nil:
		watch = &serverClock{virtualClock: t.virtual}
		clock = watch
	}
	opts := &mockmcp.Options{
		Clock: clock, Logf: t.logf, JournalEntries: journalEntries,
		Turn: func() int {
			t.onToolCall()
			return int(t.turn.Load())
		},
		User: func() string {
			if n := int(t.turn.Load()); n > 0 {
				return t.scenario.Turns[n-1].User
			}
			return ""
		},
	}
	if len(t.scenario.Cues) > 0 {
		opts.OnCall = func(tool string) { t.prompter.called(s.Name, tool) }
		opts.OnState = func(state json.RawMessage) { t.state(s.Name, state) }
	}
	if t.scenario.Interrupted() {
		opts.Executed = func(tool string) func(context.Context) { return t.interruptible.executed(s.Name + "." + tool) }
	}
	mock, err := mockmcp.New(*s.Mock, opts)
	if err != nil {
		return nil, fmt.Errorf("starting mock server %q: %w", s.Name, err)
	}
	t.state(s.Name, mock.State())
	server := &toolServer{name: s.Name, mock: mock, tools: mock.Tools(), calls: mock.Journal, end: []func() error{mock.Close}}
	unsteady := server.unsteady(s.Mock)
	for _, tool := range server.tools {
		if !unsteady[tool.Name] {
			server.mayOffer(mcppool.Tool{Tool: tool}, t.logf)
		}
	}
	if len(server.tools) == 0 && s.Required {
		return nil, fmt.Errorf("mock server %q (%s) lists no tools", s.Name, s.Pos)
	}
	server.script = s
	if err := t.mount(server, s, watch); err != nil {
		return nil, err
	}
	return server, nil
}

// unsteady completes the tools of a mock server by those that come in the
// course of a trial, so that they have names, and returns the tools that are
// not there, or not the same, at all times. Of those nobody knows what a request
// ought to offer.
func (s *toolServer) unsteady(script *mockmcp.Script) map[string]bool {
	out := map[string]bool{}
	for _, c := range script.Changes {
		for _, tool := range c.AddTools {
			out[tool.Name] = true
			if !slices.ContainsFunc(s.tools, func(t harness.Tool) bool { return t.Name == tool.Name }) {
				s.tools = append(s.tools, harness.Tool{Name: tool.Name, Description: tool.Description, Schema: tool.Input})
			}
		}
		for _, name := range c.RemoveTools {
			out[name] = true
		}
	}
	for _, f := range script.Faults {
		switch {
		case f.Kind != fault.BadSchema && f.Kind != fault.ToolDrift:
		case f.Match.Tool != "":
			out[f.Match.Tool] = true
		case len(s.tools) > 0:
			out[s.tools[0].Name] = true
		}
	}
	for i := range s.tools {
		if out[s.tools[i].Name] {
			s.tools[i].Schema = nil // that of the moment is as good as any
		}
	}
	return out
}

// mount puts a mock server where the subject can reach it.
func (t *trial) mount(server *toolServer, s *scenarios.Server, watch *serverClock) error {
	mock := server.mock
	server.reach = harness.Server{Name: s.Name}
	at := func(h http.Handler, scheme, path string) {
		calls := &callers{conns: make(map[string]*caller)}
		base, unmount := t.gateway.mount(calls.handler(h))
		server.reach.URL = scheme + strings.TrimPrefix(base, "http") + path
		dial := new(net.Dialer).DialContext
		if watch != nil {
			dial = watch.dial
		}
		server.reach.DialContext = calls.dialing(dial)
		server.end = append(server.end, func() error { unmount(); return nil })
	}
	transport := s.Transport
	if transport == "stdio" && t.subject.Foreign && len(t.opts.Child) > 0 {
		transport = "process" // a pipe does not leave this process
	}
	switch transport {
	case "process":
		if len(t.opts.Child) == 0 {
			return fmt.Errorf("mock server %q (%s): transport: process needs a child program; see Options.Child", s.Name, s.Pos)
		}
		p, err := startProcesses(s.Name, func(ctx context.Context, c *process) error { return mock.ServeProcess(ctx, c) }, t.logf)
		if err != nil {
			return fmt.Errorf("mock server %q (%s): %w", s.Name, s.Pos, err)
		}
		server.processes, server.reach = p, p.reach(t.opts.Child)
		server.end = append([]func() error{p.close}, server.end...)
		return nil
	case "sse":
		at(mock.SSEHandler(), "http", "/sse")
		server.reach.Transport = "sse"
		return nil
	case "ws":
		at(mock.WSHandler(), "ws", "/ws")
		server.reach.Transport = "ws"
		return nil
	}
	byURL := t.subject.Foreign || s.Transport == "http" || t.scenario.MCPConfig != ""
	if !byURL {
		if server.reach.Dial = mock.Dial; watch != nil {
			server.reach.Dial = watch.dialPipe(mock.Dial)
		}
	}
	if byURL || s.Transport != "stdio" {
		at(mock.Handler(), "http", "/mcp")
		server.reach.Transport = "http"
	}
	return nil
}

// list asks a real server for its tools, and says which entries are none;
// where is for messages.
func (t *trial) list(ctx context.Context, s *scenarios.Server, reach harness.Server, where string) (listed []mcppool.Tool, warnings []string, err error) {
	session, err := mcppool.Open(ctx, reach, &mcppool.Options{Logf: t.logf, Abort: t.opts.Abort, DiscoverTimeout: t.opts.discoverTimeout})
	if err == nil {
		defer session.Close()
		listed, warnings, err = session.Tools(ctx)
		for _, w := range warnings {
			t.logf("server %q: %s", s.Name, w)
		}
	}
	if len(listed) == 0 && s.Required {
		reason := "it returned an empty list"
		switch {
		case err != nil:
			reason = err.Error()
		case len(warnings) > 0:
			reason = strings.ReplaceAll(strings.Join(warnings, "; "), fmt.Sprintf("server %q: ", s.Name), "")
		}
		return nil, nil, fmt.Errorf("server %q (%s) lists no tools: %s", s.Name, where, reason)
	}
	return listed, warnings, nil
}

// mayOffer notes a tool that the subject is to offer, if a model can be
// offered it.
func (s *toolServer) mayOffer(tool mcppool.Tool, logf func(string, ...any)) {
	offer, err := tools.Offerable(tool)
	if err != nil {
		logf("server %q: tool %q need not be offered: %v", s.name, tool.Name, err)
		s.absent = append(s.absent, absentTool{tool.Name, err.Error()})
		return
	}
	s.offer = append(s.offer, offer)
}

// writeConfig writes an mcp.json that names the servers, and which of them each
// agent may use, into the trial's folder, and returns its path.
func writeConfig(dir, name string, servers []harness.Server, grants map[string][]string) (string, error) {
	path := filepath.Join(dir, filepath.Base(name))
	return path, mcpconfig.Write(path, mcpconfig.Claude, servers, grants)
}
