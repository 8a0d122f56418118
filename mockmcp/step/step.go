// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package step holds what a mock MCP server can do between a request and its
// answer: tell of progress, log, ask the client something, wait.
//
//	Before: []step.Step{
//		step.Progress{Value: 1, Total: 3, Times: 3, Every: time.Second},
//		step.Ask{step.Form("Really?", json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}}}`))},
//	}
//
// Steps are done in their order, and the answer follows the last of them.
package step

import (
	"encoding/json"
	"time"
)

// Step is one of [Progress], [Log], [Notify], [Ask], [Wait], [Hold]
// and [CloseStream].
type Step interface{ step() }

// Progress tells of progress, to a client that asked for it with a token.
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
type Ask []Request

// Request is one thing to ask a client.
type Request struct {
	// Key is the name of the answer in what was asked. "" means sampling,
	// elicitation or roots.
	Key    string
	Method Method
	// Params are sent as they are. null means none.
	Params json.RawMessage
	// Optional leaves the request out where the client lacks the capability
	// for it, and goes on with {"error": ...} as its answer where the client
	// refuses. Else that ends the request: with -32021 from 2026-07-28 on, with
	// a result that says isError before.
	Optional bool
}

// Method is what a client can be asked for.
type Method string

// The methods.
const (
	Sampling    Method = "sampling/createMessage"
	Elicitation Method = "elicitation/create"
	Roots       Method = "roots/list"
)

func (Progress) step()    {}
func (Log) step()         {}
func (Notify) step()      {}
func (Hold) step()        {}
func (Wait) step()        {}
func (Ask) step()         {}
func (CloseStream) step() {}

// Name is the key of the answer.
func (r Request) Name() string {
	switch {
	case r.Key != "":
		return r.Key
	case r.Method == Sampling:
		return "sampling"
	case r.Method == Elicitation:
		return "elicitation"
	case r.Method == Roots:
		return "roots"
	}
	return string(r.Method)
}

// Sample asks the client's model to answer one user message.
func Sample(text string, maxTokens int) Request {
	return request(Sampling, map[string]any{
		"messages":  []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": text}}},
		"maxTokens": maxTokens,
	})
}

// Form asks the client's user to fill in a form, given by a JSON Schema.
func Form(message string, schema json.RawMessage) Request {
	return request(Elicitation, map[string]any{"message": message, "requestedSchema": schema})
}

// Visit asks the client's user to go to a URL.
func Visit(message, url, id string) Request {
	return request(Elicitation, map[string]any{"mode": "url", "message": message, "url": url, "elicitationId": id})
}

// ListRoots asks the client for its roots.
func ListRoots() Request { return Request{Method: Roots} }

func request(m Method, params any) Request {
	raw, err := json.Marshal(params)
	if err != nil {
		panic("step: " + err.Error()) // only a schema that is no JSON
	}
	return Request{Method: m, Params: raw}
}
