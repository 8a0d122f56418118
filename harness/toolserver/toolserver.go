// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package toolserver serves tools in sets that are switched on and off while
// agents use them: over plain HTTP, and as one MCP server.
//
//	registry, err := toolserver.ReadRegistry("tool_registry.json")
//	if err != nil {
//		return err
//	}
//	s, err := toolserver.New(ctx, registry, &toolserver.Options{AdminToken: token})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	// s is an http.Handler:
//	//   GET  /tools                  the active tools, with their schemas
//	//   POST /tools/{name}           runs one; the body is a JSON object of arguments
//	//   POST /mcp/admin/toolsets     {"action": "ACTIVATE", "toolset_ids": ["web_tools"]}
//	//   /mcp                         the active tools as an MCP server over HTTP
//
// A view is a set of active toolsets with a name. Each request names its view in
// ?view=NAME; without it, the view is the default one. A view begins, when it is
// first named, with what is active in the default view, and goes its own way
// from then on: a change of the default is one for later views.
package toolserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Tool is one tool of a [Toolset]. Exactly one of URL and Run says how it runs.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments; none means no arguments are checked
	// URL is where the arguments are posted as JSON; the body of the answer is
	// the result. An answer with a status of 400 or more is a failure.
	URL string `json:"url,omitempty"`
	// Run is the tool as a Go function. What it returns is the result, as JSON;
	// its error is one that the model is shown.
	Run func(ctx context.Context, args json.RawMessage) (any, error) `json:"-"`
}

// Toolset is tools that are switched together.
type Toolset struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	Active      bool   `json:"active,omitempty"` // in the default view, at the start
	Tools       []Tool `json:"tools,omitempty"`
	// Server is an MCP server whose tools belong to the set; Only names those
	// that do, and leaves out the rest. Empty means all.
	Server *Server  `json:"server,omitempty"`
	Only   []string `json:"only,omitempty"`
}

// Server says how an MCP server is reached: a command, or an address.
type Server struct {
	Command   []string          `json:"command,omitempty"`
	Cwd       string            `json:"cwd,omitempty"` // working directory of the command; that of the tool server where empty
	Env       map[string]string `json:"env,omitempty"` // in addition to PATH and its like
	URL       string            `json:"url,omitempty"`
	Transport string            `json:"transport,omitempty"` // http, sse or ws; http where empty
	Headers   map[string]string `json:"headers,omitempty"`
	// Dial opens an MCP server in this process.
	Dial harness.Server `json:"-"`
}

// Registry is all toolsets of a server, as tool_registry.json has them.
type Registry struct {
	Schema   string    `json:"$schema,omitempty"`
	Toolsets []Toolset `json:"toolsets"`
	// Warnings name what has no effect in the file that was read, with its place.
	Warnings []error `json:"-"`
}

// Options are settings of a [Toolserver]. nil means all defaults.
type Options struct {
	// AdminToken is what POST /mcp/admin/toolsets must send as a bearer token.
	// Empty means that nobody may change toolsets over HTTP.
	AdminToken string
	// Client posts to the tools that have a URL. Nil means one that follows no
	// redirects.
	Client *http.Client
	// MaxViews bounds the views; 0 means 1000. A request that names one more
	// is refused.
	MaxViews int
	// Hosts are the names, other than those of this machine, by which clients
	// may call the server, and Origins the origins of pages that may send
	// requests; "*" is any. What pages of other origins send is refused.
	Hosts, Origins []string
	// CallTimeout bounds the wait in a call of an MCP server's tool for an answer, or
	// for word of progress, which begins it anew. Default 60 s.
	CallTimeout time.Duration
	// Logf takes the warnings of the registry, a line for each tool of an MCP server
	// that is left out, for a list that could not be had again, and for a call that
	// failed, with the end of what the server wrote to stderr, which clients do not
	// get. Nil drops it.
	Logf func(format string, args ...any)
}

// Action is what is done to toolsets.
type Action string

// The actions.
const (
	Activate   Action = "ACTIVATE"
	Deactivate Action = "DEACTIVATE"
)

// Change is what became of a view by an [Action].
type Change struct {
	View     string `json:"view"` // empty for the default
	Action   Action `json:"action"`
	Revision int    `json:"revision"` // of the view, after the change
	// Changed were switched; Unchanged were as they were wished already.
	Changed   []string `json:"changed"`
	Unchanged []string `json:"unchanged"`
	Active    []string `json:"active"` // all that are, in the order of the registry
}

// Toolserver serves the toolsets of a registry. Its methods may be called
// concurrently.
type Toolserver struct {
	opts     Options
	sets     []set // whose tools and lists mu guards
	sessions []*mcppool.Session
	handler  http.Handler
	mcp      *mcp.Server

	// ended is done when the server is closed, and end says so.
	ended context.Context
	end   context.CancelFunc

	listing sync.Mutex // held by who lists the tools of MCP servers anew

	mu     sync.Mutex     // guards what follows
	byTool map[string]int // the set of a tool
	base   view           // the default
	views  map[string]*view
}

// set is a toolset that is ready.
type set struct {
	Toolset
	tools   []tool           // replaced as a whole
	session *mcppool.Session // nil without a server
	listed  int64            // which of the session's lists tools has
}

// tool is one that can be called.
type tool struct {
	harness.Tool
	schema *schema.Schema // nil when nothing is checked
	run    func(ctx context.Context, args json.RawMessage) (tools.Result, error)
}

// view is what is active. Past revisions are kept for calls of tools that were
// offered then.
type view struct {
	revision int
	active   []bool
	past     [][]bool // of the revisions before, the latest last
}

// maxPast is how many revisions of a view are remembered.
const maxPast = 32

// New makes a server, starts the MCP servers of the registry and lists their
// tools. Two tools of one name are an error.
func New(ctx context.Context, registry *Registry, opts *Options) (*Toolserver, error) {
	s := &Toolserver{byTool: make(map[string]int), views: make(map[string]*view)}
	s.ended, s.end = context.WithCancel(context.Background())
	if opts != nil {
		s.opts = *opts
	}
	s.opts.MaxViews = cmp.Or(s.opts.MaxViews, 1000)
	s.opts.Client = cmp.Or(s.opts.Client, &http.Client{CheckRedirect: redirect.None})
	if err := registry.check(); err != nil {
		return nil, err
	}
	for _, w := range registry.Warnings {
		s.logf("warning: %v", w)
	}
	for i, declared := range registry.Toolsets {
		ready, err := s.open(ctx, declared)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("toolset %q: %w", declared.ID, err)
		}
		s.sets = append(s.sets, ready)
		s.base.active = append(s.base.active, declared.Active)
		for _, t := range ready.tools {
			if other, taken := s.byTool[t.Name]; taken {
				s.Close()
				return nil, fmt.Errorf("toolsets %q and %q both have a tool %q; name them apart, or leave one out with \"only\"", s.sets[other].ID, declared.ID, t.Name)
			}
			s.byTool[t.Name] = i
		}
	}
	s.routes()
	return s, nil
}

// open makes the tools of a set ready.
func (s *Toolserver) open(ctx context.Context, declared Toolset) (set, error) {
	ready := set{Toolset: declared}
	for _, d := range declared.Tools {
		t, err := s.local(d)
		if err != nil {
			return ready, fmt.Errorf("tool %q: %w", d.Name, err)
		}
		ready.tools = append(ready.tools, t)
	}
	if declared.Server == nil {
		return ready, nil
	}
	session, err := mcppool.Open(ctx, declared.Server.harness(declared.ID), &mcppool.Options{CallTimeout: s.opts.CallTimeout})
	if err != nil {
		return ready, err
	}
	s.sessions = append(s.sessions, session)
	ready.session, ready.listed = session, session.ListChanges()
	listed, err := s.remotes(ctx, &ready)
	if err != nil {
		return ready, err
	}
	for _, name := range declared.Only {
		if !slices.ContainsFunc(listed, func(t tool) bool { return t.Name == name }) {
			return ready, fmt.Errorf("\"only\" names %q, which its server does not have, or which cannot be offered to a model", name)
		}
	}
	ready.tools = append(ready.tools, listed...)
	return ready, nil
}

// local makes a tool of the registry ready.
func (s *Toolserver) local(d Tool) (tool, error) {
	t := tool{Tool: harness.Tool{Name: d.Name, Description: d.Description, Schema: d.Parameters}}
	if len(d.Parameters) == 0 {
		t.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	} else {
		v, err := value.Parse(d.Parameters)
		if err != nil {
			return t, fmt.Errorf("its parameters: %w", err)
		}
		if t.schema, err = schema.Compile(v); err != nil {
			return t, fmt.Errorf("its parameters: %w", err)
		}
	}
	if d.Run != nil {
		t.run = function(d.Run)
	} else {
		to, err := url.Parse(d.URL)
		if err != nil {
			return t, err
		}
		t.run = s.post(to)
	}
	return t, nil
}

// Close ends the calls and the sessions of MCP clients, and the MCP servers that
// [New] has started.
func (s *Toolserver) Close() error {
	s.end()
	s.endSessions()
	errs := make([]error, len(s.sessions))
	var wg sync.WaitGroup
	for i, session := range s.sessions {
		wg.Go(func() { errs[i] = session.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ServeHTTP answers a request, unless a page of another origin sends it.
func (s *Toolserver) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Change switches toolsets of a view, all or, when one is not known, none.
func (s *Toolserver) Change(name string, action Action, ids []string) (*Change, error) {
	if action != Activate && action != Deactivate {
		return nil, &Error{http.StatusBadRequest, fmt.Sprintf("action is %q; it is ACTIVATE or DEACTIVATE", action)}
	}
	if len(ids) == 0 {
		return nil, &Error{http.StatusBadRequest, "toolset_ids is empty; the toolsets are " + s.ids()}
	}
	var which []int
	for _, id := range ids {
		i := slices.IndexFunc(s.sets, func(t set) bool { return t.ID == id })
		if i < 0 {
			return nil, &Error{http.StatusNotFound, fmt.Sprintf("there is no toolset %q; the toolsets are %s. Nothing was changed", id, s.ids())}
		}
		if !slices.Contains(which, i) {
			which = append(which, i)
		}
	}
	change, err := s.change(name, action, which)
	if err == nil && len(change.Changed) > 0 {
		s.notify()
	}
	return change, err
}

func (s *Toolserver) change(name string, action Action, which []int) (*Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.view(name)
	if err != nil {
		return nil, err
	}
	c := &Change{View: name, Action: action, Changed: []string{}, Unchanged: []string{}, Active: []string{}}
	next := slices.Clone(v.active)
	for _, i := range which {
		if wanted := action == Activate; next[i] != wanted {
			next[i] = wanted
			c.Changed = append(c.Changed, s.sets[i].ID)
		} else {
			c.Unchanged = append(c.Unchanged, s.sets[i].ID)
		}
	}
	if len(c.Changed) > 0 {
		v.past = append(v.past, v.active)
		if len(v.past) > maxPast {
			v.past = v.past[1:]
		}
		v.active, v.revision = next, v.revision+1
	}
	for i, on := range v.active {
		if on {
			c.Active = append(c.Active, s.sets[i].ID)
		}
	}
	c.Revision = v.revision
	return c, nil
}

// view returns the view of a name, which begins now if it has not before. The
// caller holds mu.
func (s *Toolserver) view(name string) (*view, error) {
	if name == "" {
		return &s.base, nil
	}
	v := s.views[name]
	if v == nil {
		if len(s.views) >= s.opts.MaxViews {
			return nil, &Error{http.StatusServiceUnavailable, fmt.Sprintf("there are %d views; end one with DELETE /mcp/admin/views/NAME", len(s.views))}
		}
		v = &view{active: slices.Clone(s.base.active)}
		s.views[name] = v
	}
	return v, nil
}

// EndView forgets a view. One that is named again begins anew.
func (s *Toolserver) EndView(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, name)
}

// ids are the toolsets, for people and models.
func (s *Toolserver) ids() string {
	var ids []string
	for _, t := range s.sets {
		ids = append(ids, t.ID)
	}
	return cmp.Or(strings.Join(ids, ", "), "none")
}

// Tools lists the active tools of a view, in the order of the registry, and the
// revision of the view. MCP servers that have said that their tools changed are
// asked for them anew.
func (s *Toolserver) Tools(ctx context.Context, name string) ([]harness.Tool, int, error) {
	s.refresh(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.view(name)
	if err != nil {
		return nil, 0, err
	}
	list := []harness.Tool{}
	for i, on := range v.active {
		if on {
			for _, t := range s.sets[i].tools {
				list = append(list, t.Tool)
			}
		}
	}
	return list, v.revision, nil
}

// Now is the revision of a call that goes by what is active at its time.
const Now = -1

// Call runs a tool of a view. It must be active, or have been at the revision
// that the caller was offered it in: a call under way, and one of a reply that
// the model wrote before a change, are run. The error is an [*Error]: what the
// tool itself did wrong is a result.
func (s *Toolserver) Call(ctx context.Context, name string, revision int, toolName string, args json.RawMessage) (tools.Result, error) {
	i, t, ok := s.find(toolName)
	if !ok {
		return tools.Result{}, &Error{http.StatusNotFound, fmt.Sprintf("there is no tool %q", toolName)}
	}
	on, err := s.offered(name, revision, i)
	if err != nil {
		return tools.Result{}, err
	}
	if !on {
		return tools.Result{}, &Error{http.StatusConflict, fmt.Sprintf("tool %q is of toolset %q, which is not active; ACTIVATE it first", toolName, s.sets[i].ID)}
	}
	v, err := value.Parse(args)
	if err != nil || v.Kind() != value.Object {
		return tools.Result{}, &Error{http.StatusBadRequest, "the arguments are not a JSON object"}
	}
	if t.schema != nil {
		if err := t.schema.Validate(v); err != nil {
			return tools.Result{}, &Error{http.StatusUnprocessableEntity, fmt.Sprintf("the arguments of %q do not fit its schema: %v", toolName, err)}
		}
	}
	result, err := t.run(ctx, args)
	if result.Err != nil {
		s.logf("tool %q: %v", toolName, result.Err)
	}
	result.Server, result.Tool = s.sets[i].ID, toolName
	if err != nil {
		return result, &Error{http.StatusBadGateway, err.Error()}
	}
	return result, nil
}

// offered reports whether a set is active in a view, or was at a revision.
func (s *Toolserver) offered(name string, revision, i int) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.view(name)
	if err != nil {
		return false, err
	}
	if v.active[i] {
		return true, nil
	}
	ago := v.revision - revision
	return revision >= 0 && ago > 0 && ago <= len(v.past) && v.past[len(v.past)-ago][i], nil
}

// Error says why a request was refused.
type Error struct {
	Status  int // of HTTP
	Message string
}

func (e *Error) Error() string { return e.Message }
