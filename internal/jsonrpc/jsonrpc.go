// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package jsonrpc has the parts of a JSON-RPC conversation that journals keep:
// the error object of an answer, and the log of what went over a connection.
package jsonrpc

import (
	"encoding/json"
	"time"
)

// FrameKind says what a [Frame] is.
type FrameKind string

// The kinds of frames.
const (
	FrameRequest      FrameKind = "request"
	FrameNotification FrameKind = "notification"
	FrameResponse     FrameKind = "response" // a result or an error
	FrameJunk         FrameKind = "junk"     // no JSON-RPC message
	FrameHTTP         FrameKind = "http"     // an HTTP request or answer that carries no message
	FrameOpen         FrameKind = "open"     // a connection or a session opened
	FrameEnd          FrameKind = "end"      // a connection, a stream or a session ended
)

// Frame is one message on the wire of a mock MCP server, or one event of the
// connection that carries it, as the server saw it.
type Frame struct {
	Seq    int    `json:"seq"` // from 1, in order of arrival and departure
	Server string `json:"server"`
	// Session is the id of the session, or of the connection where there is
	// none; empty for HTTP requests without a session.
	Session   string    `json:"session,omitempty"`
	Transport string    `json:"transport"` // pipe, stdio, http, sse or ws
	In        bool      `json:"in"`        // from the client
	Kind      FrameKind `json:"kind"`
	Time      time.Time `json:"time"`
	// Method is the method of a request or a notification, and in a response
	// that of the request it answers, where that is known.
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	// Body is the message as it was on the wire, or its beginning.
	Body string `json:"body,omitempty"`
	Size int    `json:"size,omitempty"` // of the whole message in bytes
	// HTTP is the method of an HTTP request on the way in ("POST"), and the
	// status on the way out ("404"); of a stream, in its first frame only.
	HTTP string `json:"http,omitempty"`
	// Header has those headers of an HTTP request that matter here, names in
	// lower case: mcp-*, accept, content-type, last-event-id, origin, and
	// authorization without its secret.
	Header map[string]string `json:"header,omitempty"`
	// Fault is the kind of the fault that struck this frame, if any.
	Fault string `json:"fault,omitempty"`
}

// Error is the error object of an answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}
