// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package model is the interface between an agent and a language model of any
// provider: a [Request] goes in, a sequence of [Event] values comes out, and
// any failure is one [*Error] with a kind, but for the end of the caller's context.
//
//	for event, err := range m.Generate(ctx, &model.Request{Model: "gpt-5", Messages: history}) {
//		if err != nil {
//			return err
//		}
//		switch e := event.(type) {
//		case model.TextDelta:
//			fmt.Print(e.Text)
//		case model.Done:
//			history = append(history, e.Message)
//		}
//	}
//
// A sequence ends with exactly one [Done] or exactly one error. A provider that
// retries after a reply broke off yields [Withdrawn]: everything before it no
// longer counts.
//
// [NewOpenAI], [NewResponses], [NewAnthropic] and [NewGemini] make clients of
// the APIs that most models are behind. The status and the first bytes of a
// reply decide what it is, whatever was asked for: a stream, a JSON document, an
// HTML page, nothing. A reply ends as the model's answer or as an [*Error] that
// says what was wrong with it, never as an empty answer.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// Model answers requests. A provider's client is one; so is a function under
// test. It is safe for use by several goroutines.
type Model interface {
	// Generate asks once, or as often as the provider's policy says, and
	// reports the answer as it comes. It starts when the sequence is ranged
	// over, may be ranged over once, and keeps nothing of req afterwards.
	// Breaking off the loop ends the request.
	Generate(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Provider is what a [Model] may be too: it names whose API is asked, for traces.
// [Client] is one. A model that wraps another passes the name on, or has none.
type Provider interface {
	// Provider is how the conventions of OpenTelemetry for generative AI name it.
	Provider() string
}

// Request is what a model is asked.
type Request struct {
	Model    string
	Messages []harness.Message
	Tools    []harness.Tool
	// ToolChoice is none, auto, required, or a tool's name. Empty leaves it
	// to the provider.
	ToolChoice string
	// Temperature and TopP are sent when not nil, zero too.
	Temperature *float64
	TopP        *float64
	// MaxTokens bounds the reply. 0 leaves it to the provider.
	MaxTokens int
	// Seed is sent when not nil.
	Seed *int64
	// Reasoning is the effort that is asked for, such as low. Empty leaves it to
	// the provider.
	Reasoning string
	// Stream asks for the reply in pieces. The events are the same without.
	Stream bool
	// Extra fields go into the request body as they are.
	Extra map[string]json.RawMessage
}

// Event is one of [TextDelta], [ReasoningDelta], [CallDelta], [Withdrawn] and
// [Done].
type Event interface{ event() }

// TextDelta is a piece of the answer's text: whole characters, never empty.
type TextDelta struct{ Text string }

// ReasoningDelta is a piece of the reasoning that some endpoints show.
type ReasoningDelta struct{ Text string }

// CallDelta is a piece of a tool call. Calls count from 0 in the order in
// which they were begun; the whole calls are in [Done].
type CallDelta struct {
	Call      int
	ID        string // once known
	Name      string // once known
	Arguments string // the new piece of the argument text
}

// Withdrawn says that an attempt broke off and is made again after Wait: its
// text, reasoning and calls so far are void. Text is the text to take back;
// it is empty when nothing had been said yet.
type Withdrawn struct {
	Attempt int // the one that broke off, from 1
	Err     error
	Wait    time.Duration
	Text    string
}

// Done is the whole answer.
type Done struct {
	Message      harness.Message
	FinishReason string // in the words of chat completions, where they have one; empty when the endpoint says nothing
	Usage        harness.Usage
	Model        string // as answered
	ID           string // of the reply, as the endpoint names it
	RequestID    string // of the request, from the header, for the endpoint's operator
	// Notes tell what was changed or odd without being wrong: a parameter
	// left out because the model takes none, a stream without its end mark.
	Notes []string
}

func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (CallDelta) event()      {}
func (Withdrawn) event()      {}
func (Done) event()           {}
