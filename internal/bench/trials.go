// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// trialRate plays the shipped suites over and over in this process and returns
// trials per second, the median of rounds of n trials.
func trialRate(ctx context.Context, suites string, rounds, repeats int) (perSecond float64, n int, err error) {
	set, err := scenarios.Load([]string{suites}, nil)
	if err != nil {
		return 0, 0, err
	}
	// Those of the wire start processes and wait for timeouts.
	set.Scenarios = slices.DeleteFunc(set.Scenarios, func(s *scenarios.Scenario) bool { return slices.Contains(s.Tags, "mcp") })
	var rates []float64
	for range rounds {
		rate, played, err := playSuites(ctx, set, repeats)
		if err != nil {
			return 0, 0, err
		}
		rates, n = append(rates, rate), played
	}
	slices.Sort(rates)
	return rates[len(rates)/2], n, nil
}

// playSuites is one round.
func playSuites(ctx context.Context, set *scenarios.Set, repeats int) (perSecond float64, n int, err error) {
	start := time.Now()
	result, err := run.Run(ctx, set.Scenarios, &run.Options{Subject: agent.Subject(nil), Trials: repeats})
	if err != nil {
		return 0, 0, err
	}
	took := time.Since(start)
	for _, r := range result.Records {
		if r.Outcome != harness.OutcomePassed {
			return 0, 0, fmt.Errorf("%s: %s: %s", r.Key, r.Outcome, r.Cause.Message)
		}
	}
	return float64(len(result.Records)) / took.Seconds(), len(result.Records), nil
}
