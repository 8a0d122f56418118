// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func ExampleRun() {
	set, err := scenarios.Load([]string{"testdata/two"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, subject := range []loop{{honest}, {reorders}} {
		res, err := run.Run(context.Background(), set.Scenarios, &run.Options{Subject: subject})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, trial := range res.Records {
			fmt.Println(trial.Scenario, trial.Outcome)
			if trial.Cause != nil {
				fmt.Println("because of", trial.Cause.Kind)
			}
		}
		fmt.Println("exit code", res.ExitCode())
	}
	// Output:
	// two places passed
	// exit code 0
	// two places failed
	// because of conduct
	// exit code 1
}

// What `rehearse run testdata/recorded --mode record --model argo:gpt-4.1` has
// written beside the scenarios is replayed without a network. In a Go test:
//
//	run.Test(t, "testdata/recorded", &run.Options{Subject: subject, Mode: harness.ModeReplay})
func ExampleRun_replay() {
	set, err := scenarios.Load([]string{"testdata/recorded"}, &scenarios.Options{Offline: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := run.Run(context.Background(), set.Scenarios, &run.Options{Subject: agent.Subject(nil), Mode: harness.ModeReplay})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, trial := range res.Records {
		fmt.Println(trial.Scenario, "with", trial.Model, trial.Outcome)
		fmt.Println(trial.Cassette)
		fmt.Println(trial.Answers[0])
	}
	// Output:
	// Paris with argo:gpt-4.1 passed
	// testdata/recorded/cassettes/paris/paris.argo-gpt-4.1.yaml
	// 21 degrees.
}
