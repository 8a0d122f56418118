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
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func fuzzCommand(p *process) *cobra.Command {
	var flags runFlags
	opts := run.FuzzOptions{Options: run.Options{Subject: agent.Subject(nil), SubjectName: "rehearse-agent", FromScenarios: true, Version: version(), Child: self()}}
	cmd := &cobra.Command{
		Use:   "fuzz PATH...",
		Short: "Split streams at different points until the agent breaks",
		Long: `fuzz plays scenarios in mock mode with streams that are split at different points
each time: at any byte, character or token, with parallel calls interleaved, ids
and names repeated or null, and network writes that ignore event boundaries. The
agent must behave as if nothing had been split. fuzz minimises a split that breaks
the agent, and prints it as the fragments that reproduce it in a scenario.

The agent is the one that --subject, the scenario, its suite or rehearse.yaml names,
else rehearse's own. It is told to stream by its settings (REHEARSE_SETTINGS); one
that asks for whole replies all the same gives nothing to split.

The exit code is 1 when an agent broke, and 3 when a scenario does not pass when
streamed normally or its agent does not stream.`,
		Example: `  rehearse fuzz scenarios
  rehearse fuzz scenarios --subject 'python3 agent.py {prompt}'
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
	f.IntVar(&opts.Tries, "tries", 0, "number of splits to try on each scenario (default 100)")
	f.BoolVar(&opts.Wild, "wild", false, "also try malformed streams that were seen: indexes missing or wrong, late ids, split names, repeated arguments")
	f.Int64Var(&opts.Seed, "seed", 0, "seed of the splits")
	f.DurationVar(&opts.Timeout, "timeout", 0, "time limit of a trial that has none of its own (default 5s)")
	subjectFlag(f, &flags)
	f.StringVar(&flags.only, "run", "", "play only the scenarios whose name matches this regular expression")
	f.StringVar(&flags.skip, "skip", "", "leave out the scenarios whose name matches this regular expression")
	return cmd
}

func fuzz(ctx context.Context, p *process, paths []string, opts *run.FuzzOptions, flags *runFlags) error {
	var err error
	if opts.Subjects, err = subjectsOf(paths, flags); err != nil {
		return err
	}
	set, err := scenarios.Load(paths, &scenarios.Options{LookupEnv: p.getenv, Settings: heeded(opts.Subjects)})
	if err != nil {
		return err
	}
	list, err := selectScenarios(set, paths, flags)
	if err != nil {
		return err
	}
	progress := newProgress(p, flags)
	opts.Observer = progress
	opts.Abort = p.abort
	defer p.adopt()()
	res, err := run.Fuzz(ctx, list, opts)
	progress.close()
	if err != nil {
		return err
	}
	for _, f := range res.Findings {
		fmt.Fprintf(p.stdout, "%s: %s%s: broken by\n  fragments: %s\n  %s\n  (try %d, minimised in %s)\n",
			f.Pos, f.Scenario, ofSubject(f.Subject, opts), fragmentsYAML(f.Fragments), strings.ReplaceAll(f.Broken, "\n", "\n  "), f.Try, prose.Count(f.Trials, "trial"))
	}
	for _, rec := range res.Unjudged {
		fmt.Fprintf(p.stdout, "%s: %s%s does not pass when streamed normally: %s\n", rec.Pos, rec.Name(), ofSubject(rec.Subject, opts), rec.Cause.Text())
	}
	for _, rec := range res.Whole {
		fmt.Fprintf(p.stdout, "%s: %s%s has nothing to split: the subject asks for no streamed reply\n", rec.Pos, rec.Name(), ofSubject(rec.Subject, opts))
	}
	fmt.Fprintf(p.stdout, "%s, %s: %d broken, %d could not be judged\n",
		prose.Count(len(list), "scenario"), prose.Count(res.Tried, "trial"), len(res.Findings), len(res.Unjudged)+len(res.Whole))
	return exitWith(res.ExitCode())
}

// ofSubject names the subject in a message, unless it is rehearse's own agent.
func ofSubject(name string, opts *run.FuzzOptions) string {
	if name == opts.SubjectName {
		return ""
	}
	return fmt.Sprintf(" (%s)", name)
}

// fragmentsYAML writes fragments as a scenario has them, on one line: JSON
// with spaces is that.
func fragmentsYAML(f dialect.Fragments) string {
	f.Seed = 0
	raw, _ := json.Marshal(f) // words and numbers always marshal
	return strings.NewReplacer(`"`, "", ",", ", ", ":", ": ").Replace(string(raw))
}
