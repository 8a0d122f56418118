// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/scenarios"
)

//go:embed init
var initFiles embed.FS

// initLayout says where each file of a new project goes.
var initLayout = []struct{ from, to string }{
	{"init/scenario.yaml", "scenarios/weather-in-paris.yaml"},
	{"init/server.yaml", "scenarios/weather.yaml"},
	{"init/ci.yml", workflow},
	{"init/gitignore", ".gitignore"},
	{schemaFile, "scenarios/" + schemaFile},
}

const (
	// workflow is where GitHub looks for it, in the root of a repository.
	workflow = ".github/workflows/rehearse.yml"
	// schemaFile is named by the first line of every file that init writes.
	schemaFile = "rehearse.schema.json"
)

func initCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write one scenario, one mock server and a CI file to begin from",
		Long: `init writes into DIR (this folder when none is given): a scenario, the mock server
it uses, the JSON Schema that editors check them by, a CI workflow, and a
.gitignore for the folder of runs. It overwrites nothing; a .gitignore that is
there is left as it is.`,
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

func schemaCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario, server, llm and suite files",
		Long: `schema prints the JSON Schema that editors complete and check files by. init writes
it too; print it anew after an update. The first line of a file names it:
# yaml-language-server: $schema=` + schemaFile + ``,
		Example: "  rehearse schema > scenarios/" + schemaFile,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.stdout.Write(scenarios.JSONSchema())
			return err
		},
	}
}

func initProject(p *process, dir string) error {
	layout := slices.Clone(initLayout)
	for i, file := range slices.Backward(layout) {
		name := filepath.Join(dir, filepath.FromSlash(file.to))
		if _, err := os.Lstat(name); err == nil {
			if file.to == ".gitignore" {
				layout = slices.Delete(layout, i, i+1)
				continue
			}
			return fmt.Errorf("%s is there already; init overwrites nothing", name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, file := range layout {
		name := filepath.Join(dir, filepath.FromSlash(file.to))
		data := scenarios.JSONSchema()
		if file.from != schemaFile {
			var err error
			if data, err = initFiles.ReadFile(file.from); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "wrote %s\n", name)
	}
	if filepath.Clean(dir) != "." {
		fmt.Fprintf(p.stdout, "GitHub runs %s once %s is the root of a repository\n", filepath.FromSlash(workflow), dir)
	}
	fmt.Fprintf(p.stdout, "now try: rehearse run %s\n", filepath.Join(dir, "scenarios"))
	return nil
}
