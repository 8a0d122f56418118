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
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

// Options are settings of a [Router]. nil means all defaults.
type Options struct {
	// Prefix is the style of the offered names. Default [toolname.Bare]: the
	// tools' own names, fitted to what OpenAI accepts.
	Prefix toolname.Style
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
	sessions []*mcppool.Session
	style    toolname.Style

	listing sync.Mutex // held by who lists anew, so that one does; guards failed
	failed  []int      // how often in a row each list could not be had anew

	mu       sync.Mutex // guards the fields below
	lists    [][]mcppool.Tool
	warned   [][]string // what there is to say of each list
	table    *toolname.Table
	offered  []harness.Tool
	warnings []string // what was left out of them all
	stale    []string // what became of lists that could not be had anew
}

// maxTools is how many tools an OpenAI endpoint accepts.
const maxTools = 128

// NewRouter lists the tools of all sessions and takes the sessions over:
// [Router.Close] closes them, and so does a failing NewRouter. A name offered
// by two servers is an error unless names are prefixed.
func NewRouter(ctx context.Context, sessions []*mcppool.Session, opts *Options) (*Router, error) {
	r := &Router{sessions: slices.Clone(sessions), style: toolname.Bare, failed: make([]int, len(sessions))}
	if opts != nil {
		r.style = cmp.Or(opts.Prefix, r.style)
	}
	if err := r.list(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// list asks all servers for their tools, the first time.
func (r *Router) list(ctx context.Context) error {
	lists, warned := make([][]mcppool.Tool, len(r.sessions)), make([][]string, len(r.sessions))
	for i, s := range r.sessions {
		var err error
		if lists[i], warned[i], err = s.Tools(ctx); err != nil {
			return err
		}
	}
	if collision := r.offer(lists, warned); collision != nil {
		return collision
	}
	return nil
}

// offer makes of the servers' lists what is offered to the model. Of two tools
// of one name the second is left out; the error names the first such pair.
func (r *Router) offer(lists [][]mcppool.Tool, warned [][]string) (collision error) {
	table := toolname.NewTable(r.style)
	var offered []harness.Tool
	var warnings []string
	for i, s := range r.sessions {
		warnings = append(warnings, warned[i]...)
		for _, tool := range lists[i] {
			offer, err := Offerable(tool)
			if err == nil {
				if offer.Name, err = table.Add(s.Name(), tool.Name); err != nil {
					collision = cmp.Or(collision, err)
				}
			}
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("server %q: tool %q is not offered: %v", s.Name(), tool.Name, err))
				continue
			}
			offered = append(offered, offer)
		}
	}
	if len(offered) > maxTools {
		warnings = append(warnings, fmt.Sprintf("%d tools are offered; OpenAI accepts %d", len(offered), maxTools))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists, r.warned = lists, warned
	r.table, r.offered, r.warnings = table, offered, warnings
	return collision
}

// Tools returns the tools to offer to the model, in the order of the servers
// and their lists. A server that has said that its list changed is asked for
// it anew, once however often it said so. One that does not answer then, or
// offers what another server has already, costs a warning and no more: the
// conversation goes on with the tools that are known.
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
	r.mu.Lock()
	lists, warned := slices.Clone(r.lists), slices.Clone(r.warned)
	r.mu.Unlock()
	changed := false
	for i, s := range r.sessions {
		if !s.ListChanged() && r.failed[i] == 0 || r.failed[i] >= maxFailed {
			continue
		}
		listed, warnings, err := s.Tools(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			r.failed[i]++
			r.mu.Lock()
			r.stale = append(r.stale, fmt.Sprintf("%v; the tools listed before are used", err))
			r.mu.Unlock()
		default:
			lists[i], warned[i], changed, r.failed[i] = listed, warnings, true, 0
		}
	}
	if changed {
		_ = r.offer(lists, warned) // it is among the warnings
	}
	return nil
}

// Warnings are remarks about tools that were left out, and notes of the
// sessions.
func (r *Router) Warnings() []string {
	r.mu.Lock()
	warnings := slices.Concat(r.warnings, r.stale)
	r.mu.Unlock()
	for _, s := range r.sessions {
		warnings = append(warnings, s.Notes()...)
	}
	return warnings
}

// Call runs one tool call that the model made; name is the offered name and
// args the text that the model wrote. What goes wrong with the call becomes a
// result that the model can read; the error is non-nil only when ctx has
// ended.
func (r *Router) Call(ctx context.Context, name, args string) (Result, error) {
	r.mu.Lock()
	server, tool, ok := r.table.Lookup(name)
	r.mu.Unlock()
	if !ok {
		return failed(Result{Tool: name}, fmt.Errorf("there is no tool %q; there are: %s", name, r.names())), nil
	}
	result := Result{Server: server, Tool: tool}
	if args = strings.TrimSpace(args); args == "" {
		args = "{}"
	}
	if err := checkArguments(args); err != nil {
		return failed(result, err), nil
	}
	i := slices.IndexFunc(r.sessions, func(s *mcppool.Session) bool { return s.Name() == server })
	got, err := r.sessions[i].Call(ctx, tool, json.RawMessage(args))
	if err != nil {
		if ctx.Err() != nil {
			return failed(result, err), context.Cause(ctx)
		}
		return failed(result, err), nil
	}
	result.Text, result.IsError, result.Raw = messageText(got), got.IsError, got.Raw
	return result, nil
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

// checkArguments refuses anything that is not JSON object, in words that help a
// model to write it again.
func checkArguments(args string) error {
	if mcpwire.IsObject([]byte(args)) {
		return nil
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(args), &object)
	switch {
	case err != nil && !json.Valid([]byte(args)):
		return fmt.Errorf("the arguments are not valid JSON (%w): %s", err, mcpwire.Excerpt([]byte(args), 200))
	case err != nil || object == nil:
		return fmt.Errorf("the arguments must be a JSON object, not %s", mcpwire.Excerpt([]byte(args), 200))
	}
	return nil
}

// failed is the result of a call that has none.
func failed(r Result, err error) Result {
	r.IsError, r.Err = true, err
	text := err.Error()
	var e *mcppool.Error
	if errors.As(err, &e) {
		short := *e
		short.Stderr = "" // what a server logs is not the model's business
		text = short.Error()
	}
	r.Text = errorMark + text
	return r
}

// Close closes the sessions, all at once: a server may take its time to end.
func (r *Router) Close() error {
	errs := make([]error, len(r.sessions))
	var wg sync.WaitGroup
	for i, s := range r.sessions {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
