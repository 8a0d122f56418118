// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// Event is one of [Delta], [Withdrawn], [ModelCalled], [ToolStarted],
// [ToolFinished], [Notice] and [Answer].
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
// text, a result that was shortened, a parameter that was left out.
type Notice struct {
	Text string
	// Leaked is the call that the model wrote into its text, if the notice
	// is about one, and Recovered says that it is run.
	Leaked    *harness.ToolCall
	Recovered bool
}

// Answer is the model's answer, the last event of a turn that has one.
type Answer struct{ Text string }

func (Delta) event()        {}
func (Withdrawn) event()    {}
func (ModelCalled) event()  {}
func (ToolStarted) event()  {}
func (ToolFinished) event() {}
func (Notice) event()       {}
func (Answer) event()       {}
