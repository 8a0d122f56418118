// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestContextWindow plays a conversation that outgrows the model's window.
func TestContextWindow(t *testing.T) {
	rec := one(t, write(t, `scenario: outgrown
model: {context_window: 200}
turns:
  - user: Read the book.
    replies: [{calls: [books.read]}]
    expect: [{calls: [books.read]}, {stops: context_overflow}]
servers:
  books:
    tools: [{name: read, results: [{text: "`+words(300)+`"}]}]
`), run.Options{Subject: agent.Subject(nil)})
	wants(t, rec, harness.OutcomePassed, "")
}

func words(n int) string {
	b := make([]byte, 0, 5*n)
	for range n {
		b = append(b, "word "...)
	}
	return string(b)
}

// TestEcho plays a model that wants its thoughts back, which a client that
// speaks OpenAI's dialect alone does not send.
func TestEcho(t *testing.T) {
	for _, model := range []string{"{requires: {echo: [reasoning_content]}}", "{profile: deepseek}", "{profile: kimi, stream: true}"} {
		t.Run(model, func(t *testing.T) {
			rec := one(t, write(t, `scenario: thoughts
model: `+model+`
turns:
  - user: Read the book.
    replies: [{reasoning: Hm., calls: [books.read]}, {reasoning: Ah., say: Read., logprobs: {content: []}, choices: [Done.]}]
    expect: [{answer: {equals: Read.}}]
servers:
  books:
    tools: [{name: read, results: [{text: Once}]}]
`), run.Options{Subject: agent.Subject(nil)})
			wants(t, rec, harness.OutcomeFailed, trials.CauseRefusal, "reasoning_content")
		})
	}
}
