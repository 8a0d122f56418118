// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// check reports an answer that says nothing or two things.
func (a *Answer) check() error {
	if a == nil {
		return errors.New("there is no answer")
	}
	n := 0
	for _, set := range []bool{a.JSON != nil, a.Text != "", a.Content != nil, a.RPCError != nil} {
		if set {
			n++
		}
	}
	if n > 1 {
		return errors.New("the answer has more than one of json, text, content and rpc_error")
	}
	if a.JSON != nil && !json.Valid(a.JSON) {
		return fmt.Errorf("the answer's json is not valid: %s", mcpwire.Excerpt(a.JSON, 60))
	}
	for _, c := range a.Content {
		if !isObject(c) {
			return fmt.Errorf("a content block is no JSON object: %s", mcpwire.Excerpt(c, 60))
		}
	}
	if len(a.Meta) > 0 && !isObject(a.Meta) {
		return fmt.Errorf("the _meta of the answer is no JSON object: %s", mcpwire.Excerpt(a.Meta, 60))
	}
	if a.RPCError != nil && len(a.RPCError.Data) > 0 && !json.Valid(a.RPCError.Data) {
		return fmt.Errorf("the data of the error is not valid JSON: %s", mcpwire.Excerpt(a.RPCError.Data, 60))
	}
	return nil
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// text is the text of the answer, blocks joined with newlines.
func (a *Answer) text() string {
	switch {
	case a.JSON != nil:
		return pad(string(mcpwire.Marshal(a.JSON)), a.size, " ")
	case a.Content != nil:
		return mcpwire.Text(a.Content)
	}
	return fill(a.Text, a.size)
}

// result is the result object of the answer, without the envelope of the era.
func (a *Answer) result(e era) json.RawMessage {
	r := struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent,omitempty"`
		IsError    bool              `json:"isError,omitempty"`
	}{Content: a.blocks(), IsError: a.IsError}
	// Before 2026-07-28 structured content is an object or absent.
	if e == modern || isObject(a.JSON) {
		r.Structured = a.JSON
	}
	return mcpwire.Marshal(r)
}

// value is what `result` means to a script: the structured content, else the
// text parsed as JSON, else the text.
func (a *Answer) value() json.RawMessage {
	if a.JSON != nil {
		return a.JSON
	}
	if a.RPCError != nil {
		return nil
	}
	return mcpwire.TextValue(a.text())
}

// blocks are the content blocks to send.
func (a *Answer) blocks() []json.RawMessage {
	if a.Content != nil {
		return a.Content
	}
	return []json.RawMessage{mcpwire.Marshal(textBlock{"text", a.text()})}
}
