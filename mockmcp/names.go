// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import "github.com/rehearse-dev/rehearse/internal/jsonrpc"

// What journals of a [Server] hold of JSON-RPC.
type (
	// RPCError is the error object of an answer.
	RPCError = jsonrpc.Error
	// Frame is a message on the wire, or an event of the connection.
	Frame = jsonrpc.Frame
	// FrameKind says what a [Frame] is.
	FrameKind = jsonrpc.FrameKind
)
