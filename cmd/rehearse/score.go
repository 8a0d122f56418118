// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/reports"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// scoreFlags are the flags of `rehearse score` that are not options of it.
type scoreFlags struct {
	scenarios  []string
	thresholds []string
	json       bool
	summary    bool
	files      files
}

func scoreCommand(p *process) *cobra.Command {
	var flags scoreFlags
	var opts run.ScoreOptions
	cmd := &cobra.Command{
		Use:   "score RUN",
		Short: "Judge a finished run again, without a call",
		Long: `score judges the trials of a finished run again, by the expectations that the
scenarios have now, and writes a new run folder. It plays nothing and asks no
endpoint: it reads what the run kept of each trial. The old folder stays as it is.
It prints the trials that end otherwise than before, and the checks that do.

Expectations, pass rules, thresholds, tags and conduct settings may change. Where
what is asked changed (turns, replies, servers, settings of the model), score
refuses and names the part: such a scenario must be played. Conduct is as it was
found; a check that was off and is now on cannot be judged.

A trial of which something cannot be judged from what was kept is an error, and its
cause says why: a run of an older rehearse, a text that was cut or redacted, an
` + "`stops`" + ` that would have had the conversation go on, a judge that was not asked.

The scenarios are the files that the run names, or those of --scenarios. The exit
code is that of the new run: 0, 1, 2 or 3, as ` + "`rehearse --help`" + ` says.`,
		Example: `  rehearse score runs/20260102-150405-scenarios
  rehearse score runs/20260102-150405-scenarios --scenarios scenarios --out rescored
  rehearse score runs/20260102-150405-scenarios --threshold 0.9 --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := minArgs(1, "the folder of a run")(cmd, args); err != nil {
				return err
			}
			return atMost(1)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error { return scoreRun(p, args[0], &opts, &flags) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.scenarios, "scenarios", nil, "file or folder of the scenarios; may be repeated (default: the files that the run names)")
	f.StringVar(&opts.Out, "out", "runs", "folder for the new run folder")
	f.StringVar(&opts.Name, "name", "", "name of the new run (default: that of the run and -scored)")
	f.StringArrayVar(&flags.thresholds, "threshold", nil, "least pass `rate` of the run with each model, such as 0.9, or of a tag: smoke=0.8; may be repeated; replaces those of suites and of the run")
	fileFlags(cmd, &flags.files, &flags.summary)
	f.BoolVar(&flags.json, "json", false, "print one JSON document instead of text")
	return cmd
}

func scoreRun(p *process, dir string, opts *run.ScoreOptions, flags *scoreFlags) error {
	if n := flags.files.onStdout(); n > 1 || n == 1 && flags.json {
		return errTwoOnStdout
	}
	if flags.summary {
		var err error
		if flags.files.summary, err = stepSummary(p); err != nil {
			return err
		}
	}
	if err := flags.files.check(); err != nil {
		return err
	}
	paths := flags.scenarios
	if len(paths) == 0 {
		loaded, err := reports.Load(dir) // which says what is wrong with a folder
		if err != nil {
			return err
		}
		for _, s := range loaded.Manifest.Scenarios {
			if s.File == "" || slices.Contains(paths, s.File) {
				continue
			}
			if _, err := os.Stat(s.File); err != nil {
				return fmt.Errorf("run %q names the scenario file %q: %w; go to the folder in which it was played, or name the scenarios with --scenarios", dir, s.File, err)
			}
			paths = append(paths, s.File)
		}
		if len(paths) == 0 {
			return fmt.Errorf("run %q does not say which files its scenarios are in: name them with --scenarios", dir)
		}
	}
	set, err := scenarios.Load(paths, &scenarios.Options{LookupEnv: p.getenv, Offline: true})
	if err != nil {
		return err
	}
	warn(p.stderr, set.Check())
	if opts.Thresholds, err = thresholds(flags.thresholds, set.Scenarios); err != nil {
		return err
	}
	scored, err := run.Score(dir, set.Scenarios, opts)
	if err != nil {
		return err
	}
	var document func() error
	if flags.json {
		document = func() error { return printScoreJSON(p, dir, scored) }
	}
	if !flags.json && flags.files.onStdout() == 0 {
		_, err = io.WriteString(p.stdout, flipsText(dir, scored))
	}
	return showResult(p, &scored.Result, flags.files, document, err)
}

// flip is a trial that ends otherwise, as it is printed.
type flip struct {
	trials.Key
	Was    scoredTrial   `json:"was"`
	Now    scoredTrial   `json:"now"`
	Checks []scoredCheck `json:"checks,omitempty"`
}

type scoredTrial struct {
	Outcome string        `json:"outcome"`
	Cause   *trials.Cause `json:"cause,omitempty"`
}

type scoredCheck struct {
	Check string       `json:"check"`
	Turn  int          `json:"turn,omitempty"`
	Was   trials.State `json:"was,omitempty"` // empty for one that is new
	Now   trials.State `json:"now,omitempty"` // empty for one that is gone
	Why   string       `json:"why,omitempty"`
	pos   string
}

func flipsOf(s *run.Scored) []flip {
	out := []flip{}
	for _, i := range s.Flips() {
		was, now := &s.Before[i], &s.Records[i]
		f := flip{Key: now.Key, Was: scoredTrial{string(was.Outcome), was.Cause}, Now: scoredTrial{string(now.Outcome), now.Cause}}
		for _, pair := range run.Flipped(was, now) {
			var c scoredCheck
			if v := pair.Was; v != nil {
				c = scoredCheck{Check: v.Check, Turn: v.Turn, Was: v.State, Why: v.Message}
			}
			if v := pair.Now; v != nil {
				c = scoredCheck{Check: v.Check, Turn: v.Turn, Was: c.Was, Now: v.State, Why: v.Message}
				if !v.Pos.IsZero() {
					c.pos = v.Pos.String() + ": "
				}
			}
			f.Checks = append(f.Checks, c)
		}
		out = append(out, f)
	}
	return out
}

// flipsText says what ends otherwise than before, and why.
func flipsText(dir string, s *run.Scored) string {
	var b strings.Builder
	list := flipsOf(s)
	outcomes := 0
	for _, f := range list {
		if f.Was.Outcome != f.Now.Outcome {
			outcomes++
		}
	}
	fmt.Fprintf(&b, "judged again: %s of %s; %s otherwise than before", prose.Count(len(s.Records), "trial"), dir, countVerb(outcomes, "trial ends", "trials end"))
	if same := len(list) - outcomes; same > 0 {
		fmt.Fprintf(&b, ", %s alike with other checks", countVerb(same, "trial ends", "trials end"))
	}
	b.WriteString("\n")
	word := func(s trials.State, none string) string {
		if s == "" {
			return none
		}
		return string(s)
	}
	for _, f := range list {
		fmt.Fprintf(&b, "\n%s -> %s  %s\n", f.Was.Outcome, f.Now.Outcome, f.Key)
		for _, c := range f.Checks {
			line := fmt.Sprintf("  %s%s: %s -> %s", c.pos, c.Check, word(c.Was, "none"), word(c.Now, "none"))
			if c.Why != "" && c.Now != "" {
				line += ": " + prose.Shorten(c.Why, 300)
			}
			fmt.Fprintln(&b, line)
		}
		if was, now := f.Was.Cause, f.Now.Cause; was != nil && now != nil && was.Kind == now.Kind && was.Message == now.Message {
			continue
		}
		if c := f.Was.Cause; c != nil {
			fmt.Fprintf(&b, "  cause before: %s: %s\n", c.Kind, prose.Shorten(c.Text(), 300))
		}
		if c := f.Now.Cause; c != nil {
			fmt.Fprintf(&b, "  cause now: %s: %s\n", c.Kind, prose.Shorten(c.Text(), 300))
		}
	}
	b.WriteString("\n")
	return b.String()
}

func printScoreJSON(p *process, dir string, s *run.Scored) error {
	return printJSON(p.stdout, struct {
		Dir      string          `json:"dir"`
		From     string          `json:"from"`
		Exit     int             `json:"exit"`
		Flips    []flip          `json:"flips"`
		Manifest trials.Manifest `json:"manifest"`
		Trials   []trials.Record `json:"trials"`
	}{s.Dir, dir, s.ExitCode(), flipsOf(s), s.Manifest, s.Records})
}
