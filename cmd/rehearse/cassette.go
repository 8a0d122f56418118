// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func cassetteCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cassette diff|drift|export|scan|timeline",
		Short: "Compare, check and export recorded traffic",
		Example: `  rehearse cassette diff old.yaml new.yaml
  rehearse cassette drift weather.yaml --upstream http://localhost:8000
  rehearse cassette export weather.yaml weather.har
  rehearse cassette timeline weather.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(cassetteDiffCommand(p), cassetteDriftCommand(p), cassetteExportCommand(p), cassetteScanCommand(p), cassetteTimelineCommand(p))
	return cmd
}

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s needs %s, got %d arguments\nfor example:\n%s", cmd.CommandPath(), what, len(args), cmd.Example)
		}
		return nil
	}
}

func cassetteExportCommand(p *process) *cobra.Command {
	var keep []string
	cmd := &cobra.Command{
		Use:   "export FILE OUT",
		Short: "Write recorded traffic as HAR (OUT ends in .har) or as a go-vcr/v2 cassette (.yaml)",
		Long: `export reads recorded traffic of any kind that rehearse knows (go-vcr of all
versions, vcrpy, HAR, a folder of Argo captures) and writes it as HAR 1.2 or as a
go-vcr/v2 cassette. It removes secrets on the way.`,
		Example: "  rehearse cassette export weather.yaml weather.har\n  rehearse cassette export traffic.har traffic.yaml",
		Args:    exactArgs(2, "a file to read and a file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			return convert(p, args[0], args[1], conversion{keep: keep})
		},
	}
	addKeep(cmd.Flags(), &keep)
	return cmd
}

// conversion says how recorded traffic is written in another format.
type conversion struct {
	fresh bool     // the file must not be there
	some  bool     // there must be something to write
	keep  []string // of --keep
}

// convert reads recorded traffic and writes it in another format, without
// secrets.
func convert(p *process, from, to string, c conversion) error {
	if _, err := os.Lstat(to); c.fresh && err == nil {
		return fmt.Errorf("%q already exists; --force overwrites it", to)
	}
	if ext := filepath.Ext(to); ext != ".har" && ext != ".yaml" && ext != ".yml" {
		return fmt.Errorf("%q: want a name that ends in .har or .yaml", to)
	}
	f, err := vcr.Read(from)
	if err != nil {
		return err
	}
	if c.some && len(f.Interactions) == 0 {
		return fmt.Errorf("%q is not written: %q contains no exchange", to, from)
	}
	var unread []error
	for _, i := range f.Interactions {
		if err := i.Readable(); err != nil {
			unread = append(unread, &filepos.Error{Pos: harness.Position{File: from, Line: i.Line}, Err: err})
		}
	}
	if len(unread) > 0 {
		return errors.Join(unread...)
	}
	rules, err := secretRules(c.keep)
	if err != nil {
		return err
	}
	secrets, err := redact.New(rules)
	if err != nil {
		return err
	}
	clean := &vcr.File{Path: to}
	for _, i := range f.Interactions {
		clean.Interactions = append(clean.Interactions, secrets.Interaction(i))
	}
	refused, doubts, err := cassettes.Judge(clean, secrets)
	if err != nil {
		return fmt.Errorf("%w; the exchanges read from %q are in %q", err, from, refused)
	}
	if doubts != "" {
		p.logf("%q: %s", to, doubts)
	}
	switch {
	case strings.HasSuffix(to, ".har"):
		data, err := clean.EncodeHAR()
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			return err
		}
	case strings.HasSuffix(to, ".yaml"), strings.HasSuffix(to, ".yml"):
		if err := vcr.WriteFile(to, clean, 0); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.stdout, "%s of %s written to %s\n", prose.Count(len(clean.Interactions), "interaction"), f.Format, to)
	return nil
}

func cassetteScanCommand(p *process) *cobra.Command {
	var keep []string
	cmd := &cobra.Command{
		Use:   "scan FILE...",
		Short: "Look for secrets in files",
		Long: `scan looks for keys, tokens and other secrets in files of any kind. The exit code
is 1 if it finds any. Random-looking text that no rule knows is reported as a
guess and does not count.`,
		Example: "  rehearse cassette scan testdata/*.yaml",
		Args:    minArgs(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			rules, err := secretRules(keep)
			if err != nil {
				return err
			}
			return scanFiles(p, args, rules)
		},
	}
	addKeep(cmd.Flags(), &keep)
	return cmd
}

func scanFiles(p *process, paths []string, rules *redact.Rules) error {
	secrets, err := redact.New(rules)
	if err != nil {
		return err
	}
	found := 0
	var errs []error
	for _, path := range paths {
		data, err := plainfile.Read(path, plainfile.MaxRecording)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, f := range secrets.Scan(data) {
			if f.Guess {
				fmt.Fprintf(p.stdout, "%s:%d: a guess: %s: %s\n", path, f.Line, f.Rule, f.Excerpt)
				continue
			}
			fmt.Fprintf(p.stdout, "%s:%d: %s: %s\n", path, f.Line, f.Rule, f.Excerpt)
			found++
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if found > 0 {
		return &codeError{exitFailed, fmt.Errorf("%s that look like secrets", prose.Count(found, "place"))}
	}
	return nil
}
