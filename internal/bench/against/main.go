// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command against says whether a row of `make bench` is slower than at another
// commit. It builds both versions, plays their measurements in short turns, one
// after the other, and prints the ratio of each figure, new by old: the median
// of the pairs, the least and the most.
//
//	make bench-against BASE=33dd2db
//
// Processor time and memory are compared, and never time on the wall: both
// versions share the machine with whatever else runs there.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "against:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("against", flag.ContinueOnError)
	base := flags.String("base", "", "the commit to compare with")
	pairs := flags.Int("pairs", 5, "turns of each version")
	only := flags.String("only", "", "a regular expression of the measurements to make (default: all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("reading -only: %w", err)
	}
	if *base == "" {
		return fmt.Errorf("-base is missing: name the commit to compare with")
	}
	dir, err := os.MkdirTemp("", "against")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	old := version{tree: filepath.Join(dir, "base"), bin: filepath.Join(dir, "old")}
	now := version{tree: ".", bin: filepath.Join(dir, "new")}
	list, err := choose(measurements(old.tree, filepath.Join(dir, "runs")), chosen)
	if err != nil {
		return err
	}
	if err := old.checkOut(ctx, *base); err != nil {
		return err
	}
	if err := now.build(ctx); err != nil {
		return err
	}
	versions := [2]version{now, old}
	for _, m := range list {
		var t table
		for n := range *pairs * max(m.turns, 1) {
			now, before, err := m.pair(ctx, versions, n)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			t.add(now, before)
		}
		if err := t.print(out); err != nil {
			return err
		}
	}
	return nil
}

// choose leaves the measurements that an expression fits. The error names all.
func choose(all []measurement, chosen *regexp.Regexp) (list []measurement, err error) {
	var names []string
	for _, m := range all {
		names = append(names, m.name)
		if chosen.MatchString(m.name) {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("-only %q fits none of: %s", chosen, strings.Join(names, ", "))
	}
	return list, nil
}

// version is a tree and its programs.
type version struct{ tree, bin string }

// checkOut takes the tree out of the repository, without a worktree that
// somebody would have to remove.
func (v version) checkOut(ctx context.Context, commit string) error {
	if err := os.MkdirAll(v.tree, 0o700); err != nil {
		return err
	}
	archive := v.tree + ".tar"
	if err := command(ctx, "", "git", "archive", "-o", archive, commit); err != nil {
		return err
	}
	if err := command(ctx, "", "tar", "-xf", archive, "-C", v.tree); err != nil {
		return err
	}
	return v.build(ctx)
}

func (v version) build(ctx context.Context) error {
	if err := command(ctx, v.tree, "go", "build", "-o", v.bin+"/", "./cmd/rehearse"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(v.tree, "internal/bench/go.mod")); err != nil {
		return command(ctx, v.tree, "go", "build", "-o", v.bin+"/", "./internal/bench/...")
	}
	return command(ctx, filepath.Join(v.tree, "internal/bench"), "go", "build", "-o", v.bin+"/", "./...")
}

func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}

// table is what both versions had for each figure, pair by pair.
type table struct {
	names []string
	rows  map[string]*row
}

type row struct{ now, before, ratios []float64 }

// add puts down one pair. What only one version has is left out.
func (t *table) add(now, before []figure) {
	old := map[string]float64{}
	for _, f := range before {
		old[f.name] = f.value
	}
	if t.rows == nil {
		t.rows = map[string]*row{}
	}
	for _, f := range now {
		was := old[f.name]
		if was == 0 || f.value == 0 {
			continue
		}
		r := t.rows[f.name]
		if r == nil {
			r = &row{}
			t.rows[f.name], t.names = r, append(t.names, f.name)
		}
		r.now, r.before, r.ratios = append(r.now, f.value), append(r.before, was), append(r.ratios, f.value/was)
	}
}

func (t *table) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "row\told\tnew\tnew by old\tleast\tmost\tpairs\t\n")
	for _, name := range t.names {
		r, mark := t.rows[name], ""
		ratio := median(r.ratios)
		if ratio > 1.1 {
			mark = "more than 10 % slower or larger"
		}
		fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.2f\t%.2f\t%.2f\t%d\t%s\n", name, median(r.before), median(r.now), ratio,
			slices.Min(r.ratios), slices.Max(r.ratios), len(r.ratios), mark)
	}
	return w.Flush()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
