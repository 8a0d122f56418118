// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"sync"

	"github.com/tiktoken-go/tokenizer"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
)

// vocabulary is loaded when the first token is counted, which takes about
// 5 ms; o200k_base takes 60, and how a provider writes messages and tools
// into the prompt is not public, so that no count is exact anyhow.
var vocabulary = sync.OnceValues(func() (*counter, error) {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	return &counter{codec: codec, known: make(map[string]int)}, err
})

func countText(s string) int {
	if s == "" {
		return 0
	}
	counter, err := vocabulary()
	if err != nil {
		panic("mockllm: " + err.Error()) // the vocabulary is compiled in
	}
	return counter.count(s)
}

// countMessage counts one message as the provider's cookbook does: three
// tokens around each, and one for the role.
func countMessage(m harness.Message) int {
	n := 3 + 1 + countText(m.Text) + countText(m.Refusal)
	for _, c := range m.Calls {
		n += 3 + countText(c.Name) + countText(c.Arguments)
	}
	return n
}

func countTools(tools []harness.Tool) int {
	n := 0
	for _, t := range tools {
		n += 7 + countText(t.Name) + countText(t.Description) + countText(string(t.Schema))
	}
	return n
}

func promptTokens(c *dialect.Chat) int {
	n := 3 + c.ToolTokens(countTools)
	for i := range c.Len() {
		n += c.At(i).Tokens(countMessage)
	}
	return n
}

// completionTokens counts what is said, and the reasoning in that.
func (c *content) completionTokens() (tokens, thought int) {
	c.count.Do(func() {
		c.thought = countText(c.reasoning.plain)
		c.tokens = c.thought + countText(c.say.plain) + countText(c.refusal.plain)
		for _, call := range c.calls {
			c.tokens += callTokens + countText(call.tool) + countText(call.args.plain)
		}
	})
	return c.tokens, c.thought
}

// usage counts an answered request.
func (e *entry) usage(c *content) harness.Usage {
	tokens, thought := c.completionTokens()
	n := promptTokens(e.chat)
	u := harness.Usage{PromptTokens: n, CompletionTokens: tokens, TotalTokens: n + tokens, ReasoningTokens: thought}
	if n >= cacheFrom {
		u.CachedTokens = cachedTokens(e.chat, e.before)
	}
	return u
}
