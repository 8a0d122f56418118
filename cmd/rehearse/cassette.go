// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
)

func cassetteCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cassette diff|drift|export|scan|timeline",
		Short: "Look at recorded traffic: compare it, hold it against an endpoint, export it",
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
	return &cobra.Command{
		Use:   "export FILE OUT",
		Short: "Write recorded traffic as HAR (OUT ends in .har) or as a go-vcr/v2 cassette (.yaml)",
		Long: `export reads what any of the known recorders wrote (go-vcr of all versions,
vcrpy, HAR, a folder of Argo captures) and writes it as HAR 1.2 or as go-vcr/v2
reads it. Secrets are taken out on the way.`,
		Example: "  rehearse cassette export weather.yaml weather.har\n  rehearse cassette export traffic.har traffic.yaml",
		Args:    exactArgs(2, "a file to read and one to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			return convert(p, args[0], args[1], false, false)
		},
	}
}

// convert reads recorded traffic and writes it in another format, without
// secrets. An import makes a new file, of something.
func convert(p *process, from, to string, fresh, some bool) error {
	if _, err := os.Lstat(to); fresh && err == nil {
		return fmt.Errorf("%q is there already; --force overwrites it", to)
	}
	f, err := vcr.Read(from)
	if err != nil {
		return err
	}
	if some && len(f.Interactions) == 0 {
		return fmt.Errorf("%q is not written: %q holds no exchange", to, from)
	}
	secrets, err := redact.New(nil)
	if err != nil {
		return err
	}
	clean := &vcr.File{Path: to}
	for _, i := range f.Interactions {
		clean.Interactions = append(clean.Interactions, secrets.Interaction(i))
	}
	if found := secrets.Scan(clean.Encode()); len(found) > 0 {
		return fmt.Errorf("%q is not written: what was read from %q still holds what looks like a secret: %s", to, from, found[0])
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
	default:
		return fmt.Errorf("%q: want a name that ends in .har or .yaml", to)
	}
	fmt.Fprintf(p.stdout, "%s of %s written to %s\n", count(len(clean.Interactions), "interaction"), f.Format, to)
	return nil
}

func cassetteScanCommand(p *process) *cobra.Command {
	return &cobra.Command{
		Use:     "scan FILE...",
		Short:   "Look for secrets in files that exist",
		Long:    "scan looks for keys, tokens and the like in files of any kind. The exit code is 1 if there are any.",
		Example: "  rehearse cassette scan testdata/*.yaml",
		Args:    minArgs(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			secrets, err := redact.New(nil)
			if err != nil {
				return err
			}
			found := 0
			var errs []error
			for _, path := range args {
				data, err := os.ReadFile(path)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				for _, f := range secrets.Scan(data) {
					fmt.Fprintf(p.stdout, "%s:%d: %s: %s\n", path, f.Line, f.Rule, f.Excerpt)
					found++
				}
			}
			if len(errs) > 0 {
				return errors.Join(errs...)
			}
			if found > 0 {
				return &codeError{exitFailed, fmt.Errorf("%s that look like secrets", count(found, "place"))}
			}
			return nil
		},
	}
}
