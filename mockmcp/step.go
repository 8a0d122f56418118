// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Step is what a mock server does between a request and its answer: one of
// [Progress], [Log], [Notify], [Ask], [Wait], [Hold] and [CloseStream]. Steps
// are done in their order, and the answer follows the last of them.
type Step interface{ step() }

// Progress reports progress, to a client that asked for it with a token.
type Progress struct {
	Value   float64
	Total   float64 // 0: unknown
	Message string
	// Times sends it so many times, with Value, 2·Value and so on, and Every
	// between them. 0 means once.
	Times int
	Every time.Duration
}

// Log sends a log message, to a client whose level lets it through.
type Log struct {
	Level  string // "" means info
	Logger string
	Data   json.RawMessage // any JSON; null means ""
	// Times and Every are as in [Progress].
	Times int
	Every time.Duration
}

// Notify sends any other notification: that a list has changed and that a
// resource was updated to those who listen for it, anything else to the
// client of the request.
type Notify struct {
	Method string
	Params json.RawMessage // an object, or null for none
	Times  int
	Every  time.Duration
}

// Wait does nothing for a while, by the clock of the server.
type Wait time.Duration

// Hold waits until the cue of that name is given.
type Hold string

// CloseStream ends the stream of the answer over streamable HTTP, up to
// 2025-11-25: the rest comes on the stream with which the client resumes. It
// does nothing elsewhere.
type CloseStream struct {
	// Retry is how long the client is told to wait before it resumes.
	Retry time.Duration
}

// Ask asks the client and waits for the answers. Up to 2025-11-25 these are
// requests of the server, one after the other. From 2026-07-28 on the answer to
// the client's request is that input is required, everything at the same time,
// and the client sends its request again with the answers.
type Ask []Question

// Question is one thing to ask a client.
type Question struct {
	// Key is the name of the answer in what was asked. "" means sampling,
	// elicitation or roots.
	Key    string
	Method QuestionMethod
	// Params are sent as they are. null means none.
	Params json.RawMessage
	// Optional leaves the request out where the client lacks the capability
	// for it, and goes on with {"error": ...} as its answer where the client
	// refuses. Else that ends the request: with -32021 from 2026-07-28 on, with
	// a result that says isError before.
	Optional bool
}

// QuestionMethod is what a client can be asked for.
type QuestionMethod string

// The methods.
const (
	Sampling    QuestionMethod = "sampling/createMessage"
	Elicitation QuestionMethod = "elicitation/create"
	Roots       QuestionMethod = "roots/list"
)

func (Progress) step()    {}
func (Log) step()         {}
func (Notify) step()      {}
func (Hold) step()        {}
func (Wait) step()        {}
func (Ask) step()         {}
func (CloseStream) step() {}

// Name is the key of the answer.
func (q Question) Name() string {
	switch {
	case q.Key != "":
		return q.Key
	case q.Method == Sampling:
		return "sampling"
	case q.Method == Elicitation:
		return "elicitation"
	case q.Method == Roots:
		return "roots"
	}
	return string(q.Method)
}

// Sample asks the client's model to answer one user message.
func Sample(text string, maxTokens int) Question {
	return questionOf(Sampling, map[string]any{
		"messages":  []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": text}}},
		"maxTokens": maxTokens,
	})
}

// Form asks the client's user to fill in a form, given by a JSON Schema.
func Form(message string, schema json.RawMessage) Question {
	return questionOf(Elicitation, map[string]any{"message": message, "requestedSchema": schema})
}

// Visit asks the client's user to go to a URL.
func Visit(message, url, id string) Question {
	return questionOf(Elicitation, map[string]any{"mode": "url", "message": message, "url": url, "elicitationId": id})
}

// ListRoots asks the client for its roots.
func ListRoots() Question { return Question{Method: Roots} }

func questionOf(m QuestionMethod, params any) Question {
	return Question{Method: m, Params: mcpwire.Marshal(params)} // which panics for a schema that is no JSON
}
