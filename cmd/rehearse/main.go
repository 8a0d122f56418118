// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command rehearse plays scenarios against a tool-calling agent, with a mock
// model and mock MCP servers on the other side, and judges what happened.
//
//	rehearse init             a folder with one scenario to begin from
//	rehearse check PATH...    find mistakes in scenarios and mocks
//	rehearse run PATH...      play scenarios and write a report
//	rehearse chat             talk with a model that has the tools of MCP servers
//	rehearse doctor           where settings come from, and what can be reached
//	rehearse shard PATH...    the job file of a run on several machines
//	rehearse fuzz PATH...     split streams at different points
//	rehearse report RUN       show a finished run again
//	rehearse score RUN        judge a finished run again, by what is expected now
//	rehearse merge RUN...     one run of the shards of several machines
//	rehearse serve llm FILE   a mock model endpoint by itself
//	rehearse serve mcp FILE   a mock MCP server by itself
//	rehearse serve tools FILE tools in sets that an agent switches
//	rehearse serve agent      an agent that is given goals
//	rehearse capture -- CMD   watch an agent once, and write a scenario of it
//	rehearse proxy            record or replay HTTP traffic
//	rehearse cassette         compare, check and export what was recorded
//	rehearse tape             record, replay or check an MCP server
//	rehearse import           make a cassette of other recordings
//	rehearse mcp list|call    the tools of an MCP server, at the terminal
//	rehearse compare A B      two finished runs, and whether they differ
//	rehearse gate RUN         whether a run is worse than a baseline
//	rehearse plan             how large a suite must be
//	rehearse schema           the JSON Schema of all files, for editors
//	rehearse faults [KIND]    what mock models and MCP servers can do wrong
//	rehearse version          which rehearse this is
//
// Exit codes: 0 all passed; 1 a trial failed, or nothing was checked in the
// whole run; 2 wrong use or a bad file, so that nothing was played; 3 nothing
// failed, but something could not be judged, or a run's results or report could
// not be written. A command that plays nothing exits with 2 where it cannot write
// its result.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/offline"
)

func main() { program(0, 0) }

// program is the whole program. A process of a server is given grace to end by
// itself, and again when it is told to; and discover to answer server/discover
// when it starts. 0 means the default.
func program(grace, discover time.Duration) {
	offline.Enter() // where a run asked for it
	run.Child()     // where a subject started us as a server
	ctx, stop := context.WithCancel(context.Background())
	abort := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that leaves must not keep us from ending the servers
	done := make(chan exitCode, 1)
	hangups, interrupts := newHangups(), newHangups()
	var stay atomic.Bool
	orphans := new(mcpwire.Orphans)
	go func() {
		done <- command(ctx, &process{
			args:      os.Args[1:],
			getenv:    os.LookupEnv,
			stdin:     os.Stdin,
			stdout:    onTerminal(os.Stdout),
			stderr:    onTerminal(os.Stderr),
			abort:     abort,
			grace:     grace,
			discover:  discover,
			hangup:    hangups,
			interrupt: interrupts,
			orphans:   orphans,
			exit:      os.Exit,
			stay:      func() { stay.Store(true) },
		})
	}()
	for running := true; running; {
		select {
		case code := <-done:
			os.Exit(int(code))
		case sig := <-signals:
			running = stay.Load() || sig == syscall.SIGHUP && hangups.pass() || sig == os.Interrupt && interrupts.pass()
		}
	}
	stop()
	for slow, waiting := time.After(patience), true; waiting; {
		select {
		case code := <-done:
			os.Exit(int(code))
		case <-slow:
			// Nobody may read it, and then it must not keep us.
			go fmt.Fprintln(os.Stderr, "rehearse: stopping; interrupt again to end at once")
		case <-signals:
			waiting = false
		}
	}
	close(abort)
	// A third signal changes nothing: whoever presses Ctrl-C quickly wants no
	// server left either.
	select {
	case code := <-done:
		os.Exit(int(code))
	case <-time.After(lastWords):
	}
	orphans.End()
	os.Exit(int(exitKilled))
}

const (
	// patience is how long an interrupt may take before a word about it.
	patience = 300 * time.Millisecond
	// lastWords is the time that a second interrupt leaves: servers are killed
	// at once, and then there is nothing to wait for.
	lastWords = 2 * time.Second
)

// self is this program as the child that subjects start for mock servers with
// transport: process.
func self() []string {
	path, err := os.Executable()
	if err != nil {
		return nil // such scenarios say what is missing
	}
	return []string{path}
}
