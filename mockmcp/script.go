// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// Script says what a mock server offers and how it answers. It is data: a
// [Server] copies what it needs, and one script may serve many servers.
type Script struct {
	Name         string // the server's name, in journals and to clients
	Version      string // "" means "1.0.0"
	Instructions string // given to clients that ask; may be empty
	// Protocol says which versions are served and how.
	Protocol Protocol
	// State is the world that results read and change; null means {}.
	State json.RawMessage
	// Tools in the order in which they are listed.
	Tools []Tool
	// Changes are what happens to the offer in the course of time.
	Changes []Change
	// Resources, Templates and Prompts are what else is offered, Completions
	// what completes their arguments. A server has the capability of each
	// kind that it offers.
	Resources   []Resource
	Templates   []ResourceTemplate
	Prompts     []Prompt
	Completions []Completion
	// Faults are what goes wrong, see package fault. Those that strike an event
	// are tried in their order.
	Faults []fault.Fault
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
	// Extra is an object of further members of the listed tool, such as icons,
	// execution and _meta; null means none.
	Extra json.RawMessage
	// Results are tried in order; the first that matches answers.
	Results []Result
	// Handler answers in place of Results. It runs outside the lock of the
	// state, concurrently with other calls; an error is a script error.
	Handler func(ctx context.Context, c *Call) (*Answer, error)
	// Latency is that of a Handler, and of results that have none of their own.
	Latency time.Duration
	// FailedWhen takes the place of [Script.FailedWhen] for this tool.
	FailedWhen FailedWhen
	// Pos is where the tool stands in its file, for messages.
	Pos harness.Position

	compiled func() (*argsSchema, error) // of a shared tool
}

// Shared returns t for use in many servers: its input schema is read once, by
// the first of them. Input must not be changed afterwards.
func (t Tool) Shared() Tool {
	t.compiled = sync.OnceValues(t.compile)
	return t
}

// compile reads the input schema.
func (t Tool) compile() (*argsSchema, error) {
	input := t.Input
	if len(input) == 0 {
		input = anyObject()
	}
	return guard(func() (*argsSchema, error) { return compileSchema(input) })
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
	// Before is done, in its order, before the answer is sent. A result that
	// asks the client something (Ask) is computed when the answers are
	// there, any other at once.
	Before []Step
	// Plan computes further steps, done after Before. It is computed again
	// when the client has answered; the steps that are done must stay.
	Plan func(c *Call) ([]Step, error)
	// Hold keeps the answer back until the cue of that name. See [Server.Cue].
	Hold string
	// File is a file whose content is the answer, in place of Answer: text, a
	// picture, sound, or any other bytes as an embedded resource.
	File string
	// Root is a folder below which File is found, whatever links say. Empty
	// means that File is a path like any other.
	Root string
	// Size makes the text of the answer that many bytes long, at least. Without
	// Answer and File it is the whole answer. 0 changes nothing.
	Size int
	// Latency passes, by the clock of [Options], after the answer is decided
	// and before it is sent. Other calls go on meanwhile.
	Latency time.Duration
	// Faults strike calls that this result answers. By then the tool has run,
	// also for those that strike before it elsewhere.
	Faults []fault.Fault
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
	// Asked are the client's answers by the key of what it was asked, an
	// object; null when it was asked nothing.
	Asked json.RawMessage
}

// Change is a change of what is offered, on one of four cues. It happens
// once, or each time; [Server.Reset] undoes it.
type Change struct {
	// Call is the how-manieth call makes the change when it arrives: of the
	// tool Tool where that is set, else of any. It is itself answered by the
	// tools as they were. 0 with a Tool means every call of it.
	Call int
	Tool string
	// List is the how-manieth tools/list makes the change when it arrives. It
	// is answered with the tools as they were. -1 means every one.
	List int
	// After is the time since the first session opened.
	After time.Duration
	// Cue is the name of a cue. See [Server.Cue].
	Cue string

	// What is added is there from now on, in place of what has the same name
	// or URI.
	AddTools     []Tool
	AddPrompts   []Prompt
	AddResources []Resource
	// What is removed, by name or URI, is there no more.
	RemoveTools     []string
	RemovePrompts   []string
	RemoveResources []string
	// Tell are the kinds of lists that clients are told have changed: tools,
	// prompts, resources. nil means those that did; an empty slice none.
	Tell []string
	// Updated are the URIs of resources whose subscribers are told.
	Updated []string
	// Delay is when clients are told: so long after the answer to the call or
	// list that made the change, or after the change. Early tells them before
	// that answer, so that the news overtakes a slow one.
	Delay time.Duration
	Early bool
	Pos   harness.Position
}

// Answer is what a call is answered with: exactly one of JSON, Text, Content
// and RPCError. A Text that is empty counts as text when all else is unset.
type Answer struct {
	// JSON is the structured content; its compact text is sent as well, for
	// clients that know only text.
	JSON json.RawMessage
	Text string
	// Content are content blocks, sent as they are. An empty list is no content.
	Content []json.RawMessage
	// Structured is structured content beside Text or Content, which say
	// something else: a summary, or an error in words.
	Structured json.RawMessage
	// IsError marks the result as a failure of the tool.
	IsError bool
	// Meta is the _meta of the result, an object or null.
	Meta json.RawMessage
	// RPCError answers with a JSON-RPC error in place of a result.
	RPCError *jsonrpc.Error

	size int // the least length of the text
}
