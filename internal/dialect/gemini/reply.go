// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// parser puts a reply of generateContent together.
type parser struct{ parts []*saidPart }

// Add takes a response of generateContent, or a piece of one. Names may be in
// camel case or in snake case, as Google's own libraries take them.
func (p *parser) Add(r *dialect.Reader, d dialect.Document) error {
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
		for _, o := range c.Object("content").Objects("parts") {
			if err := p.addPart(r, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// addPart takes a part of a content. A call is whole in its part.
func (p *parser) addPart(r *dialect.Reader, o dialect.Members) error {
	r.Answered = true
	part := &saidPart{members: o, signature: dialect.ToValid(string(o.Text("thoughtSignature", "thought_signature")))}
	text := o.Text("text")
	if f := o.Object("functionCall", "function_call"); f != nil {
		part.kind = partCall
		if p.repeats(f) {
			return nil
		}
		part.call = f
		if err := r.AddCall(nil, dialect.Piece{ID: f.Text("id"), Name: f.Text("name"), Arguments: f.Text("args")}); err != nil {
			return err
		}
		if part.signature != "" {
			r.Calls[len(r.Calls)-1].Extra = string(dialect.Encode(CallExtra{part.signature}))
		}
	}
	switch {
	case o.IsTrue("thought"):
		r.AddReasoning(text)
		part.kind = partThought
	case part.kind == partCall || o.Get("text") != nil:
		r.AddText(text)
		part.text.WriteString(string(text))
	default:
		part.kind = partOther
	}
	p.keep(part)
	return nil
}

// repeats reports whether a call is one that came before, with its id: parts of
// a stream that come twice are the same part.
func (p *parser) repeats(f dialect.Members) bool {
	return f.Text("id") != "" && slices.ContainsFunc(p.parts, func(before *saidPart) bool {
		c := before.call
		return c != nil && c.Text("id") == f.Text("id") && c.Text("name") == f.Text("name") && c.Text("args") == f.Text("args")
	})
}

// usageOf reads a usage, which is cumulative in a stream.
func usageOf(u dialect.Members) harness.Usage {
	thoughts := u.Count("thoughtsTokenCount", "thoughts_token_count")
	return harness.Usage{
		PromptTokens:     u.Count("promptTokenCount", "prompt_token_count") + u.Count("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
		CompletionTokens: u.Count("candidatesTokenCount", "candidates_token_count") + thoughts,
		TotalTokens:      u.Count("totalTokenCount", "total_token_count"),
		ReasoningTokens:  thoughts,
		CachedTokens:     u.Count("cachedContentTokenCount", "cached_content_token_count"),
	}
}
