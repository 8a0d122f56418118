// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/scenarios"
)

func ExampleLoad() {
	set, err := scenarios.Load([]string{"testdata/spec"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range set.Scenarios {
		fmt.Println(s.Pos, s.Name)
		for _, turn := range s.Turns {
			fmt.Printf("  %s (%d expectations)\n", turn.User, len(turn.Expect))
		}
	}
	// Output:
	// testdata/spec/build-and-gapfill.yaml:1:1 build and gapfill
	//   Build a model for E. coli genome 83333.1 (3 expectations)
	//   Now gapfill it on minimal media (2 expectations)
}

func ExampleSet_Check() {
	set, err := scenarios.Load([]string{"testdata/doubtful.yaml"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, doubt := range set.Check() {
		fmt.Println(doubt)
	}
	// Output:
	// testdata/doubtful.yaml:11:34: arguments of shop.find.id: the schema wants string, this is the number 83333.1: quote it
	// testdata/doubtful.yaml:14:9: holds for a conversation without any tool call: add a condition such as trajectory.size() > 0
}
