// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// trialRate plays the shipped suites over and over in this process and returns
// trials per second.
func trialRate(ctx context.Context, suites string, repeats int) (perSecond float64, n int, err error) {
	set, err := scenarios.Load([]string{suites}, nil)
	if err != nil {
		return 0, 0, err
	}
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
