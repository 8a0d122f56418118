// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/reports"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// runFlags are the flags of `rehearse run` that are not options of a run.
type runFlags struct {
	mode       string
	only, skip string
	json       bool
	verbose    bool
	stream     *bool // nil: as each scenario says
	files      files
}

func runCommand(p *process) *cobra.Command {
	var flags runFlags
	var stream bool
	opts := run.Options{Subject: agent.Subject(nil), SubjectName: "rehearse-agent", Version: version(), Child: self()}
	cmd := &cobra.Command{
		Use:   "run PATH...",
		Short: "Play scenarios against the agent and write a report",
		Long: `run plays the scenarios in files and folders against rehearse's own agent, judges
each trial, prints the results, and writes a run folder with report.html,
junit.xml, summary.md and trials.jsonl.

--mode says what answers as the model:

  mock     (the default) the replies of the scenario, offline
  live     a real endpoint: --base-url, else ARGO_BASE_URL, else OPENAI_BASE_URL,
           else http://localhost:8000/v1; the model is --model, else
           ARGO_DEFAULT_MODEL; the key is OPENAI_API_KEY, and may be missing
  record   the same, and each conversation is written to a cassette, which is
           committed with the scenario; real servers are taped beside it
  replay   what was recorded, offline; real servers are answered for too

A cassette is one trial with one model: weather.yaml is recorded in
cassettes/weather/<scenario>.<model>.yaml, below the folder of weather.yaml or
below --cassettes. A conversation that breaks off replaces none that is there.
Keys, names of people and folders are taken out of what is written. A replay
without --model plays all models that are recorded. A request that differs from
the recorded one fails the trial, and so does a recorded one that is not sent.

Ctrl-C stops the trials under way and reports those that are finished; a second
Ctrl-C does not wait for servers that take their time to end.`,
		Example: `  rehearse run scenarios
  rehearse run scenarios --run 'weather|sum' --verbose
  rehearse run scenarios --mode live --model argo:gpt-4o --trials 5
  rehearse run scenarios --mode record --model argo:gpt-4o
  rehearse run scenarios --mode replay`,
		Args: minArgs(1, "a scenario file or a folder of them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := checkFlags(cmd,
				rule{"trials", opts.Trials >= 1, "at least 1"},
				rule{"parallel", opts.Parallel >= 1, "at least 1"},
				rule{"timeout", opts.Timeout > 0, "more than 0, such as 30s"},
				rule{"base-url", wholeURL(opts.BaseURL), wantURL},
			)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("stream") {
				flags.stream = &stream
			}
			return runScenarios(cmd.Context(), p, args, &opts, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.mode, "mode", "mock", "what answers as the model: mock, live, record or replay")
	f.StringArrayVar(&opts.Models, "model", nil, "model to ask for; may be given more than once")
	f.StringVar(&opts.BaseURL, "base-url", "", "base URL of the endpoint in modes live and record, ending in /v1")
	f.StringVar(&opts.Cassettes, "cassettes", "", "folder of the recordings (default: the folder cassettes beside each scenario file)")
	f.BoolVar(&stream, "stream", false, "ask for replies as streams, or with --stream=false whole (default: what each scenario says)")
	f.IntVar(&opts.Trials, "trials", 0, "trials of each scenario (default 1; in modes live and record what the scenario says, in replay all that are recorded)")
	f.IntVar(&opts.Parallel, "parallel", 0, "trials at a time (default: number of CPUs; 1 in modes live and record)")
	f.Int64Var(&opts.Seed, "seed", 0, "seed of the run")
	f.DurationVar(&opts.Timeout, "timeout", 0, "time for a trial without a time limit of its own (default 30s; 10m in modes live and record)")
	f.StringVar(&flags.only, "run", "", "play only the scenarios whose name matches this regular expression")
	f.StringVar(&flags.skip, "skip", "", "leave out the scenarios whose name matches this regular expression")
	f.StringVar(&opts.Out, "out", "runs", "folder in which the run folder is made")
	f.StringVar(&opts.Name, "name", "", "name of the run (default: that of the first path)")
	f.StringVar(&flags.files.junit, "junit", "", "write JUnit XML here too; - is standard output, in place of text")
	f.StringVar(&flags.files.html, "html", "", "write the HTML page here too; - as above")
	f.BoolVar(&opts.Unmeasured, "unmeasured", false, "leave out times, durations and the order of arrival, so that two runs compare equal byte by byte")
	f.BoolVar(&flags.json, "json", false, "print one JSON document in place of text")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "print a line to standard error for each trial that ends")
	return cmd
}

func runScenarios(ctx context.Context, p *process, paths []string, opts *run.Options, flags *runFlags) error {
	opts.Mode = harness.Mode(flags.mode)
	switch opts.Mode {
	case harness.ModeMock, harness.ModeReplay:
		if opts.BaseURL != "" {
			return fmt.Errorf("--base-url goes with --mode live or record; in mode %s nothing is sent to an endpoint", opts.Mode)
		}
		if opts.Mode == harness.ModeMock && opts.Cassettes != "" {
			return errors.New("--cassettes goes with --mode record or replay")
		}
	case harness.ModeLive, harness.ModeRecord:
		if err := liveDefaults(p, opts); err != nil {
			return err
		}
	default:
		modes := []string{"mock", "live", "record", "replay"}
		return errors.New(unknown(fmt.Sprintf("--mode %q is not known: want mock, live, record or replay", flags.mode), flags.mode, modes))
	}
	if n := flags.files.onStdout(); n > 1 || n == 1 && flags.json {
		return errTwoOnStdout
	}
	set, err := scenarios.Load(paths, &scenarios.Options{LookupEnv: p.getenv, Offline: opts.Mode == harness.ModeReplay})
	if err != nil {
		warn(p.stderr, set.Check())
		return err
	}
	list, err := selectScenarios(set, paths, flags)
	if err != nil {
		return err
	}
	if opts.Name == "" {
		opts.Name = runName(paths[0])
	}
	warn(p.stderr, (&scenarios.Set{Scenarios: list}).Check())
	progress := newProgress(p, flags)
	opts.Observer = progress
	opts.Abort = p.abort
	opts.LookupEnv = p.getenv
	result, err := run.Run(ctx, list, opts)
	progress.close()
	if err != nil {
		return err
	}
	return showRun(p, result, flags)
}

// liveDefaults takes from the environment what the flags leave open.
func liveDefaults(p *process, opts *run.Options) error {
	env := func(name string) string { v, _ := p.getenv(name); return v }
	for _, name := range []string{"ARGO_BASE_URL", "OPENAI_BASE_URL"} {
		if v := env(name); opts.BaseURL == "" && v != "" {
			if !wholeURL(v) {
				return fmt.Errorf("%s is %q: want %s", name, v, wantURL)
			}
			opts.BaseURL = v
		}
	}
	opts.BaseURL = cmp.Or(opts.BaseURL, "http://localhost:8000/v1")
	opts.APIKey = env("OPENAI_API_KEY")
	if model := env("ARGO_DEFAULT_MODEL"); len(opts.Models) == 0 && model != "" {
		opts.Models = []string{model}
	}
	if len(opts.Models) == 0 || slices.Contains(opts.Models, "") {
		return fmt.Errorf("--mode %s needs a model: --model NAME, or ARGO_DEFAULT_MODEL", opts.Mode)
	}
	return nil
}

// selectScenarios applies --run, --skip and --stream. A pattern that matches nothing is
// a mistake: a typing error must not end as a run that passed.
func selectScenarios(set *scenarios.Set, paths []string, flags *runFlags) ([]*scenarios.Scenario, error) {
	list := set.Scenarios
	if len(list) == 0 {
		return nil, fmt.Errorf("no scenario in %s: no file there begins with the key scenario", strings.Join(paths, " "))
	}
	for _, f := range []struct {
		flag, pattern string
		keep          bool
	}{{"--run", flags.only, true}, {"--skip", flags.skip, false}} {
		if f.pattern == "" {
			continue
		}
		re, err := regexp.Compile(f.pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.flag, err)
		}
		matches := func(s *scenarios.Scenario) bool { return re.MatchString(s.Name) }
		if !slices.ContainsFunc(list, matches) {
			return nil, fmt.Errorf("%s %q matches none of %s", f.flag, f.pattern, count(len(list), "scenario"))
		}
		list = slices.DeleteFunc(slices.Clone(list), func(s *scenarios.Scenario) bool { return matches(s) != f.keep })
	}
	if flags.stream != nil {
		list = slices.Clone(list)
		for i := range list {
			s := *list[i] // scenarios are to be read only
			s.Settings.Stream = *flags.stream
			list[i] = &s
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--skip %q leaves no scenario to play", flags.skip)
	}
	return list, nil
}

// runName is the last part of a path that says something.
func runName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

func showRun(p *process, result *run.Result, flags *runFlags) error {
	loaded, err := reports.Load(result.Dir)
	if err != nil {
		return err
	}
	// What the flags name first: the text ends with the report in the folder.
	if err := writeFiles(p, loaded, flags.files); err != nil {
		return err
	}
	if flags.json {
		if err := printRunJSON(p, result); err != nil {
			return err
		}
	}
	if flags.json || flags.files.onStdout() > 0 {
		quiet := *p
		quiet.stdout = io.Discard
		p = &quiet
	}
	if err := writeReports(p, loaded, defaultFiles(result.Dir)); err != nil {
		return err
	}
	if code := result.ExitCode(); code != 0 {
		return &codeError{code: exitCode(code)}
	}
	return nil
}

func printRunJSON(p *process, result *run.Result) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Dir      string          `json:"dir"`
		Exit     int             `json:"exit"`
		Manifest trials.Manifest `json:"manifest"`
		Trials   []trials.Record `json:"trials"`
	}{result.Dir, result.ExitCode(), result.Manifest, result.Records})
}
