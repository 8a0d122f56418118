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

	"github.com/rehearse-dev/rehearse/internal/prose"
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
		Short: "Write a scenario, a mock server and a CI workflow to start from",
		Long: `init writes into DIR (default: this folder) a scenario, the mock server that it
uses, the JSON Schema for editors, a CI workflow, and a .gitignore for the folder
of runs. It never overwrites a file; it leaves an existing .gitignore as it is.`,
		Example: "  rehearse init demo\n  rehearse run demo/scenarios",
		Args:    atMost(1),
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
		Long: `schema prints the JSON Schema with which editors complete and check files. init
writes it too; print it again after an update. The first line of a file names it:
# yaml-language-server: $schema=` + schemaFile + ``,
		Example: "  rehearse schema > scenarios/" + schemaFile,
		Args:    atMost(0),
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
			return fmt.Errorf("%s already exists; init never overwrites files", name)
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
		if err := writeNew(name, data); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "wrote %s\n", name)
	}
	if filepath.Clean(dir) != "." {
		fmt.Fprintf(p.stdout, "GitHub runs %s once %s is the root of a repository\n", filepath.FromSlash(workflow), dir)
	}
	fmt.Fprintf(p.stdout, "next: rehearse run %s\n", prose.ShellWord(filepath.Join(dir, "scenarios")))
	return nil
}

// writeNew writes a file where nothing is, not even a link.
func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
