// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// Reply is one reply of a model. A renderer does not change it.
type Reply struct {
	// ID is the id of the reply, made in the way of the dialect and style.
	ID      string
	Created int64
	Model   string // as it is to be echoed
	// Choices are usually one; more when the client asks for n.
	Choices []Choice
	Usage   harness.Usage
	// IncludeUsage says that the client asked for the usage in a stream.
	IncludeUsage bool
	// Fingerprint is system_fingerprint.
	Fingerprint string
	// Seed is what a renderer's own random choices derive from: further ids,
	// fragments.
	Seed uint64
	// Request is a JSON object with settings of the request that the dialect
	// echoes (responses does); nil when there are none.
	Request json.RawMessage
}

// Choice is one of the answers of a reply.
type Choice struct {
	Text      string
	Reasoning string
	Refusal   string
	Calls     []Call
	// Finish is the reason in OpenAI's words: stop, tool_calls, length,
	// content_filter. Renderers translate it.
	Finish string
	// Logprobs is the value of logprobs; nil is null.
	Logprobs json.RawMessage
	// Signature is what the provider wants back with the reasoning, if
	// anything.
	Signature string
	// Stopped is the stop text of the request that ended the text, if one
	// did.
	Stopped string
}

// Call is one tool call.
type Call struct {
	ID, Name string
	// Arguments is a text, usually a JSON object.
	Arguments string
	// Signature is what the provider wants back with the call, if anything.
	Signature string
	// Extra are further members of the call as a JSON object.
	Extra json.RawMessage
}

// Kind says what a frame tells.
type Kind int

// The kinds of frame.
const (
	Other Kind = iota
	Preamble
	Role
	Text
	Reasoning
	Refusal
	CallStart
	CallArgs
	Finish
	Usage
	Done
	Fault // put there by a fault
)

// Then is what follows a frame.
type Then int

// What may follow a frame.
const (
	Next  Then = iota // the next frame; after the last one, the proper end
	Hang              // nothing, until the client goes away or the mock closes
	End               // the proper end of the body, at once
	Cut               // the connection is closed without the end of the body
	Reset             // the connection is reset
)

// Frame is a part of a body that is sent at one time: an event of a stream as
// a rule.
type Frame struct {
	// Data are the exact bytes, the blank line included.
	Data []byte
	Kind Kind
	// Choice and Call say whose it is; Call counts from 0 within the choice.
	Choice, Call int
	// Tokens is how many tokens were made for it: the writer waits so long
	// before it.
	Tokens int
	// Delay is waited before it beside that.
	Delay time.Duration
	// Raw writes Data to the connection as they are, outside of the framing
	// of the body (within a chunked body: not in a chunk).
	Raw bool
	// Flush sends it on its own even where events are joined.
	Flush bool
	Then  Then
}

// Body is an answer ready to be sent.
type Body struct {
	Status int
	// Header has what the dialect and the faults say; the writer adds to it.
	Header http.Header
	// Frames are the parts of the body: the events of a stream; a single
	// frame when not streamed.
	Frames []Frame
	// Stream says that the length is not to be told.
	Stream bool
	// HeadDelay is waited before anything is sent, beside the time to the
	// first token.
	HeadDelay time.Duration
	// Part says that the frames lack something of the reply: it does not
	// count as delivered.
	Part bool
	// EarlyHead sends the head at once, before the time to the first token.
	// Else it goes out with the first frame.
	EarlyHead bool
	// RawHead sends status and Header exactly as they are, wrong as they may
	// be (a content length that does not fit, say), past net/http.
	RawHead bool
	// Writes, above 0, cuts what goes to the network into pieces of 1 to so
	// many bytes.
	Writes int
}

// Renderer writes a reply in a dialect.
type Renderer func(r *Reply, style *wire.Style, stream bool) *Body
