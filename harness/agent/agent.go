// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package agent is a tool-calling agent: it asks a model, runs the tools that
// the model calls, returns the results, and continues until the model answers
// in text.
//
//	a := agent.New(agent.Config{
//		Model: model.NewOpenAI(model.Config{BaseURL: "http://localhost:8000/v1"}),
//		Name:  "gpt-5",
//		Tools: router, // a *tools.Router, or any Toolbox
//	})
//	c := a.Conversation()
//	for event, err := range c.Send(ctx, "Build a model for E. coli 83333.1") {
//		if err != nil {
//			return err
//		}
//		if answer, ok := event.(agent.Answer); ok {
//			fmt.Println(answer.Text)
//		}
//	}
//
// [NewClient] makes an agent with a model and MCP servers of its own, from the
// settings that clients of argo-proxy have.
//
// A turn without an answer ends with an error: a [*harness.StopError] when the
// agent chose to stop (a limit, an empty reply, the same call repeated), the
// model's [*model.Error] when the endpoint failed.
//
// The history keeps what was said, however the turn ends, and every call in it
// has its result, so a conversation can continue after any stop. Messages that
// exceed the context window are removed: the user's message, or the last
// results, which a note replaces. A message that is not UTF-8, and one whose
// request is refused before it is sent, is an error of its own and not kept.
package agent

import (
	"cmp"
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/breaker"
	"github.com/rehearse-dev/rehearse/internal/telemetry"
)

// Toolbox is where an agent's tools are. [*tools.Router] is one.
type Toolbox interface {
	// Tools lists what to offer to the model. It is asked before every model
	// call.
	Tools(ctx context.Context) ([]harness.Tool, error)
	// Call runs one call; args is a JSON object. It is used by several
	// goroutines at once, and returns when ctx ends.
	Call(ctx context.Context, name, args string) (tools.Result, error)
}

// Config says what an agent is made of. Only Model is required.
type Config struct {
	Model model.Model
	// Name of the model to ask for.
	Name string
	// Tools that the model may call. Nil means none.
	Tools Toolbox
	// Denied says why a tool that is not offered may not be called, such as
	// [tools.Router.Denied]: the model is told so, and a [Notice] says it. Where it
	// is nil, or returns nil, there is no such tool.
	Denied func(tool string) error
	// Warnings are what there is to say about the tools, such as
	// [tools.Router.Warnings]. It is asked before every model call, and each
	// conversation says each warning once, as a [Notice]. Nil means none.
	Warnings func() []string
	// Approve is asked before each call of an offered tool whether it may run, with
	// the arguments as they are given to Tools. An error means no: the call is not
	// run, the model is told why, and a [Notice] says it. It answers when somebody
	// has decided, or when ctx ends, which is that of the turn; ToolTimeout does not
	// count the wait. Calls of one reply are asked about at the same time. Nil means
	// that every call may run.
	Approve func(ctx context.Context, call harness.ToolCall) error
	// System is the system message. Empty means none.
	System string
	// Temperature and TopP are sent when not nil, zero too.
	Temperature *float64
	TopP        *float64
	// MaxTokens bounds one reply. 0 leaves it to the provider.
	MaxTokens int
	// Seed is sent when not nil.
	Seed *int64
	// Reasoning is the effort that is asked for, such as low. Empty leaves it to
	// the provider.
	Reasoning string
	// Stream asks the model for its replies in pieces.
	Stream bool
	// MaxModelCalls bounds the model calls of one turn. 0 means 10; a
	// negative value means no bound. A request that is tried again counts
	// once.
	MaxModelCalls int
	// TimeLimit bounds one turn: a reply or a call under way when it has
	// passed is broken off. 0 means none.
	TimeLimit time.Duration
	// TokenLimit bounds the tokens of a whole conversation, as the endpoint
	// counts them: no further model call is made once they are used up. It
	// counts at the end of a reply; a stream is broken off before, once it has
	// more than 8 bytes for each token that is left. 0 means none.
	TokenLimit int
	// MaxRepeats is how often one turn may ask for the same call with the
	// same arguments; asking that often stops it. 0 means 3; a negative
	// value means any number.
	MaxRepeats int
	// MaxToolConcurrency bounds the calls of one reply that run at once. 0
	// means 8.
	MaxToolConcurrency int
	// InOrder names tools whose calls in one reply run one after another, in the
	// model's order: those that change what others see.
	InOrder []string
	// ToolTimeout bounds each call. 0 means 2 minutes. A [*tools.Router] gives
	// up earlier on a server that reports no progress of a call.
	ToolTimeout time.Duration
	// MaxResultBytes bounds the result that the model is shown; a longer one
	// keeps its head and tail and says how much is missing. 0 means 100000;
	// a negative value means no bound.
	MaxResultBytes int
	// ErrorObjects gives the model failures of calls as JSON objects,
	// {"status": "error", "message": "...", "error_type": "timeout"}, with an
	// [ErrorType]. Without it a failure is a text that begins with "Error:".
	ErrorObjects bool
	// SelectTools is how many tools are offered at most, for endpoints that take
	// small requests: those whose names and descriptions share most words with the
	// user's messages, words that few tools have counting more, and those that the
	// model has called in the turn, also where they had been left out. They keep
	// their order, and a [Notice] says which they are. 0 means all.
	SelectTools int
	// Breaker stops asking an endpoint that fails again and again: model calls then
	// end with an error of the kind [model.KindCircuitOpen]. Model calls count that
	// failed after all attempts; what the endpoint refuses (4xx but 408 and 429) does
	// not. It runs by Clock, for all conversations together. nil means that every
	// call is made. A breaker of servers is [mcppool.Options.Breaker].
	Breaker *mcppool.Breaker
	// RecoverLeakedCalls runs a tool call that the model wrote into its text.
	// Without it such a call is reported and the text is the answer. One that
	// was written without an id is given leaked_M_N: M messages came before it,
	// and N leaked calls in the same text.
	RecoverLeakedCalls bool
	// Telemetry records turns, model calls and the execution of tools as spans, and
	// the durations and tokens of model calls as metrics. Times are those of Clock.
	// Nil records nothing. MCP requests are recorded by
	// [mcppool.Options.Telemetry].
	Telemetry *mcppool.Telemetry
	// Clock measures TimeLimit and the durations of calls. Nil means
	// [harness.SystemClock].
	Clock harness.Clock

	circuits *circuits           // what has changed; New makes one where there is none
	recorder *telemetry.Recorder // of Telemetry
	// ordered has a call begin when the server has taken the one before, in the same
	// reply. The toolbox says so by [mcpwire.Taken].
	ordered bool
}

// Agent begins conversations. It is safe for use by several goroutines.
type Agent struct {
	cfg     Config
	circuit *breaker.Breaker // of the model's endpoint
}

// New makes an agent. It panics when cfg has no Model.
func New(cfg Config) *Agent {
	if cfg.Model == nil {
		panic("agent: New needs a Config with a Model")
	}
	a := &Agent{cfg: cfg.withDefaults()}
	a.cfg.record()
	a.guard()
	return a
}

const defaultToolTimeout = 2 * time.Minute

func (c Config) withDefaults() Config {
	c.MaxModelCalls = cmp.Or(c.MaxModelCalls, 10)
	c.MaxRepeats = cmp.Or(c.MaxRepeats, 3)
	c.MaxToolConcurrency = max(1, cmp.Or(c.MaxToolConcurrency, 8))
	c.ToolTimeout = cmp.Or(c.ToolTimeout, defaultToolTimeout)
	c.MaxResultBytes = cmp.Or(c.MaxResultBytes, 100_000)
	if c.Clock == nil {
		c.Clock = harness.SystemClock()
	}
	return c
}

// Conversation begins a conversation with an empty history.
func (a *Agent) Conversation() *Conversation {
	return &Conversation{cfg: &a.cfg, circuits: a.cfg.circuits.count()}
}
