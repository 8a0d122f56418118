// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"math/rand/v2"
	"testing"
)

// TestBelow: ids are those that the library's random numbers give.
func TestBelow(t *testing.T) {
	for _, n := range []uint64{1, 16, 26, 36, 58, 62, 1<<63 + 1} {
		ours, theirs := rand.NewPCG(1, n), rand.New(rand.NewPCG(1, n))
		for i := range 1000 {
			if got, want := below(ours, n), theirs.Uint64N(n); got != want {
				t.Fatalf("number %d below %d is %d, want %d", i, n, got, want)
			}
		}
	}
}
