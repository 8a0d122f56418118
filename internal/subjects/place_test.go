// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
)

// TestVariables: the list of the reference is what a command finds.
func TestVariables(t *testing.T) {
	t.Setenv("LANG", "C")
	var got []string
	for _, pair := range new(Definition).environ(new(harness.Env), &place{values: map[string]string{}}, "tmp") {
		if name, _, _ := strings.Cut(pair, "="); !slices.Contains(systemNames()[2:], name) { // those of Windows
			got = append(got, name)
		}
	}
	want := Variables()
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
