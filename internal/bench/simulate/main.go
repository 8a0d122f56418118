// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command simulate plays suites whose truth is known and prints how often the
// intervals of internal/stats hold it, how often equal models are called
// different, and how often a true difference is found. It exits 1 when one of
// these is out of bounds.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
)

func main() {
	suites := flag.Int("suites", 4000, "suites a row")
	seed := flag.Uint64("seed", 1, "what is drawn")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "rows played at a time")
	flag.Parse()
	if flag.NArg() > 0 || *suites < 1 || *workers < 1 {
		flag.Usage()
		os.Exit(2)
	}
	rows, err := simulateAll(settings(), *suites, *seed, *workers)
	if err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v\n", err)
		os.Exit(2)
	}
	bad, err := print(os.Stdout, rows, *suites, *seed)
	if err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v\n", err)
		os.Exit(2)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// print writes the table and what is out of bounds, and returns how much that
// is.
func print(w io.Writer, rows []row, suites int, seed uint64) (bad int, err error) {
	fmt.Fprintf(w, "%d suites a row, seed %d; N scenarios with K attempts; all numbers are %%, at level 95 %%\n", suites, seed)
	fmt.Fprintln(w, "cover: intervals that hold the true value; different: pairs called so, which is the power where they are; pooled: the same without regard to scenarios")
	fmt.Fprintln(w, "models that are equal on average alone do differ in this fixed suite")
	fmt.Fprintf(w, "bounds: cover %.0f to %.0f, equal models called different at most %.0f; %.1f more or less is the simulation's own error\n\n",
		100*leastCover, 100*mostCover, 100*mostAlarms, 100*slack(leastCover, suites))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\t\t\tscenarios in general\t\t\t\t\tthis fixed suite\t\t\t\t")
	fmt.Fprintln(t, "models\tN\tK\tcover: rate\tdifference\tbootstrap\tdifferent\tpooled\tcover: rate\tdifference\tdifferent\tin bounds\t")
	for _, r := range rows {
		verdict := map[held]string{toAll: "yes", toRate: "rates and alarms", toNone: "not held to any"}[r.held]
		if n := len(r.wrong()); n > 0 {
			verdict = "NO"
			bad += n
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.name, r.n, r.k,
			r.general.rate, r.general.difference, r.boot, r.general.different, r.pooled,
			r.fixed.rate, r.fixed.difference, r.fixed.different, verdict)
	}
	if err := t.Flush(); err != nil {
		return bad, err
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		for _, line := range r.wrong() {
			fmt.Fprintln(w, "out of bounds:", line)
		}
	}
	if bad == 0 {
		_, err = fmt.Fprintln(w, "all in bounds")
	}
	return bad, err
}
