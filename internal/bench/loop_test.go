// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"go.uber.org/goleak"
)

// Google's SDK starts one goroutine that never ends, as it is imported.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

var modes = []struct {
	name   string
	stream bool
}{{"plain", false}, {"streamed", true}}

// TestLoops plays a conversation on each side: both check its answer.
func TestLoops(t *testing.T) {
	for _, p := range providers() {
		for _, mode := range modes {
			t.Run(p.name+"/"+mode.name, func(t *testing.T) {
				if ratio, err := overhead(t.Context(), p, mode.stream, 1, 1); err != nil || ratio <= 0 {
					t.Errorf("got %v, %v", ratio, err)
				}
			})
		}
	}
}

func TestOnly(t *testing.T) {
	if err := bench(t.Context(), []string{"-only", "nobody"}); err == nil {
		t.Error("a provider that there is not is measured")
	}
}

func TestTrialRate(t *testing.T) {
	if rate, n, err := trialRate(t.Context(), "../../scenarios/suites", 1, 1); err != nil || n == 0 || rate <= 0 {
		t.Errorf("got %v, %d, %v", rate, n, err)
	}
}

// BenchmarkLoop is for profiles; the command prints the ratio.
func BenchmarkLoop(b *testing.B) {
	for _, p := range providers() {
		for _, mode := range modes {
			benchLoop(b, p, mode.name, mode.stream)
		}
	}
}

func benchLoop(b *testing.B, p provider, name string, stream bool) {
	s, err := open(b.Context(), p, stream)
	if err != nil {
		b.Fatal(err)
	}
	for _, side := range []struct {
		name string
		c    conversation
	}{{"agent", s.ours}, {"raw", s.raw}} {
		b.Run(p.name+"/"+name+"/"+side.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%100 == 0 {
					s.mock.Reset()
				}
				if err := side.c(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if err := s.close(); err != nil {
		b.Error(err)
	}
}
