// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// TestPackagesHaveTheVersion: the program in a wheel says the version of the wheel.
func TestPackagesHaveTheVersion(t *testing.T) {
	release, number, _ := strings.Cut(development, "-dev.")
	for path, want := range map[string]string{
		"../../packages/python/pyproject.toml": `version = "` + release + ".dev" + number + `"`, // as PEP 440 writes it
		"../../packages/npm/package.json":      `"version": "` + development + `"`,
	} {
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s has no %s, %v", path, want, err)
		}
	}
}
