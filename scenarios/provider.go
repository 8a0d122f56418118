// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import "github.com/rehearse-dev/rehearse/internal/dialect/dialects"

// Providers are the words for the APIs that a subject may speak, in `model` and on
// the command line.
func Providers() []string {
	var words []string
	for _, d := range dialects.Spoken() {
		words = append(words, d.Provider)
	}
	return words
}

// DialectOf is the dialect of a provider's API, as in [harness.Endpoint]; empty for
// a word that is none of [Providers].
func DialectOf(provider string) string {
	for _, d := range dialects.Spoken() {
		if d.Provider == provider {
			return d.Name
		}
	}
	return ""
}
