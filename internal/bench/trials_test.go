// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// BenchmarkTrials is for profiles; the command prints the rate.
func BenchmarkTrials(b *testing.B) {
	b.ReportAllocs()
	total := 0
	for b.Loop() {
		_, n, err := trialRate(b.Context(), "../../scenarios/suites", 1, 10)
		if err != nil {
			b.Fatal(err)
		}
		total += n
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "trials/s")
}
