// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

// Event is one of [Delta], [Withdrawn], [ModelCalled], [ToolStarted],
// [ToolFinished], [CircuitChanged], [Notice] and [Answer].
type Event interface{ event() }

// Delta is a piece of what the model says: text or reasoning.
type Delta struct {
	Text      string
	Reasoning string
}

// Withdrawn takes back what the [Delta] events of the running model call have
// said: the reply broke off and is asked for again after Wait. Text is what
// to take back; it is empty when nothing had been said yet.
type Withdrawn struct {
	Text string
	Err  error
	Wait time.Duration
}

// ModelCalled says that a model call is over and what it cost.
type ModelCalled struct {
	Message      harness.Message
	FinishReason string
	Model        string // as answered
	Usage        harness.Usage
}

// ToolStarted says that a tool call begins to run.
type ToolStarted struct{ Call harness.ToolCall }

// ToolFinished says how a tool call ended. Calls of one reply finish in any
// order.
type ToolFinished struct{ Call harness.ReportedCall }

// Notice reports something odd that does not end the turn: a tool call in the
// text, a call that was denied, a result that was shortened, a parameter that was
// left out.
type Notice struct {
	Text string
	// Leaked is the call that the model wrote into its text, if the notice
	// is about one, and Recovered says that it is run.
	Leaked    *harness.ToolCall
	Recovered bool
	// Denied is the call that Config.Approve denied, if the notice is about one.
	Denied *harness.ToolCall
}

// CircuitChanged says that the model's endpoint or a server is left alone from now
// on, is tried again, or works again. Each conversation is told once.
type CircuitChanged struct {
	Server   string // empty means the model's endpoint
	From, To mcppool.CircuitState
	Err      error // the failure that opened it; nil for other changes
}

// String says it in a sentence.
func (c CircuitChanged) String() string {
	of := "the model's endpoint"
	if c.Server != "" {
		of = fmt.Sprintf("server %q", c.Server)
	}
	s := fmt.Sprintf("the circuit of %s is %s", of, c.To)
	if c.Err != nil {
		s += fmt.Sprintf(", after %v", c.Err)
	}
	return s
}

// Answer is the model's answer, the last event of a turn that has one.
type Answer struct{ Text string }

func (Delta) event()          {}
func (Withdrawn) event()      {}
func (ModelCalled) event()    {}
func (ToolStarted) event()    {}
func (ToolFinished) event()   {}
func (CircuitChanged) event() {}
func (Notice) event()         {}
func (Answer) event()         {}
