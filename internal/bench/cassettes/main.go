// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command cassettes measures recording and replay: a replay beside that of
// go-vcr/v2 on the same file, loading and saving of a large one beside
// go-vcr's, what it costs a stream to be recorded, and how far the events of
// a replay are from those of the live stream. It prints ratios.
//
//	go -C internal/bench build -o "$PWD/bin/bench/" ./... && bin/bench/cassettes
//
// What is compared is measured in turns, so that a busy machine is busy for
// all; the medians of the rounds and of their ratios count. Each replay, load
// and save is a process of its own, which begins with no memory in use.
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

// bench is what is measured, and how often.
type bench struct {
	rounds int
	count  int // interactions of the largest file that is replayed
	size   int // bytes of the file that is loaded and saved
	events int // of a stream
	gap    time.Duration
	dir    string
}

func run(args []string, stdin io.Reader, stdout io.Writer) (err error) {
	var b bench
	flags := flag.NewFlagSet("cassettes", flag.ContinueOnError)
	flags.IntVar(&b.rounds, "rounds", 7, "measurements of each")
	flags.IntVar(&b.count, "interactions", 10_000, "interactions of the largest file that is replayed")
	flags.IntVar(&b.size, "bytes", 40_000_000, "bytes of the file that is loaded and saved")
	flags.IntVar(&b.events, "events", 300, "events of a stream")
	flags.DurationVar(&b.gap, "gap", 3*time.Millisecond, "time between them")
	spec := flags.String("job", "", "do one measurement (for its own use)")
	endpoint := flags.Bool("serve", false, "be the live endpoint (for its own use)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *spec != "":
		return work(*spec, stdout)
	case *endpoint:
		return serve(stdin, stdout)
	}
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	for _, section := range []func(io.Writer) error{b.replay, b.files, b.overhead, b.times} {
		if err := section(stdout); err != nil {
			return err
		}
	}
	return nil
}
