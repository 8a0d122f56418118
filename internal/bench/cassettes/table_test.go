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

// TestMain lets the jobs and the endpoint be children of the test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-job" || os.Args[1] == "-serve") {
		if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // each would wait a second at its end
	os.Exit(m.Run())
}

// TestTables measures for an instant: every measurement can be made, and who
// is said to answer rightly does.
func TestTables(t *testing.T) {
	b := bench{rounds: 1, count: 20, size: 50_000, events: 5, gap: time.Millisecond, dir: t.TempDir()}
	lines := 1
	for _, s := range allSeries() {
		lines += 3 * len(s.who)
		if len(s.who) == 3 {
			lines--
		}
	}
	for _, section := range []struct {
		name  string
		print func(io.Writer) error
		lines int
	}{
		{"replay", b.replay, lines},
		{"files", b.files, 2 + 4},
		{"overhead", b.overhead, 2 + 2*len(ways())},
		{"times", b.times, 2 + 3},
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

// TestRightAnswers: in whatever way requests come, our replay answers all of
// them rightly; go-vcr does where it looks at what differs.
func TestRightAnswers(t *testing.T) {
	b := bench{rounds: 1, dir: t.TempDir()}
	for _, s := range allSeries() {
		var out strings.Builder
		if err := b.seriesOf(&out, s, 50); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			cells := strings.Split(line, "\t")
			wrong := cells[2] == stock && s.fixture == chats && s.asked == shuffled
			if (cells[6] != "0") != wrong {
				t.Errorf("wrong answers: %s", line)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	self := func(v float64) float64 { return v }
	if m, r := median([]float64{9, 1, 4}, self), medianRatio([]float64{1, 6, 9}, []float64{2, 2, 3}, self); m != 4 || r != 3 {
		t.Errorf("median %v and of ratios %v, want 4 and 3", m, r)
	}
}
