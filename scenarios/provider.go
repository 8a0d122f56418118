// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

// Providers are the words for the APIs that a subject may speak, in `model` and on
// the command line.
func Providers() []string { return []string{"openai", "responses", "anthropic", "gemini"} }

// DialectOf is the dialect of a provider's API, as in [harness.Endpoint]; empty for
// a word that is none of [Providers].
func DialectOf(provider string) string {
	return map[string]string{"openai": "chat", "responses": "responses", "anthropic": "messages", "gemini": "gemini"}[provider]
}
