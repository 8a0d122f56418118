// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package tools offers the tools of many MCP servers to a model and routes
// the calls that the model makes.
//
//	router, err := tools.NewRouter(ctx, sessions, nil)
//	if err != nil {
//		return err
//	}
//	defer router.Close()
//	offered, err := router.Tools(ctx)
//	result, err := router.Call(ctx, "get_weather", `{"location": "Paris"}`)
package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

// Options are settings of a [Router]. nil means all defaults.
type Options struct {
	// Prefix is the style of the offered names. Default [NamesBare]: the tools' own
	// names, fitted to what OpenAI accepts.
	Prefix NameStyle
	// NameServers begins each description with [MCP:server]. Default: it is as the
	// server has it.
	NameServers bool
	// CheckArguments has calls whose arguments do not fit the tool's schema fail
	// before the server sees them. Default: the server decides.
	CheckArguments bool
	// DropPrivate leaves out arguments whose names begin with _, which some clients
	// add for themselves, unless the tool's schema has them. Default: arguments are
	// sent as the model wrote them.
	DropPrivate bool
	// As is the name of the agent that uses the router. Default: none.
	As string
	// Grants are the servers that each agent may use, by its name. An agent that is
	// not in it may use none: their tools are neither offered nor called. nil means
	// that everyone may use all.
	Grants map[string][]string
}

// Result is what a call came to, always with a text that the model can read.
type Result struct {
	Server  string // empty when no server offers the tool
	Tool    string // the tool's own name there
	Text    string // the content of the tool message
	IsError bool   // the text reports a failure
	// Err is the cause when there is no MCP result: bad arguments, an unknown
	// tool, a protocol error, a timeout.
	Err error
	// Raw is the MCP result object, byte for byte; nil when there is none.
	Raw json.RawMessage
}

// Router offers the tools of several sessions under one list of names. Its
// methods may be called concurrently.
type Router struct {
	opts Options
	pool *mcppool.Pool // of the servers that are waited for; nil means none

	listing sync.Mutex // held by who lists anew, connects, or changes the members

	mu       sync.Mutex // guards the fields below
	members  []*member
	awaited  []*arrival // servers that could not be reached
	denied   []string   // names of servers that the agent may not use
	table    *toolname.Table
	checks   map[string]*schema.Schema // of the arguments, by offered name
	offered  []harness.Tool
	warnings []string // what was left out of them all
	told     []string // what became of lists and servers that could not be had
}

// member is a server of a router. The one who holds listing changes it.
type member struct {
	session *mcppool.Session
	list    []mcppool.Tool
	warned  []string // what there is to say of the list
	listed  int64    // which of the session's lists it is
	failed  int      // how often in a row it could not be had anew
}

// maxTools is how many tools an OpenAI endpoint accepts.
const maxTools = 128

// NewRouter lists the tools of all sessions and takes the sessions over:
// [Router.Close] closes them, and so does a failing NewRouter. A name offered
// by two servers is an error unless names are prefixed.
func NewRouter(ctx context.Context, sessions []*mcppool.Session, opts *Options) (*Router, error) {
	r := newRouter(opts)
	for _, s := range sessions {
		r.members = append(r.members, &member{session: s})
	}
	if err := r.begin(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func newRouter(opts *Options) *Router {
	r := new(Router)
	if opts != nil {
		r.opts = *opts
	}
	r.opts.Prefix = cmp.Or(r.opts.Prefix, NamesBare)
	return r
}

// begin asks all servers for their tools, the first time, but those that the
// agent may not use.
func (r *Router) begin(ctx context.Context) error {
	members := r.members
	for _, m := range members {
		if !r.grants(m.session.Name()) {
			r.deny(m.session.Name())
			continue
		}
		if err := m.relist(ctx); err != nil {
			return err
		}
	}
	if collision := r.offer(members); collision != nil {
		return collision
	}
	return nil
}

// relist asks a server for its tools.
func (m *member) relist(ctx context.Context) error {
	before := m.session.ListChanges()
	list, warned, err := m.session.Tools(ctx)
	if err == nil {
		m.list, m.warned, m.listed, m.failed = list, warned, before, 0
	}
	return err
}

// offer makes of the servers' lists what is offered to the model. Of two tools
// of one name the second is left out; the error names the first such pair.
func (r *Router) offer(members []*member) (collision error) {
	table := toolname.NewTable(r.opts.Prefix)
	var offered []harness.Tool
	var warnings []string
	checks := map[string]*schema.Schema{}
	for _, m := range members {
		server := m.session.Name()
		warnings = append(warnings, m.warned...)
		for _, tool := range m.list {
			offer, err := Offerable(tool)
			if err == nil {
				if offer.Name, err = table.Add(server, tool.Name); err != nil {
					collision = cmp.Or(collision, err)
				}
			}
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("server %q: tool %q is not offered: %v", server, tool.Name, err))
				continue
			}
			if r.opts.NameServers {
				offer.Description = strings.TrimSpace("[MCP:" + server + "] " + offer.Description)
			}
			if r.opts.CheckArguments {
				if checks[offer.Name], err = compile(tool.Schema); err != nil {
					warnings = append(warnings, fmt.Sprintf("server %q: arguments of tool %q are not checked: %v", server, tool.Name, err))
				}
			}
			offered = append(offered, offer)
		}
	}
	if len(offered) > maxTools {
		warnings = append(warnings, fmt.Sprintf("%d tools are offered; OpenAI accepts %d", len(offered), maxTools))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members, r.table, r.checks, r.offered, r.warnings = members, table, checks, offered, warnings
	return collision
}

// Tools returns the tools to offer to the model, in the order of the servers
// and their lists. A server that has said that its list changed is asked for
// it anew, once however often it said so. One that does not answer then, or
// offers what another server has already, costs a warning and no more: the
// conversation goes on with the tools that are known. Servers that could not be
// reached are tried again.
func (r *Router) Tools(ctx context.Context) ([]harness.Tool, error) {
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.offered), nil
}

// maxFailed is after how many failures in a row a server is asked for its
// list no more: each may take a time limit.
const maxFailed = 3

// refresh lists anew what has changed. The error is that of a ctx that ended.
func (r *Router) refresh(ctx context.Context) error {
	r.listing.Lock()
	defer r.listing.Unlock()
	members, changed := r.arrivals(ctx)
	for _, m := range members {
		if m.session.ListChanges() == m.listed && m.failed == 0 || m.failed >= maxFailed || !r.grants(m.session.Name()) {
			continue
		}
		err := m.relist(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			m.failed++
			r.tell("%v; the tools listed before are used", err)
		default:
			changed = true
		}
	}
	if changed {
		_ = r.offer(members) // it is among the warnings
	}
	return nil
}

// tell keeps a warning.
func (r *Router) tell(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, fmt.Sprintf(format, args...))
}

// Warnings are remarks about tools that were left out and about servers that
// could not be reached, and notes of the sessions.
func (r *Router) Warnings() []string {
	r.mu.Lock()
	warnings, members := slices.Concat(r.warnings, r.told), r.members
	r.mu.Unlock()
	for _, m := range members {
		warnings = append(warnings, m.session.Notes()...)
	}
	return warnings
}

// Stats are the figures of the sessions, in the order of the servers.
func (r *Router) Stats() []mcppool.Stats {
	var out []mcppool.Stats
	for _, s := range r.Sessions() {
		out = append(out, s.Stats())
	}
	return out
}

// Sessions are those with the servers that there are now and that the agent may
// use.
func (r *Router) Sessions() []*mcppool.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*mcppool.Session
	for _, m := range r.members {
		if r.grants(m.session.Name()) {
			out = append(out, m.session)
		}
	}
	return out
}

// Call runs one tool call that the model made; name is the offered name and
// args the text that the model wrote. What goes wrong with the call becomes a
// result that the model can read; the error is non-nil only when ctx has
// ended.
func (r *Router) Call(ctx context.Context, name, args string) (Result, error) {
	if err := r.Denied(name); err != nil {
		return failed(Result{Tool: name}, err), nil
	}
	session, tool, check := r.lookup(name)
	if session == nil {
		return failed(Result{Tool: name}, fmt.Errorf("there is no tool %q; there are: %s", name, r.names())), nil
	}
	result := Result{Server: session.Name(), Tool: tool.Name}
	if args = strings.TrimSpace(args); args == "" {
		args = "{}"
	}
	if err := checkArguments(args); err != nil {
		return failed(result, err), nil
	}
	if r.opts.DropPrivate {
		args = withoutPrivate(args, tool.Schema)
	}
	if err := fits(check, args); err != nil {
		return failed(result, fmt.Errorf("the arguments do not fit the schema of %s: %w", name, err)), nil
	}
	got, err := session.Call(ctx, tool.Name, json.RawMessage(args))
	if err != nil {
		if ctx.Err() != nil {
			return failed(result, err), context.Cause(ctx)
		}
		return failed(result, err), nil
	}
	result.Text, result.IsError, result.Raw = messageText(got), got.IsError, got.Raw
	return result, nil
}

// Origin returns the server of a tool that is offered under a name, and the name that
// the server has for it; ok is false where there is none.
func (r *Router) Origin(name string) (server, tool string, ok bool) {
	session, t, _ := r.lookup(name)
	if session == nil {
		return "", "", false
	}
	return session.Name(), t.Name, true
}

// lookup finds the tool that is offered under a name, where it is, and the check
// of its arguments. Without one the session is nil.
func (r *Router) lookup(name string) (*mcppool.Session, mcppool.Tool, *schema.Schema) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server, tool, ok := r.table.Lookup(name)
	for _, m := range r.members {
		if !ok || m.session.Name() != server {
			continue
		}
		for _, t := range m.list {
			if t.Name == tool {
				return m.session, t, r.checks[name]
			}
		}
	}
	return nil, mcppool.Tool{}, nil
}

func (r *Router) names() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, t := range r.offered {
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// failed is [Failure] of a call of a known tool.
func failed(r Result, err error) Result {
	f := Failure(err)
	f.Server, f.Tool = r.Server, r.Tool
	return f
}

// Failure is the result of a call that has none: what a model reads of the error,
// without what the server wrote to stderr.
func Failure(err error) Result {
	text := err.Error()
	var e *mcppool.Error
	if errors.As(err, &e) {
		short := *e
		short.Stderr = "" // what a server logs is not the model's business
		text = short.Error()
	}
	return Result{Text: mcpwire.ErrorMark + text, IsError: true, Err: err}
}

// Close closes the sessions, all at once: a server may take its time to end.
func (r *Router) Close() error {
	r.forget()
	r.mu.Lock()
	members := r.members
	r.mu.Unlock()
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() { errs[i] = m.session.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
