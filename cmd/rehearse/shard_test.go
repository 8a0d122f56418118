// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestHowToResume: the command to go on with is one that rehearse takes.
func TestHowToResume(t *testing.T) {
	for _, tt := range []struct {
		name, args, want string
		shard            trials.Shard
	}{
		{"as it was", "run s --trials 3", "rehearse run s --trials 3 --resume runs/x", trials.Shard{}},
		{"what is given anew", "run s --budget 5usd --retry-errors --resume old --shard=1/2", "rehearse run s --shard 1/2 --resume runs/x", trials.Shard{Index: 1, Count: 2}},
		{"watched", "run s --watch --verbose --watch=true", "rehearse run s --verbose --resume runs/x", trials.Shard{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := howToResume(strings.Fields(tt.args), "runs/x", tt.shard); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
