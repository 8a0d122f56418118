// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// series is requests of one kind, for files of several sizes.
type series struct {
	name    string
	fixture string
	asked   string
	who     []string
	aim     string
}

func allSeries() []series {
	return []series{
		{"an address each, in any order", places, shuffled, []string{stock, ours}, "20 times"},
		{"an address each, in order", places, inOrder, []string{stock, ours}, ""},
		{"one address, bodies in any order", chats, shuffled, []string{stock, reader, ours}, ""},
		{"one address, bodies in order", chats, inOrder, []string{stock, reader, ours}, ""},
		{"the same with another seed each", chats, respelled, []string{stock, ours}, ""},
	}
}

// replay prints what it takes to replay a whole file. go-vcr compares the
// method and the address alone, unless it is given a matcher; it looks through
// the file from its beginning for each request. Nothing waits for anything, so
// that processor time says it all, and says it on a busy machine too.
func (b *bench) replay(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "replay\tinteractions\tby\tCPU ms to open\tCPU ms to replay\tus/request\twrong\treplay, times go-vcr's speed\topen and replay\taims\t\n")
	for _, s := range allSeries() {
		for _, count := range []int{b.count / 10, b.count * 3 / 10, b.count} {
			if err := b.seriesOf(w, s, count); err != nil {
				return fmt.Errorf("replaying %q: %w", s.name, err)
			}
		}
	}
	return w.Flush()
}

func (b *bench) seriesOf(w io.Writer, s series, count int) error {
	path := filepath.Join(b.dir, "replay")
	if err := vcr.WriteFile(path+".yaml", fixtures()[s.fixture].file(count, 2000), -1); err != nil {
		return err
	}
	who := s.who
	if count == b.count && len(who) == 3 {
		who = []string{stock, ours} // reading all bodies for each request takes minutes
	}
	results := make([][]report, len(who))
	for round := range b.rounds {
		for k := range who {
			i := (k + round) % len(who)
			if who[i] == reader && round > 0 {
				continue // once is enough to see it
			}
			r, err := job{Do: "replay", Who: who[i], Path: path, Fixture: s.fixture, Count: count, Asked: s.asked}.run()
			if err != nil {
				return err
			}
			results[i] = append(results[i], r)
		}
	}
	open := func(r report) float64 { return milliseconds(r.Open.CPU) }
	work := func(r report) float64 { return milliseconds(r.Work.CPU) }
	all := func(r report) float64 { return open(r) + work(r) }
	for i, name := range who {
		list := results[i]
		fmt.Fprintf(w, "%s\t%d\t%s\t%.0f\t%.1f\t%.1f\t%d\t", s.name, count, name, median(list, open), median(list, work), median(list, work)*1e3/float64(count), list[0].Wrong)
		if name != ours {
			fmt.Fprint(w, "\t\t\t\n")
			continue
		}
		aim := ""
		if count == b.count {
			aim = s.aim
		}
		fmt.Fprintf(w, "%.1f\t%.1f\t%s\t\n", medianRatio(results[0], list, work), medianRatio(results[0], list, all), aim)
	}
	return nil
}
