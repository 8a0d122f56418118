// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// Script says what a mock server offers and how it answers. It is data: a
// [Server] copies what it needs, and one script may serve many servers.
type Script struct {
	Name         string // the server's name, in journals and to clients
	Version      string // "" means "1.0.0"
	Instructions string // given to clients that ask; may be empty
	// State is the world that results read and change; null means {}.
	State json.RawMessage
	// Tools in the order in which they are listed.
	Tools []Tool
	// FailedWhen says of a tool's result that it means failure though MCP
	// does not say so. nil: only isError and protocol errors are failures.
	FailedWhen FailedWhen
}

// FailedWhen judges the result of a call: the structured content, else the
// text parsed as JSON, else the text as a JSON string.
type FailedWhen func(c *Call, result json.RawMessage) (bool, error)

// Tool is one tool of a [Script]. Schemas and annotations are listed as they
// are given here, key for key and number for number, in compact form.
type Tool struct {
	Name        string
	Title       string // may be empty
	Description string
	// Input is the JSON Schema of the arguments; null means an object with
	// any properties.
	Input       json.RawMessage
	Output      json.RawMessage // JSON Schema of the structured content, or null
	Annotations json.RawMessage // or null
	// Results are tried in order; the first that matches answers.
	Results []Result
	// Handler answers in place of Results. It runs outside the lock of the
	// state, concurrently with other calls; an error is a script error.
	Handler func(ctx context.Context, c *Call) (*Answer, error)
	// FailedWhen takes the place of [Script.FailedWhen] for this tool.
	FailedWhen FailedWhen
	// Pos is where the tool stands in its file, for messages.
	Pos harness.Position

	compiled func() (*schema, error) // of a shared tool
}

// Shared returns t for use in many servers: its input schema is read once, by
// the first of them. Input must not be changed afterwards.
func (t Tool) Shared() Tool {
	t.compiled = sync.OnceValues(t.compile)
	return t
}

// compile reads the input schema.
func (t Tool) compile() (*schema, error) {
	input := t.Input
	if len(input) == 0 {
		input = anyObject()
	}
	return guard(func() (*schema, error) { return compileSchema(input) })
}

// anyObject is the schema of a tool that has none.
func anyObject() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }

// Result is one scripted answer to a call.
type Result struct {
	// Match says whether this result answers c, and if not, why. nil matches
	// every call.
	Match func(c *Call) (ok bool, why string, err error)
	// Answer computes the answer on the state before Set.
	Answer func(c *Call) (*Answer, error)
	// Set computes a JSON merge patch (RFC 7396) for the state from the call,
	// the old state and the result. nil changes nothing.
	Set func(c *Call, result json.RawMessage) (json.RawMessage, error)
	// Latency passes, by the clock of [Options], after the answer is decided
	// and before it is sent. Other calls go on meanwhile.
	Latency time.Duration
	// Pos is where the result stands in its file, for messages.
	Pos harness.Position
}

// Call is one call as it arrived, with the state as it was then.
type Call struct {
	Tool  string
	Args  json.RawMessage // an object; {} when the client sent none
	State json.RawMessage
	Turn  int    // from [Options]; 0 without one
	User  string // from [Options]; "" without one
}

// Answer is what a call is answered with: exactly one of JSON, Text, Content
// and RPCError. A Text that is empty counts as text when all else is unset.
type Answer struct {
	// JSON is the structured content; its compact text is sent as well, for
	// clients that know only text.
	JSON json.RawMessage
	Text string
	// Content are content blocks, sent as they are.
	Content []json.RawMessage
	// IsError marks the result as a failure of the tool.
	IsError bool
	// RPCError answers with a JSON-RPC error in place of a result.
	RPCError *harness.RPCError
}
