// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command mockmcp measures what a mock MCP server costs beside mcp-go, the
// library beneath it, serving the same tool: in this process over a pipe, as a
// child process over stdio, and over streamable HTTP in both eras; then many
// sessions at once, and the memory that they take; and what agents save that
// share one connection a server. It prints ratios.
//
//	go -C internal/bench build -o "$PWD/bin/bench/" ./... && bin/bench/mockmcp
//
// Both are measured in turns, in short rounds, so that a busy machine is busy
// for both; the medians of the rounds and of their ratios count. Rates depend
// on the machine, and on the load generator which shares its cores; ratios much
// less.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bench is what is measured, and for how long.
type bench struct {
	rounds   int
	round    time.Duration
	sessions int
	calls    int
	// agentsAtOnce is how many agents share servers in the table of pools.
	agentsAtOnce int
	// before is this program at another commit; empty leaves it out.
	before string
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	var b bench
	flags := flag.NewFlagSet("mockmcp", flag.ContinueOnError)
	round := flags.Float64("seconds", 0.2, "seconds of each measurement")
	flags.IntVar(&b.rounds, "rounds", 9, "measurements of each server")
	flags.IntVar(&b.sessions, "sessions", 200, "sessions at the same time")
	flags.IntVar(&b.calls, "calls", 50_000, "calls after which the memory of journal and frames is measured")
	flags.IntVar(&b.agentsAtOnce, "agents", 50, "agents that share servers")
	flags.StringVar(&b.before, "before", "", "this program, built at another commit: its mock takes turns with ours (default: left out)")
	starts := flags.String("starts", "", "with -serve: a file that grows by a byte for each start")
	kind := flags.String("serve", "", "be a server (for its own use)")
	stdio := flags.Bool("stdio", false, "with -serve: over stdio")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.round = time.Duration(*round * float64(time.Second))
	if *starts != "" {
		if err := note(*starts); err != nil {
			return err
		}
	}
	switch {
	case *kind != "" && *stdio:
		return serveStdio(*kind, stdin, stdout)
	case *kind != "":
		return serveHTTP(*kind, stdin, stdout)
	}
	for _, section := range []func(io.Writer) error{b.rates, b.crowd, b.memory, b.pool} {
		if err := section(stdout); err != nil {
			return err
		}
	}
	return nil
}
