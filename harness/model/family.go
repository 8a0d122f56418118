// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"
)

// Sampling are the temperature and the top_p of a request, as far as the
// model's family takes them. What is left out is noted: a scenario that runs
// over many models asks them all for temperature 0.
func (out *outgoing) Sampling(req *Request) (temperature, topP *float64) {
	f := familyOf(req.Model)
	skip := func(name string, value *float64) {
		out.Notes = append(out.Notes, fmt.Sprintf("%s %v left out: %s takes none", name, *value, req.Model))
	}
	temperature, topP = req.Temperature, req.TopP
	if temperature != nil && (f.NoSampling || f.FixedSampling && *temperature != 1) {
		skip("temperature", temperature)
		temperature = nil
	}
	if topP != nil && (f.NoSampling || f.FixedSampling || f.OneSampling && temperature != nil) {
		skip("top_p", topP)
		topP = nil
	}
	return temperature, topP
}

// Streaming has a reply streamed whose tokens are bounded by more than the
// model's family gives in one piece. A bound beyond what any model of it gives is
// refused either way, and is sent as it was asked for.
func (out *outgoing) Streaming(model string, maxTokens int) {
	f := familyOf(model)
	if maxTokens > f.MaxUnstreamed && maxTokens <= f.MaxReply && !out.Stream {
		out.Stream = true
		out.Notes = append(out.Notes, fmt.Sprintf("the reply is asked for in pieces: %s gives more than %d tokens no other way", model, f.MaxUnstreamed))
	}
}

// family is what the models of one family have in common.
type family struct {
	FixedSampling    bool // no temperature but 1, no top_p
	NoSampling       bool // no temperature and no top_p
	OneSampling      bool // temperature or top_p, not both
	CompletionTokens bool // max_completion_tokens in place of max_tokens
	NeedsMaxTokens   bool // a request must bound the reply
	MaxUnstreamed    int  // tokens of a reply that is not streamed, where MaxReply is set
	MaxReply         int  // tokens of a reply of any model of the family; 0 means any number
}

// familyOf goes by the model's name, also where a proxy puts its own before
// it (argo:gpt-5, openai/o3) or spells it together (gpt5mini, gpto3).
func familyOf(name string) family {
	name = strings.ToLower(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if before, after, ok := strings.Cut(name, ":"); ok && strings.Trim(before, "abcdefghijklmnopqrstuvwxyz") == "" {
		name = after
	}
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("-._", r) {
			return -1
		}
		return r
	}, name)
	for _, prefix := range []string{"gpt5", "gpt6", "o1", "o3", "o4", "gpto1", "gpto3", "gpto4"} {
		if strings.HasPrefix(name, prefix) {
			return family{FixedSampling: true, CompletionTokens: true}
		}
	}
	if !strings.Contains(name, "claude") {
		return family{}
	}
	is := func(versions ...string) bool {
		return slices.ContainsFunc(versions, func(v string) bool { return strings.Contains(name, v) })
	}
	none := is("opus47", "47opus", "opus48", "48opus")
	return family{NoSampling: none, OneSampling: !none && !is("opus41", "41opus"), NeedsMaxTokens: true, MaxUnstreamed: 21_000, MaxReply: 128_000}
}
