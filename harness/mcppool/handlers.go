// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Handler answers what a server asks of its client: params in, result out,
// both as the protocol has them. To refuse with a code of its own it returns
// a [*Error] with RPC set; any other error becomes an internal error.
type Handler func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// answer answers a request of the server. What there is no handler for is a
// method that we do not have.
func (s *Session) answer(ctx context.Context, m mcpwire.Message) (json.RawMessage, error) {
	switch m.Method {
	case mcpwire.MethodPing:
		return json.RawMessage("{}"), nil
	case string(mcp.MethodSamplingCreateMessage):
		return ask[mcp.CreateMessageResult](ctx, "sampling", s.opts.Sampling, m.Params)
	case string(mcp.MethodElicitationCreate):
		return ask[mcp.ElicitationResult](ctx, "elicitation", s.opts.Elicitation, m.Params)
	case string(mcp.MethodListRoots):
		return ask[mcp.ListRootsResult](ctx, "roots", s.opts.Roots, m.Params)
	}
	return nil, fmt.Errorf("unsupported request method: %s", m.Method)
}

// ask runs a handler, and holds its result against T.
func ask[T any](ctx context.Context, what string, h Handler, params json.RawMessage) (json.RawMessage, error) {
	if h == nil {
		return nil, fmt.Errorf("no %s handler configured", what)
	}
	raw, err := h(ctx, params)
	var e *Error
	switch {
	case errors.As(err, &e) && e.RPC != nil:
		return nil, &rpcError{e.RPC}
	case err != nil:
		return nil, &rpcError{&jsonrpc.Error{Code: mcpwire.CodeInternal, Message: err.Error()}}
	}
	if err := exactjson.Unmarshal(raw, new(T)); err != nil {
		return nil, &rpcError{&jsonrpc.Error{Code: mcpwire.CodeInternal, Message: fmt.Sprintf("the client's answer is unusable: %v", err)}}
	}
	return raw, nil
}

// capabilities declares the handlers that there are.
func (o *Options) capabilities() json.RawMessage {
	var c mcp.ClientCapabilities
	if o.Sampling != nil {
		c.Sampling = &mcp.SamplingCapability{}
	}
	if o.Elicitation != nil {
		c.Elicitation = &mcp.ElicitationCapability{}
	}
	if o.Roots != nil {
		c.Roots = &struct {
			ListChanged bool `json:"listChanged,omitempty"`
		}{true}
	}
	return mcpwire.Marshal(c)
}

// inputs is a result that asks for input.
type inputs struct {
	State    *string `json:"requestState"`
	Requests map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
}

// give answers what is asked for.
func (s *Session) give(ctx context.Context, in *inputs) (map[string]json.RawMessage, error) {
	responses := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(in.Requests)) {
		r := in.Requests[key]
		response, err := s.answer(ctx, mcpwire.Message{Method: r.Method, Params: r.Params})
		if err != nil {
			return nil, fmt.Errorf("giving input %q: %w", prose.Excerpt(key, 60), err)
		}
		responses[key] = response
	}
	return responses, nil
}

// wanted names what is asked for.
func (in *inputs) wanted() string {
	var asks []string
	for key, request := range in.Requests {
		asks = append(asks, fmt.Sprintf("%s as %q", request.Method, prose.Excerpt(key, 60)))
	}
	slices.Sort(asks)
	if len(asks) == 0 {
		return "nothing in particular"
	}
	return strings.Join(asks, ", ")
}
