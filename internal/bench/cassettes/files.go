// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// files prints what it takes to load and to save a large file. We save to a
// second file, sync that, read it again and rename it; go-vcr writes over the
// first.
func (b *bench) files(out io.Writer) error {
	const answers = 8000
	path := filepath.Join(b.dir, "large")
	file := fixtures()[chats].file(b.size/(answers+2000)+1, answers)
	if err := vcr.WriteFile(path+".yaml", file, -1); err != nil {
		return err
	}
	info, err := os.Stat(path + ".yaml")
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\na file of %.0f MB\tby\tms\tCPU ms\tMiB at most\tMiB allocated\tms, of go-vcr\tCPU\tMiB at most\tMiB allocated\taims\t\n", float64(info.Size())/1e6)
	fields := []func(report) float64{
		func(r report) float64 { return milliseconds(r.Work.Wall) },
		func(r report) float64 { return milliseconds(r.Work.CPU) },
		func(r report) float64 { return r.Peak },
		func(r report) float64 { return r.Allocs },
	}
	for _, do := range []string{"load", "save"} {
		who := []string{stock, ours}
		results := make([][]report, len(who))
		for round := range b.rounds {
			for k := range who {
				i := (k + round) % len(who)
				r, err := job{Do: do, Who: who[i], Path: path}.run()
				if err != nil {
					return err
				}
				results[i] = append(results[i], r)
			}
		}
		for i, name := range who {
			fmt.Fprintf(w, "%s\t%s\t", do, name)
			for _, field := range fields {
				fmt.Fprintf(w, "%.0f\t", median(results[i], field))
			}
			if name != ours {
				fmt.Fprint(w, "\t\t\t\t\t\n")
				continue
			}
			for _, field := range fields {
				fmt.Fprintf(w, "%.2f\t", medianRatio(results[i], results[0], field))
			}
			fmt.Fprint(w, "0.50 of go-vcr\t\n")
		}
	}
	return w.Flush()
}
