// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/offline"
)

// player plays scenarios.
type player func(ctx context.Context, p *process, paths []string, opts *run.Options, flags *runFlags) error

// withoutNetwork plays where no network is, in this program or in one that it
// starts.
func withoutNetwork(play player) player {
	return func(ctx context.Context, p *process, paths []string, opts *run.Options, flags *runFlags) error {
		return isolated(ctx, p, harness.Mode(flags.mode), func() error { return play(ctx, p, paths, opts, flags) })
	}
}

func isolated(ctx context.Context, p *process, mode harness.Mode, play func() error) error {
	if mode != harness.ModeMock && mode != harness.ModeReplay {
		return fmt.Errorf("--offline: mode %s asks an endpoint, which needs a network; want --mode mock or replay", mode)
	}
	hosts, err := offline.Inside()
	if err != nil {
		return fmt.Errorf("--offline: %w", err)
	}
	if hosts == nil {
		code, err := offline.Again(ctx, p.abort)
		if err != nil {
			return fmt.Errorf("--offline: %w", err)
		}
		return &codeError{code: exitCode(code)}
	}
	defer hosts.Close()
	err = play()
	asked := "no host was asked for by name"
	if list := hosts.Asked(); len(list) > 0 {
		asked = "hosts were asked for, and there are none: " + strings.Join(list, ", ")
	}
	fmt.Fprintln(p.stderr, "rehearse: offline: "+asked)
	return err
}
