// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"fmt"

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
