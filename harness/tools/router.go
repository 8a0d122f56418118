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
	"context"
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

// Options are settings of a [Router]. nil means all defaults.
type Options struct{}

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

// Router offers the tools of several sessions under one list of names.
type Router struct{}

// NewRouter lists the tools of all sessions and takes the sessions over:
// [Router.Close] closes them. A name offered by two servers is an error
// unless names are prefixed.
func NewRouter(ctx context.Context, sessions []*mcppool.Session, opts *Options) (*Router, error) {
	panic("todo")
}

// Tools returns the tools to offer to the model, in the order of the servers
// and their lists. It lists anew when a server has said that its list changed.
func (r *Router) Tools(ctx context.Context) ([]harness.Tool, error) { panic("todo") }

// Warnings are remarks about tools that were left out, and notes of the
// sessions.
func (r *Router) Warnings() []string { panic("todo") }

// Call runs one tool call that the model made; name is the offered name and
// args the text that the model wrote. What goes wrong with the call becomes a
// result that the model can read; the error is non-nil only when ctx has
// ended.
func (r *Router) Call(ctx context.Context, name, args string) (Result, error) { panic("todo") }

// Close closes the sessions.
func (r *Router) Close() error { panic("todo") }
