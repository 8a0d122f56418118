// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"encoding/json"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Peer is how an MCP server is reached.
type Peer struct {
	Transport string // pipe or tcp
	Protocol  string // http or websocket; empty on a pipe
	Address   string // empty on a pipe
	Port      int    // 0 means that it is not known
}

// Request is what is known of an MCP request before it is sent.
type Request struct {
	Method    string
	ID        string
	Version   string // of the protocol; empty before it was agreed on
	Tool      string // that is called
	Arguments json.RawMessage
	URI       string // of the resource
	Peer      Peer
}

// Request begins a request to an MCP server.
func (r *Recorder) Request(ctx context.Context, req Request) (context.Context, *Operation) {
	if r == nil {
		return ctx, nil
	}
	nested := ctx.Value(within{}) != nil
	labels := []attribute.KeyValue{semconv.McpMethodNameKey.String(req.Method), semconv.NetworkTransportKey.String(req.Peer.Transport)}
	if req.Tool != "" {
		labels = append(labels, semconv.GenAIToolName(req.Tool))
		if !nested {
			labels = append(labels, semconv.GenAIOperationNameExecuteTool)
		}
	}
	if req.Version != "" {
		labels = append(labels, semconv.McpProtocolVersion(req.Version))
	}
	if req.Peer.Protocol != "" {
		labels = append(labels, semconv.NetworkProtocolName(req.Peer.Protocol))
	}
	if req.Peer.Address != "" {
		labels = append(labels, semconv.ServerAddress(req.Peer.Address))
		if req.Peer.Port != 0 {
			labels = append(labels, semconv.ServerPort(req.Peer.Port))
		}
	}
	more := []attribute.KeyValue{semconv.JSONRPCRequestID(req.ID)}
	if r.contents && req.URI != "" {
		more = append(more, semconv.McpResourceURI(req.URI))
	}
	if r.contents && req.Tool != "" && !nested {
		more = append(more, semconv.GenAIToolCallArgumentsKey.String(string(req.Arguments)))
	}
	ctx, o := r.begin(ctx, named(req.Method, req.Tool), trace.SpanKindClient, r.requested, labels, more...)
	o.nested = nested
	return ctx, o
}

// Context is what carries the trace on in the _meta of a request: traceparent and
// tracestate (https://www.w3.org/TR/trace-context/). It is nil without spans.
func (o *Operation) Context() map[string]string {
	if o == nil || !o.recorder.tracing {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(o.ctx, carrier)
	return carrier
}

// In says which session the request was part of. Empty means none.
func (o *Operation) In(session string) {
	if o != nil && session != "" {
		o.span.SetAttributes(semconv.McpSessionID(session))
	}
}

// Refused ends a request that the server answered with an error object.
func (o *Operation) Refused(code int, err error) {
	if o != nil {
		text := strconv.Itoa(code)
		o.label(semconv.RPCResponseStatusCode(text))
		o.End(text, err)
	}
}

// Returned says what a tool returned.
func (o *Operation) Returned(result json.RawMessage) {
	if o != nil {
		o.returned(string(result))
	}
}
