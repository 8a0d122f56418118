// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/harness"
)

// Dialect is one API of model endpoints: a row of the table in package dialects.
type Dialect struct {
	// Name is what journals, conditions and faults call it.
	Name string
	// Provider is the word for it in scenarios and on the command line, and
	// ClientPath the whole path that clients of it ask, with its version. Both are
	// empty for one that subjects do not speak.
	Provider, ClientPath string

	// Path is where requests go, below the version. Where models have paths of
	// their own it is empty, and Place says what a path asks for; OK is false for
	// that of another dialect.
	Path  string
	Place func(version, rest string) (q Query, ok bool)
	// Read reads a request. The refusal says what the provider would refuse; nil
	// means that it would answer. The request is nil when the body is no JSON
	// object; otherwise it is there beside a refusal, as far as it could be read.
	Read func(body []byte, q *Query) (Request, *Refusal)
	// Overflow refuses a request that is too long; nil where it is not.
	Overflow func(l Length) *Refusal
	// Error is the body of a refusal; nil is the refusal's own.
	Error func(r *Refusal, o ErrorOf) []byte

	// ReplyID and CallID are how ids are made.
	ReplyID, CallID IDs
	// OpenAI says that the endpoint is one of OpenAI's, and sends its headers.
	OpenAI bool
	// IDHeader is where others have the id of an answer; empty is nowhere.
	IDHeader string
	// ErrorType is the content type of errors; empty is application/json.
	ErrorType string
	// Lists says that a request for models comes from the provider's own
	// client. Models lists some that were created at a time, Model describes
	// one, and NoModel is what is said of one that is not there.
	Lists   func(r *http.Request) bool
	Models  func(ids []string, created int64) []byte
	Model   func(id string, created int64) []byte
	NoModel string
	// Serves refuses a model that the provider itself has for another endpoint;
	// nil refuses none.
	Serves func(model string) *Refusal

	// KeyHeader is the header for keys of the provider's own clients, and
	// KeyParam the parameter of the query; empty is none.
	KeyHeader, KeyParam string
	// Versioned says that clients are given an address without a version, and
	// put one into the path themselves.
	Versioned bool

	// Calls says that a reply may call tools, and ChatFields that messages have
	// the further fields of chat completions: indexes, extra_content and others.
	// Objects says that the arguments of a call can be an object there and not a
	// text, so that a reply is written as it is not scripted, see [InputObject].
	Calls, ChatFields, Objects bool
	// BackID is an id of a call as a client can send it back; nil takes any.
	BackID func(id string) string
	// Failure is the event that a stream ends in when the provider fails after
	// the given frames; nil where errors have no event of their own.
	Failure func(before []Frame, failure json.RawMessage) Frame

	// What follows is for reading replies.

	// Part is what a reply needs at least.
	Part string
	// List says that a stream may come as a JSON list of its items.
	List bool
	// Own says that reasons to end have words of its own, and EndsInCalls that
	// one of them is for calls.
	Own, EndsInCalls bool
	// Several says that a reply may have several answers.
	Several bool
	// Parse returns what puts the documents of one reply together.
	Parse func() Parser
}

// ContentType is that of errors and lists.
func (d *Dialect) ContentType() string { return cmp.Or(d.ErrorType, "application/json") }

// Parser puts the documents of one reply in a dialect into a [Reader].
type Parser interface {
	// Add takes a document.
	Add(r *Reader, d Document) error
	// End is called once, behind the last document.
	End(r *Reader)
}

// Query is what is known of a request beside its body.
type Query struct {
	// Prev may be an earlier request of the same conversation, which makes this
	// one cheaper to read; nil is fine.
	Prev *Chat
	// Held has what the request refers to; nil holds nothing.
	Held *Store
	// Counting says that the tokens are to be counted and no model is asked.
	Counting bool
	// Version, Model and Stream are what the path says where it does, and List
	// that a stream is to be a JSON list of its items.
	Version, Model string
	Stream, List   bool
	// IDs returns the ids that the calls of a message of the model were given
	// when it was made; they are asked for in the order of the conversation.
	// Many clients of Google's send none, or their own. Nil, or a result of
	// another length, keeps those of the request.
	IDs func(calls []harness.ToolCall) []string
}

// Request is a request that was read, as its dialect knows it.
type Request interface {
	// AsChat is the request as all dialects see it.
	AsChat() *Chat
	// Write writes the reply to it, and keeps what later requests may refer to.
	Write(r *Reply, w Writing) *Body
	// Passed keeps what later requests may refer to of a reply that was read.
	Passed(r Received, held *Store)
}

// Writing is how a reply to a request is written.
type Writing struct {
	Style  *Style
	Stream bool
	// Proxied says that a proxy hands the reply on, which goes by less of the
	// request, and Hidden that it does not show what the model did not say.
	Proxied, Hidden bool
	// Settings are what a proxy repeats of the request, a JSON object; nil is
	// what the provider does.
	Settings json.RawMessage
	// Held is where what later requests refer to is kept; nil keeps nothing.
	Held *Store
	// Buffers may be used for the body; nil makes new ones.
	Buffers *Buffers
}

// Length is how long a request is, in tokens.
type Length struct {
	// Window is how many fit, Prompt how many are sent, Tools those of them for
	// tools, and Room how many the request wants for its reply.
	Window, Prompt, Tools, Room int
}

// ErrorOf is the request that an error answers.
type ErrorOf struct {
	Chat  *Chat // nil where it could not be read
	Query *Query
	ID    string // of the answer
}

// InWords is a refusal of OpenAI's in the words of another provider: that a
// model, whose name goes into model, is not listed, and that more tokens are sent
// than fit, both of which go into overflow.
func InWords(r *Refusal, o ErrorOf, model, overflow string) *Refusal {
	other := *r
	switch {
	case r.Code == "model_not_found" && o.Chat != nil:
		other.Message = fmt.Sprintf(model, o.Chat.Model())
	case r.Window > 0:
		other.Message = fmt.Sprintf(overflow, r.Tokens, r.Window)
	}
	return &other
}
