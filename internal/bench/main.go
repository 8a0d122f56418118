// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command bench prints what the mocks and the agent's loop cost. Machines are
// noisy, so every figure that is compared is a ratio of two things measured in
// the same run, taking turns.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	rounds := flags.Int("rounds", 301, "measurements of each side of a loop")
	only := flags.String("only", "", "measure the loops of this provider alone, and no trials (default: all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	list := providers()
	if *only == "" {
		if err := trials(ctx); err != nil {
			return err
		}
	} else if list = slices.DeleteFunc(list, func(p provider) bool { return p.name != *only }); len(list) == 0 {
		return fmt.Errorf("-only: there is no provider %q", *only)
	}
	for _, p := range list {
		for _, stream := range []bool{false, true} {
			ratio, err := overhead(ctx, p, stream, *rounds, 25)
			if err != nil {
				return fmt.Errorf("measuring the agent's loop: %w", err)
			}
			mode := "plain"
			if stream {
				mode = "streamed"
			}
			fmt.Printf("%-35s %8.2f times the time of a conversation, %s (aim: 1.10 or less)\n", "agent loop / "+p.name, ratio, mode)
		}
	}
	return nil
}

// trials prints how many scenarios are played in a second.
func trials(ctx context.Context) error {
	const rounds = 9
	rate, n, err := trialRate(ctx, "scenarios/suites", rounds, 10)
	if err != nil {
		return fmt.Errorf("playing the shipped suites: %w", err)
	}
	fmt.Printf("scenario trials in one process      %8.0f per second (median of %d rounds of %d trials of the shipped suites)\n", rate, rounds, n)
	return nil
}
