// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// faults strike requests and connections.
type faults struct{}

// start is called when a connection opens, before its first frame is read. An
// error ends the connection without an answer.
func (*faults) start(context.Context, *client) error { return nil }

// arrive is called for each request, in order of arrival.
func (*faults) arrive(*client, mcpwire.Message) *strike { return nil }

// ended is called when the input of a connection ends.
func (*faults) ended(context.Context, *client) {}

// strike is a fault that is to strike one request.
type strike struct{}

// before reports whether the request has been dealt with.
func (*strike) before(context.Context, *outlet) bool { return false }

// reply sends the answer in place of the outlet.
func (*strike) reply(context.Context, *outlet, []byte) {}
