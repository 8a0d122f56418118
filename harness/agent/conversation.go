// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"iter"

	"github.com/rehearse-dev/rehearse/harness"
)

// Conversation is one history with one model. Its methods may be called by
// several goroutines, but only one Send runs at a time.
type Conversation struct{ cfg *Config }

// Send gives the agent one user message and reports what comes of it.
func (c *Conversation) Send(ctx context.Context, text string) iter.Seq2[Event, error] {
	panic("todo")
}

// Reset empties the history and the log of calls.
func (c *Conversation) Reset() { panic("todo") }

// Messages returns a copy of the history, without the system message.
func (c *Conversation) Messages() []harness.Message { panic("todo") }

// Calls returns a copy of the log of tool calls, in the model's order.
func (c *Conversation) Calls() []harness.ReportedCall { panic("todo") }
