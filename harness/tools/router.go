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
	"github.com/rehearse-dev/rehearse/harness/toolname"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
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
	IsError bool   // the text tells of a failure
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

	mu       sync.Mutex // guards the fields below
	table    *toolname.Table
	offered  []harness.Tool
	warnings []string
}

// maxTools is how many tools an OpenAI endpoint accepts.
const maxTools = 128

// NewRouter lists the tools of all sessions and takes the sessions over:
// [Router.Close] closes them, and so does a failing NewRouter. A name offered
// by two servers is an error unless names are prefixed.
func NewRouter(ctx context.Context, sessions []*mcppool.Session, opts *Options) (*Router, error) {
	r := &Router{sessions: slices.Clone(sessions), style: toolname.Bare}
	if opts != nil {
		r.style = cmp.Or(opts.Prefix, r.style)
	}
	if err := r.list(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// list asks all servers for their tools.
func (r *Router) list(ctx context.Context) error {
	table := toolname.NewTable(r.style)
	var offered []harness.Tool
	var warnings []string
	for _, s := range r.sessions {
		listed, warned, err := s.Tools(ctx)
		if err != nil {
			return err
		}
		warnings = append(warnings, warned...)
		for _, tool := range listed {
			offer, err := Offerable(tool)
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("server %q: tool %q is not offered: %v", s.Name(), tool.Name, err))
				continue
			}
			if offer.Name, err = table.Add(s.Name(), tool.Name); err != nil {
				return err
			}
			offered = append(offered, offer)
		}
	}
	if len(offered) > maxTools {
		warnings = append(warnings, fmt.Sprintf("%d tools are offered; OpenAI accepts %d", len(offered), maxTools))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table, r.offered, r.warnings = table, offered, warnings
	return nil
}

// Tools returns the tools to offer to the model, in the order of the servers
// and their lists. It lists anew when a server has said that its list changed.
func (r *Router) Tools(ctx context.Context) ([]harness.Tool, error) {
	if slices.ContainsFunc(r.sessions, (*mcppool.Session).ListChanged) {
		if err := r.list(ctx); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.offered), nil
}

// Warnings are remarks about tools that were left out, and notes of the
// sessions.
func (r *Router) Warnings() []string {
	r.mu.Lock()
	warnings := slices.Clone(r.warnings)
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

// checkArguments refuses what is no JSON object, in words that help a model
// to write it again.
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
		text = e.Err.Error() // where the server runs and what it logs is not the model's business
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
