// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !real_llm

package run_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestNoLiveModeInTests makes sure that `go test ./...` reaches no endpoint.
func TestNoLiveModeInTests(t *testing.T) {
	for _, mode := range []harness.Mode{harness.ModeLive, harness.ModeRecord} {
		opts := &run.Options{Subject: loop{}, Mode: mode, BaseURL: "http://127.0.0.1:1/v1", Entries: run.Models("m")}
		if _, err := run.Run(t.Context(), nil, opts); err == nil || !strings.Contains(err.Error(), "needs the build tag real_llm") {
			t.Errorf("mode %s: error %v, want one that names the build tag", mode, err)
		}
	}
}
