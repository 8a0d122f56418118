// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/subjects"
	"github.com/rehearse-dev/rehearse/reports"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// runFlags are the flags of `rehearse run` that are not options of a run.
type runFlags struct {
	mode       string
	only, skip string
	tags       []string
	json       bool
	verbose    bool
	stream     *bool // nil: as each scenario says
	provider   string
	thresholds []string
	summary    bool
	shard      string
	budget     string
	rate       string
	judge      string
	models     modelFlags
	subjects   []string
	update     bool
	watch      bool
	files      files
	offline    bool
}

const runHelp = `run plays the scenarios in files and folders against an agent, judges each trial,
prints the results, and writes a run folder with report.html, junit.xml, summary.md
and trials.jsonl.

--mode says what answers as the model:

  mock     (default) the replies of the scenario, offline
  live     a real endpoint: --base-url, else ARGO_BASE_URL, else OPENAI_BASE_URL,
           else http://localhost:8000/v1; the models are those of --model, else of
           --models, else of rehearse.yaml, else ARGO_DEFAULT_MODEL; the key is
           OPENAI_API_KEY, and may be missing; with ANTHROPIC_API_KEY,
           GEMINI_API_KEY or GOOGLE_API_KEY each vendor's paths get that vendor's
           own key and no other. Variables may stand in a file .env of the
           working folder; where they are not set either, client in rehearse.yaml
           counts, and then ~/.gem-flux-mcp/config.json
  record   as live, and each conversation is written to a cassette; commit it with
           the scenario. Real servers are recorded to tapes beside it
  replay   the recorded conversations, offline; real servers are replayed too

The agent is rehearse's own, unless --subject, a scenario, its suite or rehearse.yaml
names another one: a command of any language, or an agent behind an HTTP API
(docs/subjects.md). Each subject is a column of its own.

Each model is a column of its own. A label tells two endpoints or two settings of
one model apart: --model LABEL=NAME@URL, or an entry of models in rehearse.yaml,
which can have an endpoint, a key, settings and a price (docs/running.md).

A cassette holds one trial with one model: those of weather.yaml are
cassettes/weather/<scenario>.<model>.yaml, below the folder of weather.yaml or
below --cassettes. A conversation that breaks off replaces no recording. Keys,
login names and folders are removed from what is written. A replay without --model
plays all recorded models. A request that differs from the recorded one fails the
trial, and so does a recorded one that is not sent.

With a pass rule in a scenario, or a threshold in a suite or by --threshold, these
decide the exit code, not single trials: 1 if one is missed. Trials that passed or
failed count, for each model by itself.

--budget stops a run against an endpoint once it has used so many dollars or tokens:
no further trial begins, and the exit code is 3 unless a trial failed. --resume goes
on with a larger budget, which is for all of the run. Dollars need the price of each
model entry.

An endpoint that answers 429 is asked by half as many trials at a time, and by more
again later; what it asks to wait is waited. --rate bounds the requests besides. The
trials of several models or variants follow each other in an order that is drawn from
--seed.

An expectation may be an LLM judge. It asks a model of its own: that of --judge, else
of the expectation or its suite, else of judge in rehearse.yaml. In mode mock its
replies stand in the scenario, and in mode replay they are recorded.

A run that was stopped or killed goes on with --resume RUN and otherwise the same
command line. It refuses when scenarios or models are no longer those of the run.
--shard has one of several machines play its part of the trials. --shard auto is for
a task of an array: the task has a run folder of its own, by the id of the job, and
goes on in it when the scheduler begins it again.

Ctrl-C stops the trials in progress and reports those that are finished; a second
Ctrl-C does not wait for servers that are slow to end.`

func runCommand(p *process) *cobra.Command {
	var flags runFlags
	var stream bool
	opts := run.Options{Subject: agent.Subject(nil), SubjectName: "rehearse-agent", FromScenarios: true, Version: version(), Child: self()}
	cmd := &cobra.Command{
		Use:   "run PATH...",
		Short: "Play scenarios against the agent and write a report",
		Long:  runHelp,
		Example: `  rehearse run scenarios
  rehearse run scenarios --run 'weather|sum' --verbose
  rehearse run scenarios --tags 'smoke,!slow'
  rehearse run scenarios --mode live --model argo:gpt-4o --trials 5
  rehearse run scenarios --trials 5 --threshold 0.9 --threshold smoke=1
  rehearse run scenarios --junit junit.xml --summary --annotations
  rehearse run scenarios --mode live --model a=qwen3@http://gpu1:8000/v1 --model b=qwen3@http://gpu2:8000/v1
  rehearse run scenarios --subject rehearse --subject 'python3 agent.py {prompt}'
  rehearse run scenarios --mode live --parallel 8 --rate 60/min --budget 5usd
  rehearse run scenarios --mode live --model argo:gpt-4o --judge j=gpt-5@http://localhost:8000/v1
  rehearse run scenarios --mode record --model argo:gpt-4o
  rehearse run scenarios --mode replay
  rehearse run scenarios --update
  rehearse run scenarios --watch
  rehearse run scenarios --resume runs/20260102-150405-scenarios --retry-errors
  rehearse run scenarios --shard 1/4`,
		Args: minArgs(1, "a scenario file or a folder of them"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return checkFlags(cmd,
				rule{"trials", opts.Trials >= 1, "at least 1"},
				rule{"parallel", opts.Parallel >= 1, "at least 1"},
				rule{"timeout", opts.Timeout > 0, "more than 0, such as 30s"},
				rule{"advertise", isHost(opts.Advertise), wantHost},
				rule{"base-url", wholeURL(opts.BaseURL), wantURL},
				rule{"retry-errors", opts.Resume != "" || strings.HasPrefix(flags.shard, autoShard), "--resume RUN beside it"},
			)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("stream") {
				flags.stream = &stream
			}
			if cmd.Flags().Changed("tags") && len(flags.tags) == 0 {
				flags.tags = []string{""} // refused, as every empty tag is
			}
			play := runScenarios
			if flags.watch {
				play = runWatched
			}
			if flags.offline {
				play = withoutNetwork(play)
			}
			return play(cmd.Context(), p, args, &opts, &flags)
		},
	}
	flags.register(cmd, &opts, &stream)
	return cmd
}

// subjectFlag adds --subject.
func subjectFlag(f *pflag.FlagSet, flags *runFlags) {
	f.StringArrayVar(&flags.subjects, "subject", nil, "subject that plays: a name of rehearse.yaml, rehearse for its own agent, or a command in quotes, such as `'python3 agent.py {prompt}'`; may be repeated (default: what each scenario, its suite or rehearse.yaml says, else rehearse)")
}

// register adds the flags of run to its command.
func (flags *runFlags) register(cmd *cobra.Command, opts *run.Options, stream *bool) {
	f := cmd.Flags()
	f.StringVar(&flags.mode, "mode", "mock", "what answers as the model: mock, live, record or replay")
	f.StringArrayVar(&flags.models.models, "model", nil, "model to ask for: its name, a label of rehearse.yaml, or `LABEL=NAME@URL`; may be repeated")
	f.StringVar(&flags.models.file, "models", "", "take the models from this file, which has the key models as in rehearse.yaml; without --model, all of them")
	subjectFlag(f, flags)
	f.StringVar(&flags.judge, "judge", "", "model that LLM judges ask: a label of rehearse.yaml, a name, or `LABEL=NAME@URL`; replaces what scenarios, suites and rehearse.yaml name")
	f.StringVar(&flags.provider, "provider", "", "API to ask models over whose entries have no dialect: "+prose.Or(scenarios.Providers())+" (default: openai)")
	f.StringVar(&opts.BaseURL, "base-url", "", "base URL of the endpoint in modes live and record, ending in /v1")
	f.StringVar(&opts.Cassettes, "cassettes", "", "folder of the recordings (default: the folder cassettes beside each scenario file)")
	f.BoolVar(stream, "stream", false, "ask for streamed replies, or with --stream=false for whole ones (default: what each scenario says)")
	f.StringArrayVar(&opts.Variants, "variant", nil, "play this variant of the suites alone; may be repeated (default: all that suite.yaml has)")
	f.StringVar(&opts.As, "as", "", "the agent that the subject is, for the grants of scenarios (default: the subject setting as of each)")
	f.IntVar(&opts.Trials, "trials", 0, "trials of each scenario (default: 1; in modes live and record what the scenario says; in replay all recorded ones)")
	f.IntVar(&opts.Parallel, "parallel", 0, "number of trials at a time (default: number of CPUs; 1 in modes live and record)")
	f.StringVar(&flags.budget, "budget", "", "begin no further trial once the run has used this much: `5usd`, 200000tokens, or both with a comma between (default: that of rehearse.yaml, else none)")
	f.StringVar(&flags.rate, "rate", "", "maximum number of requests to each endpoint, such as `60/min` or 2/s (default: that of the model entries, else none)")
	f.Int64Var(&opts.Seed, "seed", 0, "seed of the run")
	f.DurationVar(&opts.Timeout, "timeout", 0, "time limit of a trial that has none of its own (default 30s; 10m in modes live and record)")
	f.StringSliceVar(&flags.tags, "tags", nil, "play only the scenarios with one of these tags, and without those after ! or -: smoke,!slow")
	f.StringArrayVar(&flags.thresholds, "threshold", nil, "least pass `rate` of the run with each model, such as 0.9, or of a tag: smoke=0.8; may be repeated; replaces that of suites")
	addKeep(f, &opts.Keep)
	f.BoolVar(&opts.ShowSecrets, "show-secrets", false, "do not redact text with the known shape of a key in the run folder and the reports (in rehearse.yaml: redact: {runs: false})")
	f.BoolVar(&opts.KeepWire, "keep-wire", false, "keep requests, answers and MCP messages as they were on the wire, in the transcripts and in the HTML page")
	f.BoolVar(&opts.Force, "force", false, "with --mode record: let a recording replace one of another subject, or one with more exchanges")
	f.BoolVar(&flags.offline, "offline", false, "play where no network is but loopback, and say which hosts were asked for by name (Linux; modes mock and replay)")
	advertiseFlag(f, &opts.Advertise, "; the run listens on an address of this machine that is given, and else on loopback")
	f.StringVar(&flags.only, "run", "", "play only the scenarios whose name matches this regular expression")
	f.StringVar(&flags.skip, "skip", "", "leave out the scenarios whose name matches this regular expression")
	f.StringVar(&opts.Out, "out", "runs", "folder for run folders")
	f.StringVar(&opts.Name, "name", "", "name of the run (default: that of the first path)")
	fileFlags(cmd, &flags.files, &flags.summary)
	f.StringVar(&flags.shard, "shard", "", "play only part I of N, such as 2/4; auto asks Slurm for both numbers, auto/4 asks Slurm, PBS or Kubernetes for the first")
	f.StringVar(&opts.Resume, "resume", "", "go on in this run folder: keep what is finished and play what is missing")
	f.BoolVar(&opts.RetryErrors, "retry-errors", false, "with --resume: play the trials again whose outcome is error")
	f.BoolVar(&opts.Unmeasured, "unmeasured", false, "leave out times, durations and the order of arrival, so that two runs are equal byte for byte")
	f.BoolVar(&flags.update, "update", false, "rewrite the expectations that failed, from what happened, and print the difference; findings of conduct keep failing; refused where CI is set")
	f.BoolVar(&flags.watch, "watch", false, "play again whenever a file changes that the run depends on, until Ctrl-C")
	f.BoolVar(&flags.json, "json", false, "print one JSON document instead of text")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "print a line to standard error when a trial ends")
}

func runScenarios(ctx context.Context, p *process, paths []string, opts *run.Options, flags *runFlags) error {
	list, err := toPlay(p, paths, opts, flags)
	if err != nil {
		return err
	}
	progress := newProgress(p, flags)
	opts.Observer = progress
	opts.Abort, opts.ServerGrace = p.abort, p.grace
	if opts.LookupEnv == nil {
		opts.LookupEnv = p.getenv
	}
	defer p.adopt()()
	result, err := run.Run(ctx, list, opts)
	progress.close()
	switch {
	case err != nil && result != nil && result.Dir != "":
		return unshown(result.ExitCode(), result.Dir, err) // as of a disk that is full
	case err != nil:
		return err
	}
	if missing := result.Manifest.Planned - len(result.Records); missing > 0 {
		fmt.Fprintf(p.stderr, "rehearse: %s not played%s; to play what is missing:\n  %s%s\n",
			prose.CountOf(missing, "trial was", "trials were"), overBudget(result), howToResume(p.args, result.Dir, opts.Shard), largerBudget(result))
	}
	if flags.update {
		out := p.stdout
		if flags.json || flags.files.onStdout() > 0 {
			out = p.stderr
		}
		updated, err := updateExpectations(p, out, result, paths)
		if err != nil {
			return showResult(p, result, flags.files, nil, err)
		}
		result = updated
	}
	var document func() error
	if flags.json {
		document = func() error { return printRunJSON(p, result) }
	}
	return showResult(p, result, flags.files, document, nil)
}

// toPlay checks the flags and loads the scenarios that they choose. opts get what
// both say of the run.
func toPlay(p *process, paths []string, opts *run.Options, flags *runFlags) ([]*scenarios.Scenario, error) {
	if flags.update {
		if err := mayUpdate(p); err != nil {
			return nil, err
		}
	}
	if err := modelSide(p, paths, opts, flags); err != nil {
		return nil, err
	}
	var err error
	if opts.Subjects, err = subjectsOf(paths, flags); err != nil {
		return nil, err
	}
	if n := flags.files.onStdout(); n > 1 || n == 1 && flags.json {
		return nil, errTwoOnStdout
	}
	if flags.summary {
		if flags.files.summary, err = stepSummary(p); err != nil {
			return nil, err
		}
	}
	if err := flags.files.check(); err != nil {
		return nil, err
	}
	set, err := scenarios.Load(paths, &scenarios.Options{LookupEnv: p.getenv, Offline: opts.Mode == harness.ModeReplay, Settings: heeded(opts.Subjects)})
	if err != nil {
		warn(p.stderr, set.Check())
		return nil, err
	}
	list, err := selectScenarios(set, paths, flags)
	if err != nil {
		return nil, err
	}
	if opts.Thresholds, err = thresholds(flags.thresholds, list); err != nil {
		return nil, err
	}
	if opts.Name == "" {
		opts.Name = runName(paths[0])
	}
	noteAside(p, set)
	warn(p.stderr, (&scenarios.Set{Scenarios: list}).Check())
	if flags.shard == "" {
		return list, nil
	}
	var by *scheduler
	if opts.Shard, by, err = shardOf(flags.shard, p.getenv); err == nil && by != nil {
		err = ownFolder(p, opts, by)
	}
	return list, err
}

// subjectsOf are the subjects that --subject names.
func subjectsOf(paths []string, flags *runFlags) (out []scenarios.Subject, err error) {
	for _, text := range flags.subjects {
		subject, err := scenarios.SubjectOf(text, folderOf(paths[0]))
		if err != nil {
			return nil, fmt.Errorf("--subject: %w", err)
		}
		out = append(out, subject)
	}
	return out, nil
}

// heeded are the settings of subjects that rehearse's own agent knows, and those
// which others that are named say they do.
func heeded(list []scenarios.Subject) []string {
	known := subjects.AgentSettings()
	for _, s := range list {
		if d, ok := s.Subject.(*subjects.Definition); ok {
			known = append(known, d.Knows...)
		}
	}
	return known
}

// noteAside says what is left alone in folders, which may be somebody's scenario.
func noteAside(p *process, set *scenarios.Set) {
	const most = 5
	notes := aside(set)
	for _, note := range notes[:min(len(notes), most)] {
		fmt.Fprintf(p.stderr, "note: %s\n", note)
	}
	if more := len(notes) - most; more > 0 {
		fmt.Fprintf(p.stderr, "note: %s left alone; `rehearse check` names all\n", prose.CountOf(more, "more file is", "more files are"))
	}
}

// modelSide takes over what flags say of mode, models, judge and dialect.
func modelSide(p *process, paths []string, opts *run.Options, flags *runFlags) error {
	opts.Mode = harness.Mode(flags.mode)
	switch opts.Mode {
	case harness.ModeMock, harness.ModeReplay:
		if opts.BaseURL != "" {
			return fmt.Errorf("--base-url needs --mode live or record; mode %s sends nothing to an endpoint", opts.Mode)
		}
		if opts.Mode == harness.ModeMock && opts.Cassettes != "" {
			return errors.New("--cassettes needs --mode record or replay")
		}
		if flags.budget != "" || flags.rate != "" {
			return fmt.Errorf("--budget and --rate need --mode live or record; mode %s asks no endpoint", opts.Mode)
		}
		models, err := flags.models.entries(paths, false)
		if err != nil {
			return err
		}
		for _, text := range flags.models.models {
			if m, err := modelFlag("--model", text, nil); err == nil && m.BaseURL != "" {
				fmt.Fprintf(p.stderr, "rehearse: warning: --model %q names an endpoint, but mode %s sends nothing to one; for that add --mode live\n", text, opts.Mode)
			}
		}
		opts.Entries = models
	case harness.ModeLive, harness.ModeRecord:
		models, err := flags.models.entries(paths, true)
		if err != nil {
			return err
		}
		opts.Entries = models
		if err := liveDefaults(p, opts, folderOf(paths[0])); err != nil {
			return err
		}
		if err := bounds(opts, flags, paths); err != nil {
			return err
		}
	default:
		modes := []string{"mock", "live", "record", "replay"}
		return fmt.Errorf("--mode %q is not known: want mock, live, record or replay%s", flags.mode, prose.DidYouMean(flags.mode, modes))
	}
	if flags.judge != "" {
		judge, err := flags.models.judge(flags.judge, paths)
		if err != nil {
			return err
		}
		opts.Judge = &judge
	}
	var err error
	opts.Dialect, err = dialectOf(flags.provider)
	return err
}

// namePattern is a flag that selects scenarios by their names.
type namePattern struct {
	flag, pattern string
	keep          bool
}

func (flags *runFlags) patterns() []namePattern {
	return []namePattern{{"--run", flags.only, true}, {"--skip", flags.skip, false}}
}

func (p *namePattern) compile() (*regexp.Regexp, error) {
	re, err := regexp.Compile(p.pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.flag, err)
	}
	return re, nil
}

// selectScenarios applies --tags, --run, --skip and --stream. A pattern that matches nothing is
// a mistake: a typing error must not end as a run that passed.
func selectScenarios(set *scenarios.Set, paths []string, flags *runFlags) ([]*scenarios.Scenario, error) {
	list := set.Scenarios
	if len(list) == 0 {
		return nil, fmt.Errorf("no scenario in %s: no file there begins with the key scenario%s%s", strings.Join(paths, " "),
			servedBy(len(set.Servers), "a server file", "mcp"), servedBy(len(set.LLMs), "an llm file", "llm"))
	}
	list, err := scenarios.Tagged(list, flags.tags)
	if err != nil {
		return nil, fmt.Errorf("--tags: %w", err)
	}
	for _, f := range flags.patterns() {
		if f.pattern == "" {
			continue
		}
		re, err := f.compile()
		if err != nil {
			return nil, err
		}
		matches := func(s *scenarios.Scenario) bool { return re.MatchString(s.Name) }
		if !slices.ContainsFunc(list, matches) {
			return nil, fmt.Errorf("%s %q matches none of %s", f.flag, f.pattern, prose.Count(len(list), "scenario"))
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

// showResult prints a run that has ended and writes its reports: first those in
// its own folder, so that they are there whatever is wrong with the places that
// flags name, and whoever does not read. A document takes the place of the
// text. Its exit code is the error; before is one that there was already.
func showResult(p *process, result *run.Result, to files, document func() error, before error) error {
	loaded, err := reports.Load(result.Dir)
	if err != nil {
		return unshown(result.ExitCode(), result.Dir, errors.Join(before, err))
	}
	own := defaultFiles(result.Dir)
	err = errors.Join(before, writeFiles(p, loaded, own))
	text := document == nil && to.onStdout() == 0
	switch {
	case document != nil:
		err = errors.Join(err, document())
	case text:
		err = errors.Join(err, printText(p, loaded))
	}
	err = errors.Join(err, writeFiles(p, loaded, to))
	if text {
		fmt.Fprintf(p.stdout, "report: %s\n", own.html)
	}
	if err != nil {
		return unshown(result.ExitCode(), result.Dir, err)
	}
	return exitWith(result.ExitCode())
}

func printRunJSON(p *process, result *run.Result) error {
	return printJSON(p.stdout, struct {
		Dir      string          `json:"dir"`
		Exit     int             `json:"exit"`
		Manifest trials.Manifest `json:"manifest"`
		Trials   []trials.Record `json:"trials"`
	}{result.Dir, result.ExitCode(), result.Manifest, result.Records})
}
