// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// BenchmarkLoop is for profiles; the command prints the ratio.
func BenchmarkLoop(b *testing.B) {
	for _, mode := range []struct {
		name   string
		stream bool
	}{{"plain", false}, {"streamed", true}} {
		s, err := open(b.Context(), mode.stream)
		if err != nil {
			b.Fatal(err)
		}
		for _, side := range []struct {
			name string
			c    conversation
		}{{"agent", s.ours}, {"raw", s.raw}} {
			b.Run(mode.name+"/"+side.name, func(b *testing.B) {
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
}
