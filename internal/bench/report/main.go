// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command report prints what reports of large runs cost: ten thousand trials
// with transcripts to a page, and a hundred thousand records to a summary. Time
// and memory are those of a process of its own; beside each stands the ratio to a
// process that reads the same files with encoding/json and does nothing with
// them, in the same round. The limits hold on a quiet machine and are asserted
// nowhere.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/samplerun"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// options are what is measured.
type options struct {
	rehearse        string
	trials, records int
	rounds          int
	chromium, peers string
}

func bench(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == "read" { // the process that is compared with
		return readAll(args[1])
	}
	var o options
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.StringVar(&o.rehearse, "rehearse", "bin/rehearse", "the binary that is measured")
	f.IntVar(&o.trials, "trials", 10_000, "trials with transcripts")
	f.IntVar(&o.records, "records", 100_000, "records without transcripts")
	f.IntVar(&o.rounds, "rounds", 3, "rounds, of which the median is printed")
	f.StringVar(&o.chromium, "chromium", "/usr/bin/chromium", "the browser")
	f.StringVar(&o.peers, "peers", "internal/bench/peers", "what make bench-peers has installed")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rehearse-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := reports(ctx, dir, &o, out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	return peers(ctx, dir, &o, out)
}

// reports measures pages and summaries.
func reports(ctx context.Context, dir string, o *options, out io.Writer) error {
	large, many := filepath.Join(dir, "large"), filepath.Join(dir, "many")
	// Three models, five attempts.
	if err := samplerun.Write(large, &samplerun.Options{Scenarios: (o.trials + 14) / 15, Attempts: 5, Seed: 1}); err != nil {
		return err
	}
	if err := samplerun.Write(many, &samplerun.Options{Scenarios: (o.records + 14) / 15, Attempts: 5, Seed: 1, NoDetails: true}); err != nil {
		return err
	}
	page := filepath.Join(dir, "report.html")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tseconds\tCPU s\tMB\tseconds, of reading\tCPU, of reading\tMB, of reading\taims\t\n")
	for _, row := range []struct {
		name, folder, aims string
		args               []string
	}{
		{fmt.Sprintf("page of %d trials", o.trials), large, "under 5 s, 300 MB", []string{"report", large, "--html", page}},
		{fmt.Sprintf("summary of %d records", o.records), many, "under 10 s, 500 MB", []string{"report", many, "--markdown", "-"}},
	} {
		var costs, read []cost
		for range o.rounds {
			r, err := spend(ctx, self, "read", row.folder)
			if err != nil {
				return err
			}
			c, err := spend(ctx, o.rehearse, row.args...)
			if err != nil {
				return err
			}
			read, costs = append(read, r), append(costs, c)
		}
		c, of := median(costs), median(ratios(costs, read))
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.0f\t%.2f\t%.2f\t%.2f\t%s\t\n", row.name, c.seconds, c.cpu, c.mb, of.seconds, of.cpu, of.mb, row.aims)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	info, err := os.Stat(page)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "size of the page: %.1f MB (aim: under 25 MB)\n", float64(info.Size())/1e6)
	return firstView(ctx, page, o, out)
}

// cost is what a process took.
type cost struct{ seconds, cpu, mb float64 }

// spend runs a command to its end. A report exits as its run does.
func spend(ctx context.Context, name string, args ...string) (cost, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 && args[0] == "report" {
		err = nil
	}
	if err != nil {
		return cost{}, fmt.Errorf("%s %v: %w", name, args, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("the system does not tell what a process took")
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return cost{took.Seconds(), cpu.Seconds(), float64(usage.Maxrss) * 1024 / 1e6}, nil
}

// median is that of each figure.
func median(list []cost) cost {
	of := func(figure func(cost) float64) float64 {
		var all []float64
		for _, c := range list {
			all = append(all, figure(c))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return cost{
		of(func(c cost) float64 { return c.seconds }), of(func(c cost) float64 { return c.cpu }), of(func(c cost) float64 { return c.mb }),
	}
}

// ratios are those of each round.
func ratios(list, of []cost) []cost {
	out := make([]cost, len(list))
	for i, c := range list {
		out[i] = cost{c.seconds / of[i].seconds, c.cpu / max(of[i].cpu, 0.001), c.mb / of[i].mb}
	}
	return out
}

// readAll reads the files of a run folder with encoding/json alone: records line
// by line, transcripts one after the other.
func readAll(dir string) error {
	f, err := os.Open(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<16))
	for {
		var r trials.Record
		if err := dec.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	return filepath.WalkDir(filepath.Join(dir, trials.DetailsDir), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var d trials.Detail
		return json.Unmarshal(data, &d)
	})
}
