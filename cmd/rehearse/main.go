// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command rehearse plays scenarios against a tool-calling agent, with a mock
// model and mock MCP servers on the other side, and judges what happened.
//
//	rehearse init             a folder with one scenario to begin from
//	rehearse check PATH...    find mistakes in scenarios and mocks
//	rehearse run PATH...      play scenarios and write a report
//	rehearse fuzz PATH...     stream replies in ever other pieces
//	rehearse report RUN       show a finished run again
//	rehearse serve llm FILE   a mock model endpoint by itself
//	rehearse serve mcp FILE   a mock MCP server by itself
//	rehearse faults [KIND]    what a mock model can do wrong
//
// Exit codes: 0 all passed, 1 a trial failed, 2 wrong use or a bad file, 3
// nothing failed but something could not be judged.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, &process{
		args:   os.Args[1:],
		getenv: os.LookupEnv,
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
	})
	stop()
	os.Exit(int(code))
}
