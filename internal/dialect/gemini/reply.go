// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// parser puts a reply of generateContent together.
type parser struct{}

// End has nothing to add.
func (parser) End(*dialect.Reader) {}

// Add takes a response of generateContent, or a piece of one. Names may be in
// camel case or in snake case, as Google's own libraries take them.
func (parser) Add(r *dialect.Reader, d dialect.Document) error {
	var o dialect.Members
	if err := json.Unmarshal(d.Data, &o); err != nil {
		return err
	}
	r.SetID(o.Text("responseId", "response_id"), o.Text("modelVersion", "model_version"))
	if u := o.Object("usageMetadata", "usage_metadata"); u != nil {
		r.SetUsage(usageOf(u))
	}
	if reason := o.Object("promptFeedback", "prompt_feedback").Text("blockReason", "block_reason"); reason != "" {
		r.Finish, r.Answered = "SAFETY", true
	}
	for _, c := range o.Objects("candidates") {
		if c.Number("index").N != r.Choice {
			continue // as a rule, only one answer was asked for
		}
		if reason := c.Text("finishReason", "finish_reason"); reason != "" {
			r.Finish, r.Answered = string(reason), true
		}
		for _, p := range c.Object("content").Objects("parts") {
			if err := addPart(r, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// addPart takes a part of a content. A call is whole in its part.
func addPart(r *dialect.Reader, p dialect.Members) error {
	r.Answered = true
	if f := p.Object("functionCall", "function_call"); f != nil {
		if err := r.AddCall(nil, dialect.Piece{ID: f.Text("id"), Name: f.Text("name"), Arguments: f.Text("args")}); err != nil {
			return err
		}
	}
	switch {
	case p.IsTrue("thought"):
		r.AddReasoning(p.Text("text"))
	default:
		r.AddText(p.Text("text"))
	}
	return nil
}

// usageOf reads a usage, which is cumulative in a stream.
func usageOf(u dialect.Members) harness.Usage {
	thoughts := u.Count("thoughtsTokenCount", "thoughts_token_count")
	return harness.Usage{
		PromptTokens:     u.Count("promptTokenCount", "prompt_token_count"),
		CompletionTokens: u.Count("candidatesTokenCount", "candidates_token_count") + thoughts,
		TotalTokens:      u.Count("totalTokenCount", "total_token_count"),
		ReasoningTokens:  thoughts,
		CachedTokens:     u.Count("cachedContentTokenCount", "cached_content_token_count"),
	}
}
