// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
)

// Resource is one resource. It has the content of Text, Blob or Func.
type Resource struct {
	URI         string
	Name        string // "" means the URI
	Title       string
	Description string
	MIMEType    string
	Text        string
	Blob        []byte // sent as base64
	// Func computes the content at each read, in place of Text and Blob.
	Func func(q *Query) (*ResourceContent, error)
	// Before is done before a read is answered.
	Before []Step
	// Extra is an object of further members of the listed resource, such as
	// annotations, icons, size and _meta; null means none.
	Extra json.RawMessage
	Pos   harness.Position
}

// ResourceTemplate offers all resources whose URI fits a pattern (RFC 6570).
type ResourceTemplate struct {
	URITemplate string
	Name        string // "" means the pattern
	Title       string
	Description string
	MIMEType    string
	// Text is the content of all of them; Func computes it from the values in
	// the URI, and says nil for a resource that there is not.
	Text   string
	Func   func(q *Query) (*ResourceContent, error)
	Before []Step
	Extra  json.RawMessage // as in [Resource]
	Pos    harness.Position
}

// ResourceContent is the content of a resource: Text, unless there is a Blob.
type ResourceContent struct {
	Text     string
	Blob     []byte
	MIMEType string // "" means that of the resource
	Meta     json.RawMessage
}

// Prompt is one prompt: fixed messages, or Func.
type Prompt struct {
	Name        string
	Title       string
	Description string
	Arguments   []PromptArgument
	Messages    []PromptMessage
	// Func computes the messages from the arguments, in place of Messages.
	Func   func(q *Query) ([]PromptMessage, error)
	Before []Step
	Extra  json.RawMessage // as in [Resource]
	Pos    harness.Position
}

// PromptArgument is an argument that a prompt takes.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessage is one message of a prompt. It has the content block of Content,
// else the text of Text.
type PromptMessage struct {
	Role    string // "" means user
	Text    string
	Content json.RawMessage
}

// Completion completes an argument of a prompt or a variable of a template.
type Completion struct {
	Prompt   string // the prompt's name
	Template string // or the template's pattern, or a resource's URI
	Argument string
	// Values are what is offered as far as they begin with what was typed.
	Values []string
	// Func computes what is offered, in place of Values.
	Func func(q *Query) ([]string, error)
	Pos  harness.Position
}

// Query is what a computed part is computed from.
type Query struct {
	URI string // of the resource being read
	// Vars are the variables of the template, the arguments of the prompt, or
	// what else is filled in already where one of them is completed.
	Vars  map[string]string
	Typed string // what is to be completed
	// Asked are the client's answers by key, an object, where Before asks.
	Asked json.RawMessage
	State json.RawMessage
	Turn  int    // from the server's options; 0 without one
	User  string // from the server's options; "" without one
}
