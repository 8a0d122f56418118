// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/bpe"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// words are what is known of tokens: most words come again and again. They are
// the same for all mocks.
var words = &counter{known: make(map[string]int)}

// countText counts tokens by cl100k_base: how a provider writes messages and
// tools into the prompt is not public, so that no count is exact anyhow.
func countText(s string) int { return words.count(s) }

// counter counts tokens and remembers those of words and the like.
type counter struct {
	mu    sync.RWMutex // guards known
	known map[string]int
}

// What is remembered at most.
const (
	maxKnown = 1 << 15
	maxPiece = 32
)

func (c *counter) count(s string) int {
	n := 0
	var unknown []string
	c.mu.RLock()
	for len(s) > 0 {
		piece := s[:bpe.Next(s)]
		s = s[len(piece):]
		if k, ok := c.known[piece]; ok {
			n += k
		} else {
			unknown = append(unknown, piece)
		}
	}
	c.mu.RUnlock()
	for _, piece := range unknown {
		n += c.learn(piece)
	}
	return n
}

// learn counts a piece and remembers it.
func (c *counter) learn(piece string) int {
	n := bpe.Tokens(piece)
	if len(piece) > maxPiece {
		return n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) < maxKnown {
		c.known[strings.Clone(piece)] = n // piece is part of a request
	}
	return n
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
		c.thought = countText(c.reasoning)
		c.tokens = c.thought + countText(c.say) + countText(c.refusal)
		for _, call := range c.calls {
			c.tokens += callTokens + countText(call.tool) + countText(call.args)
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
