// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

//go:embed init
var initFiles embed.FS

// initLayout says where each file of a new project goes.
var initLayout = []struct{ from, to string }{
	{"init/scenario.yaml", "scenarios/weather-in-paris.yaml"},
	{"init/server.yaml", "scenarios/weather.yaml"},
	{"init/ci.yml", ".github/workflows/rehearse.yml"},
}

func initCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write one scenario, one mock server and a CI file to begin from",
		Long: `init writes a scenario, the mock server it uses, and a CI workflow into DIR (this
folder when none is given). It overwrites nothing.`,
		Example: "  rehearse init demo\n  rehearse run demo/scenarios",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return initProject(p, dir)
		},
	}
}

func initProject(p *process, dir string) error {
	for _, file := range initLayout {
		name := filepath.Join(dir, filepath.FromSlash(file.to))
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s is there already; init overwrites nothing", name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, file := range initLayout {
		name := filepath.Join(dir, filepath.FromSlash(file.to))
		data, err := initFiles.ReadFile(file.from)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "wrote %s\n", name)
	}
	fmt.Fprintf(p.stdout, "now try: rehearse run %s\n", filepath.Join(dir, "scenarios"))
	return nil
}
