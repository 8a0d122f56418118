// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func versionCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  rehearse version",
		Args:    atMost(0),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(p.stdout, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("rehearse %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// development is the version of a build from a checkout, which the packages for
// Python and npm have too.
const development = "0.1.0-dev.0"

// version is the module's version, or that of a build from a checkout, with its
// commit where it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return development
	}
	if commit, found := strings.CutPrefix(info.Main.Version, "v0.0.0-"); found { // made up for lack of a tag
		return development + "+" + strings.NewReplacer("+", ".").Replace(commit)
	}
	return info.Main.Version
}
