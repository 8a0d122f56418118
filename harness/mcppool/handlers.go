// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Handler answers what a server asks of its client: params in, result out,
// both as the protocol has them. To refuse with a code of its own it returns
// a [*Error] with RPC set; any other error becomes an internal error.
type Handler func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// refusal is an error that a server is told as it is.
type refusal struct{ rpc *harness.RPCError }

func (r *refusal) Error() string { return r.rpc.Message }

// ask runs a handler and reads its result into what mcp-go wants.
func ask[T any](ctx context.Context, h Handler, params any) (*T, error) {
	raw, err := h(ctx, mcpwire.Marshal(params))
	var e *Error
	switch {
	case errors.As(err, &e) && e.RPC != nil:
		return nil, &refusal{e.RPC}
	case err != nil:
		return nil, &refusal{&harness.RPCError{Code: mcp.INTERNAL_ERROR, Message: err.Error()}}
	}
	result := new(T)
	if err := json.Unmarshal(raw, result); err != nil {
		return nil, &refusal{&harness.RPCError{Code: mcp.INTERNAL_ERROR, Message: fmt.Sprintf("the client's answer cannot be used: %v", err)}}
	}
	return result, nil
}

type sampling struct{ Handler }

func (h sampling) CreateMessage(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return ask[mcp.CreateMessageResult](ctx, h.Handler, r.CreateMessageParams)
}

type elicitation struct{ Handler }

func (h elicitation) Elicit(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return ask[mcp.ElicitationResult](ctx, h.Handler, r.Params)
}

type roots struct{ Handler }

func (h roots) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return ask[mcp.ListRootsResult](ctx, h.Handler, struct{}{})
}

// handlers are the options of mcp-go's client for the handlers that there are.
// Each declares its capability.
func (o *Options) handlers() []client.ClientOption {
	var opts []client.ClientOption
	if o.Sampling != nil {
		opts = append(opts, client.WithSamplingHandler(sampling{o.Sampling}))
	}
	if o.Elicitation != nil {
		opts = append(opts, client.WithElicitationHandler(elicitation{o.Elicitation}))
	}
	if o.Roots != nil {
		opts = append(opts, client.WithRootsHandler(roots{o.Roots}))
	}
	return opts
}

// wanted names what a result that asks for input asks for.
func wanted(result json.RawMessage) string {
	var r struct {
		Requests map[string]struct {
			Method string `json:"method"`
		} `json:"inputRequests"`
	}
	_ = json.Unmarshal(result, &r) // what can be read
	var asks []string
	for key, request := range r.Requests {
		asks = append(asks, fmt.Sprintf("%s as %q", request.Method, mcpwire.Excerpt([]byte(key), 60)))
	}
	slices.Sort(asks)
	if len(asks) == 0 {
		return "nothing in particular"
	}
	return strings.Join(asks, ", ")
}
