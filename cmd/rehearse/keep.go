// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/redact"
)

// addKeep adds --keep.
func addKeep(f *pflag.FlagSet, keep *[]string) {
	f.StringArrayVar(keep, "keep", nil, "JSON name or path whose values are not redacted, such as thought_signature or '**.embedding'; may be repeated (in rehearse.yaml: redact.keep)")
}

// secretRules are those of rehearse.yaml, in the working directory or above,
// and of --keep.
func secretRules(keep []string) (*redact.Rules, error) {
	p, err := project.Find("")
	if err != nil {
		return nil, err
	}
	return &redact.Rules{Keep: slices.Concat(p.Redact.Keep, keep)}, nil
}

// clientName is what a recording says of the command that it is of; empty
// without one.
func clientName(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return filepath.Base(command[0])
}
