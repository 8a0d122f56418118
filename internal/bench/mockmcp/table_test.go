// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the servers be children of the test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-serve" {
		if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestTable measures for an instant: what is asked is answered, by both
// servers in every way.
func TestTable(t *testing.T) {
	b := bench{rounds: 1, round: time.Millisecond, sessions: 3, calls: 2, agentsAtOnce: 3}
	for _, section := range []struct {
		name  string
		print func(io.Writer) error
		lines int
	}{
		{"rates", b.rates, 1 + 2*len(ways())},
		{"crowd", b.crowd, 4},
		{"memory", b.memory, 4},
		{"pool", b.pool, 4},
	} {
		t.Run(section.name, func(t *testing.T) {
			var out strings.Builder
			if err := section.print(&out); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out.String(), "\n"); n != section.lines {
				t.Errorf("%d lines, want %d:\n%s", n, section.lines, out.String())
			}
		})
	}
}

func TestMedianRatios(t *testing.T) {
	rate, cpu := medianRatios(
		[]result{{rate: 1, cpu: 4}, {rate: 6, cpu: 2}, {rate: 9, cpu: 9}},
		[]result{{rate: 2, cpu: 2}, {rate: 2, cpu: 2}, {rate: 3, cpu: 3}})
	if rate != 3 || cpu != 2 {
		t.Errorf("ratios %v and %v, want 3 and 2", rate, cpu)
	}
}
