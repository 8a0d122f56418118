// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func checkCommand(p *process) *cobra.Command {
	var strict bool
	r := &recordings{files: map[string]recordedKind{}, models: map[string]string{}, unknown: map[string]bool{}}
	var maxAge age
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Find mistakes in scenarios, mock servers, mock models and recordings",
		Long: `check reads YAML files and folders and reports every mistake as
file:line:col: message. It plays nothing and opens no connection.

It also reads recordings: the cassettes and tapes in the folders, and those of the
scenarios, beside them or in --cassettes. A recording that does not load, or that
contains what looks like a secret, is a mistake.

It prints doubtful points as warnings; --strict turns them into mistakes: a literal
argument that the tool's schema refuses, an expectation that cannot fail, a
recording that no scenario refers to or that is empty, a scenario, model or tape
without a recording where others have one, leftovers of an unfinished or older
recording, and a recording older than --max-age or than its scenario allows.`,
		Example: `  rehearse check scenarios
  rehearse check --strict scenarios/one.yaml
  rehearse check scenarios --max-age 90d --stale error
  rehearse check testdata/weather.yaml testdata/files.tape`,
		Args: minArgs(1, "a file or a folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkStale(r.stale); err != nil {
				return err
			}
			if r.dir != "" {
				if info, err := os.Stat(r.dir); err != nil || !info.IsDir() {
					return fmt.Errorf("--cassettes %q: want a folder", r.dir)
				}
				r.dir = filepath.Clean(r.dir)
			}
			r.maxAge, r.now = time.Duration(maxAge), time.Now()
			return check(p, r, args, strict)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&strict, "strict", false, "exit 2 on warnings too")
	f.StringVar(&r.dir, "cassettes", "", "folder of the recordings, as for run (default: the folder cassettes beside each scenario file)")
	f.Var(&maxAge, "max-age", "maximum age of a recording, such as 90d; 0 is any age, unless its scenario has a max_age")
	f.StringVar(&r.stale, "stale", "warn", "how to report a recording older than --max-age: warn or error")
	return cmd
}

// check looks at the scenarios first and then at what is recorded, also when
// the scenarios have mistakes.
func check(p *process, r *recordings, args []string, strict bool) error {
	var err error
	if r.secrets, err = redact.New(nil); err != nil {
		return err
	}
	rest := r.split(args)
	set := &scenarios.Set{}
	if len(rest) > 0 {
		set, err = scenarios.Load(rest, &scenarios.Options{LookupEnv: p.getenv, Settings: heeded(nil)})
	}
	var mistakes scenarios.Errors
	if err != nil && !errors.As(err, &mistakes) {
		return err
	}
	r.beside(set)
	r.check(set, err == nil)
	if mistakes = append(mistakes, r.mistakes...); len(mistakes) > 0 {
		warn(p.stdout, append(set.Check(), r.doubts...))
		return mistakes
	}
	return printCheck(p, set, r, strict)
}

func printCheck(p *process, set *scenarios.Set, r *recordings, strict bool) error {
	for _, note := range aside(set) {
		fmt.Fprintf(p.stderr, "note: %s\n", note)
	}
	for i, s := range set.Scenarios {
		if i > 0 && set.Scenarios[i-1].Pos == s.Pos && set.Scenarios[i-1].Profile == s.Profile {
			continue // another case of the same file
		}
		if s.Subject != nil && s.Subject.Subject != nil {
			continue // rehearse's own agent does not play it
		}
		if err := run.CanPlay(agent.Subject(nil), s); err != nil {
			fmt.Fprintf(p.stderr, "note: `rehearse run` refuses %v\n", err)
		}
	}
	doubts := warn(p.stdout, append(set.Check(), r.doubts...))
	recorded := ""
	if n := len(set.Suites); n > 0 && len(set.Scenarios) == 0 { // one with scenarios is checked with them
		recorded = ", " + prose.Count(n, "suite file")
	}
	if n := r.count(); n > 0 {
		recorded += ", " + prose.Count(n, "recording")
	}
	fmt.Fprintf(p.stdout, "%s, %s, %s%s: %s\n",
		prose.Count(len(set.Scenarios), "scenario"), prose.Count(len(set.Servers), "server file"), prose.Count(len(set.LLMs), "llm file"), recorded,
		prose.Count(doubts, "warning"))
	if len(set.Scenarios)+len(set.Servers)+len(set.LLMs)+len(set.Suites)+len(r.files) == 0 {
		return fmt.Errorf("nothing to check: no file here begins with scenario, server, llm or suite, and none is a recording")
	}
	if strict && doubts > 0 {
		return &codeError{code: exitUsage}
	}
	return nil
}

// aside are the notes on what was left alone in folders. A recording is no
// scenario, but not left alone.
func aside(set *scenarios.Set) []scenarios.Note {
	return slices.DeleteFunc(slices.Clone(set.Notes), func(n scenarios.Note) bool { return kindOf(n.Path) != noRecording })
}

// warn prints what is doubtful, and returns how much that is.
func warn(w io.Writer, doubts []scenarios.Problem) int {
	const most = 200
	for i, d := range doubts {
		if i == most {
			fmt.Fprintf(w, "and %s\n", prose.Count(len(doubts)-most, "more warning"))
			break
		}
		fmt.Fprintf(w, "%s: warning: %s\n", d.Pos, d.Msg)
	}
	return len(doubts)
}
