// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
)

func TestCompletions(t *testing.T) {
	r := &dialect.Reply{
		ID: "cmpl-1", Created: 1767225600, Model: "gpt-3.5-turbo-instruct", Seed: 7, Fingerprint: "fp_1",
		Choices: []dialect.Choice{{Text: "Sunny in \"Zürich\".", Finish: "stop"}, {Text: "Rain", Finish: "length"}},
		Usage:   harness.Usage{PromptTokens: 4, CompletionTokens: 9, TotalTokens: 13},
	}
	golden(t, "completions.json", chat.WriteCompletions(r, &dialect.Style{}, false))
	golden(t, "completions.sse", chat.WriteCompletions(r, &dialect.Style{}, true))
	r.IncludeUsage = true
	golden(t, "completions_usage.sse", chat.WriteCompletions(r, &dialect.Style{}, true))
}
