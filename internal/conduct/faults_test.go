// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// TestFaultNames checks that the names by which journals are judged are those
// that mock servers write.
func TestFaultNames(t *testing.T) {
	for _, name := range slices.Concat(spoilers[:], silencers[:], []string{faultSession404, faultHTTPStatus}) {
		if _, ok := fault.Describe(fault.Kind(name)); !ok {
			t.Errorf("no mock server has a fault %q", name)
		}
	}
}
