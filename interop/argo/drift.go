// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/shape"
)

// errDrift is met when a new recording differs in a way that matters.
var errDrift = errors.New("what is recorded now differs from what is shipped")

// drift records an endpoint into a copy of the folder dir, which is thrown
// away, and tells how the answers differ from those in dir.
func drift(ctx context.Context, root, dir string, e *endpoint, logf func(string, ...any)) (err error) {
	temp, err := os.MkdirTemp("", "rehearse-argo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	for _, variant := range variants() {
		if err := os.CopyFS(filepath.Join(temp, variant), os.DirFS(filepath.Join(dir, variant))); err != nil {
			return fmt.Errorf("reading the shipped recordings: %w; `make cassettes` makes them", err)
		}
	}
	there, err := leftovers(temp, nil)
	if err != nil {
		return err
	}
	list, err := record(ctx, root, temp, e, logf)
	if err != nil {
		return err
	}
	left, err := leftovers(temp, list)
	if err != nil {
		return err
	}
	before := map[string]bool{}
	for _, path := range there {
		before[path] = true
	}
	matter, minor, failed := 0, 0, 0
	for _, r := range list {
		if r.problem() != "" {
			failed++
			continue
		}
		if !before[r.path] {
			logf("%s: %s: %s: it is not among the shipped recordings", e.name, r.where(), shape.Breaking)
			matter++
		}
		for _, line := range r.Drift {
			if strings.HasPrefix(line, string(shape.Minor)+":") {
				minor++
			} else {
				matter++
			}
			logf("%s: %s: %s", e.name, r.where(), line)
		}
	}
	for _, path := range left {
		name, _ := filepath.Rel(temp, path) // it lies below
		logf("%s: %s: %s: no scenario makes this recording any more", e.name, name, shape.Breaking)
		matter++
	}
	logf("%s: conversations: %d, failed: %d, differences that matter: %d, minor: %d", e.name, len(list), failed, matter, minor)
	switch {
	case failed > 0:
		return fmt.Errorf("%s: %w", e.name, errFailed)
	case matter > 0:
		return fmt.Errorf("%s: %w", e.name, errDrift)
	}
	return nil
}
