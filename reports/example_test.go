// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports_test

import (
	"fmt"
	"os"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/reports"
)

func ExampleText() {
	run := &reports.Run{
		Manifest: trials.Manifest{Name: "weather", Mode: harness.ModeMock},
		Trials: []reports.Trial{{Record: trials.Record{
			Key:      trials.Key{Scenario: "Paris", Model: "gpt-4o", Mode: harness.ModeMock, Attempt: 1},
			Outcome:  harness.OutcomeFailed,
			Duration: 12 * time.Millisecond,
			Cause: &trials.Cause{
				Kind:    trials.CauseExpectation,
				Message: "calls: 1 mismatched", Check: "calls",
				Pos: harness.Position{File: "weather.yaml", Line: 9, Col: 7},
			},
			Verdicts: []trials.Verdict{{
				Check: "calls", Message: "1 mismatched", State: trials.Failed, Alignment: &trials.Alignment{Rows: []trials.AlignmentRow{{
					Status:     trials.AlignMismatched,
					Expected:   `weather.get {"city":"Paris"}`,
					Actual:     `weather.get {"city":"London"}`,
					Mismatches: []trials.Mismatch{{Path: "args.city", Rule: "equal", Want: `"Paris"`, Got: `"London"`}},
				}}},
			}},
		}}},
	}
	if err := reports.Text(os.Stdout, run, nil); err != nil {
		fmt.Println(err)
	}
	// Output:
	// weather: 1 scenario, 1 model, mock mode
	//
	// FAIL  Paris  12 ms
	//       weather.yaml:9:7: calls:
	//         ~ mismatched    weather.get {"city":"London"}
	//                         args.city  want "Paris", got "London"
	//
	// 0 passed, 1 failed of 1 trial
}

func ExampleLoad() {
	// A folder with a manifest alone: the run ended before its first trial.
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := trials.WriteManifest(dir, trials.Manifest{Name: "weather", Planned: 2}); err != nil {
		fmt.Println(err)
		return
	}
	run, err := reports.Load(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Manifest.Name, len(run.Trials), "of", run.Manifest.Planned)
	// Output: weather 0 of 2
}
