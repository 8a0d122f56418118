// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func fuzzCommand(p *process) *cobra.Command {
	var flags runFlags
	opts := run.FuzzOptions{Options: run.Options{Subject: agent.Subject(nil), SubjectName: "rehearse-agent", Version: version(), Child: self()}}
	cmd := &cobra.Command{
		Use:   "fuzz PATH...",
		Short: "Stream replies in ever other pieces until the agent breaks",
		Long: `fuzz plays scenarios in mock mode with replies that are streamed in ever other
pieces: cut at any byte, character or token, parallel calls in turns, ids and
names repeated or null, network writes that know nothing of events. An agent is
to do the same as without. What breaks it is made small, and printed as the
fragments that bring it back in a scenario.

The exit code is 1 when an agent broke, and 3 when a scenario does not pass when
streamed as usual.`,
		Example: `  rehearse fuzz scenarios
  rehearse fuzz scenarios/weather.yaml --tries 1000 --seed 7
  rehearse fuzz scenarios --wild`,
		Args: minArgs(1, "a scenario file or a folder of them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := checkFlags(cmd,
				rule{"tries", opts.Tries >= 1, "at least 1"},
				rule{"timeout", opts.Timeout > 0, "more than 0, such as 5s"},
			)
			if err != nil {
				return err
			}
			return fuzz(cmd.Context(), p, args, &opts, &flags)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opts.Tries, "tries", 0, "ways to cut that are tried on each scenario (default 100)")
	f.BoolVar(&opts.Wild, "wild", false, "also what is against the rules and was seen: indexes missing or wrong, late ids, split names, arguments that repeat themselves")
	f.Int64Var(&opts.Seed, "seed", 0, "seed of the ways to cut")
	f.DurationVar(&opts.Timeout, "timeout", 0, "time for a trial without a time limit of its own (default 5s)")
	f.StringVar(&flags.only, "run", "", "play only the scenarios whose name matches this regular expression")
	f.StringVar(&flags.skip, "skip", "", "leave out the scenarios whose name matches this regular expression")
	return cmd
}

func fuzz(ctx context.Context, p *process, paths []string, opts *run.FuzzOptions, flags *runFlags) error {
	set, err := scenarios.Load(paths, &scenarios.Options{LookupEnv: p.getenv})
	if err != nil {
		return err
	}
	list, err := selectScenarios(set, paths, flags)
	if err != nil {
		return err
	}
	progress := newProgress(p, flags)
	opts.Observer = progress
	res, err := run.Fuzz(ctx, list, opts)
	progress.close()
	if err != nil {
		return err
	}
	for _, f := range res.Findings {
		fmt.Fprintf(p.stdout, "%s: %s: broken by\n  fragments: %s\n  %s\n  (try %d, made small in %s)\n",
			f.Pos, f.Scenario, fragmentsYAML(f.Fragments), strings.ReplaceAll(f.Broken, "\n", "\n  "), f.Try, count(f.Trials, "trial"))
	}
	for _, rec := range res.Unjudged {
		fmt.Fprintf(p.stdout, "%s: %s does not pass when streamed as usual: %s\n", rec.Pos, rec.Scenario, rec.Cause.Message)
	}
	fmt.Fprintf(p.stdout, "%s, %s: %d broken, %d could not be judged\n",
		count(len(list), "scenario"), count(res.Tried, "trial"), len(res.Findings), len(res.Unjudged))
	if code := res.ExitCode(); code != 0 {
		return &codeError{code: exitCode(code)}
	}
	return nil
}

// fragmentsYAML writes fragments as a scenario has them, on one line: JSON
// with spaces is that.
func fragmentsYAML(f wire.Fragments) string {
	f.Seed = 0
	raw, _ := json.Marshal(f) // words and numbers always marshal
	return strings.NewReplacer(`"`, "", ",", ", ", ":", ": ").Replace(string(raw))
}
