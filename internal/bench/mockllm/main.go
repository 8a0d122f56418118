// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command mockllm measures what a mock model costs beside a bare net/http
// handler that writes the same bytes, a stream event by event, and beside
// aimock, a mock for Node; and prints ratios.
//
//	go -C internal/bench build -o "$PWD/bin/bench/" ./... && bin/bench/mockllm
//
// The servers are child processes of this one. They are measured in turns, in
// short rounds, so that a busy machine is busy for all; the medians of the
// rounds and of their ratios count. Rates depend on the machine, and on the
// load generator which shares its cores; ratios much less.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
	rehearse string // the whole binary; empty leaves it out
	requests int64  // for the journal
	streams  int
	paced    time.Duration
	peers    bool   // are installed
	before   string // this program at another commit; empty leaves it out
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	var b bench
	flags := flag.NewFlagSet("mockllm", flag.ContinueOnError)
	round := flags.Float64("seconds", 0.2, "seconds of each measurement")
	flags.IntVar(&b.rounds, "rounds", 9, "measurements of each server and fixture")
	conns := flags.String("conns", "1,32", "connections, for a table each")
	flags.StringVar(&b.rehearse, "rehearse", "", "the whole binary, to measure its start (default: left out)")
	flags.Int64Var(&b.requests, "requests", 100_000, "requests after which the memory of a journal is measured")
	flags.IntVar(&b.streams, "streams", 1000, "paced streams at the same time")
	pacedFor := flags.Float64("paced", 2, "seconds of each paced stream")
	flags.StringVar(&b.before, "before", "", "this program, built at another commit: its mock takes turns with ours (default: left out)")
	kind := flags.String("serve", "", "be a server (for its own use)")
	fixture := flags.Int("fixture", 0, "the fixture to serve")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kind != "" {
		return serve(*kind, *fixture, stdin, stdout)
	}
	b.round, b.paced = seconds(*round), seconds(*pacedFor)
	if _, err := os.Stat(peerPackage); err == nil {
		_, err = exec.LookPath("node")
		b.peers = err == nil
	}
	if !b.peers {
		fmt.Fprintln(stdout, "There are no rows for aimock: they need `make bench-peers`, which needs Node and npm.")
	}
	for n := range strings.SplitSeq(*conns, ",") {
		n, err := strconv.Atoi(n)
		if err != nil {
			return fmt.Errorf("reading -conns: %w", err)
		}
		if err := b.table(stdout, n); err != nil {
			return err
		}
		fmt.Fprintln(stdout)
	}
	for _, section := range []func(io.Writer) error{b.startups, b.journal, b.pacing} {
		if err := section(stdout); err != nil {
			return err
		}
	}
	return nil
}
