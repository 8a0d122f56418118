// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestShipped loads what is shipped and what the design prints, without an
// error and without a doubt.
func TestShipped(t *testing.T) {
	for _, dir := range []string{"suites", "testdata/spec"} {
		t.Run(dir, func(t *testing.T) {
			set, err := scenarios.Load([]string{dir}, nil)
			if err != nil {
				t.Error(err)
			}
			for _, p := range set.Check() {
				t.Error(p)
			}
			if len(set.Scenarios) == 0 {
				t.Error("no scenario found")
			}
			for _, n := range set.Notes {
				t.Error(n)
			}
		})
	}
}
