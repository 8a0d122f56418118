// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func checkCommand(p *process) *cobra.Command {
	var strict bool
	r := &recordings{files: map[string]recordedKind{}, models: map[string]string{}, unknown: map[string]bool{}}
	var maxAge age
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Find mistakes in scenarios, mock servers, mock models and recordings",
		Long: `check reads files and folders of YAML and reports every mistake as
file:line:col: message. It plays nothing and opens no connection.

Of recorded traffic, cassettes and tapes, it looks at what is in the folders, and
at what is recorded of the scenarios, beside them or in --cassettes. A file that
does not load is a mistake, and so is one that holds what looks like a secret.

Doubts (a literal argument that the tool's schema refuses, an expectation that
cannot fail) are printed as warnings; --strict makes them mistakes. So are
recordings that no scenario refers to or that hold nothing, scenarios, models and
tapes that are not recorded where others beside them are, what an unfinished or older recording has
left, and recordings that are older than --max-age, or than their scenario wants.`,
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
	f.StringVar(&r.dir, "cassettes", "", "where the recordings of the scenarios are, as for run; default the folders cassettes beside them")
	f.Var(&maxAge, "max-age", "how old a recording may be, such as 90d; 0 is any age, unless its scenario has a max_age")
	f.StringVar(&r.stale, "stale", "warn", "what a recording older than --max-age is: a warning (warn) or a mistake (error)")
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
		set, err = scenarios.Load(rest, &scenarios.Options{LookupEnv: p.getenv})
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
	for _, note := range set.Notes {
		if name, _, _ := strings.Cut(note, ": left alone:"); r.files[name] != noRecording {
			continue // it is no scenario, but not left alone
		}
		fmt.Fprintf(p.stderr, "note: %s\n", note)
	}
	for _, s := range set.Scenarios {
		if err := run.CanPlay(agent.Subject(nil), s); err != nil {
			fmt.Fprintf(p.stderr, "note: `rehearse run` refuses %v\n", err)
		}
	}
	doubts := warn(p.stdout, append(set.Check(), r.doubts...))
	recorded := ""
	if n := r.count(); n > 0 {
		recorded = ", " + count(n, "recording")
	}
	fmt.Fprintf(p.stdout, "%s, %s, %s%s: %s\n",
		count(len(set.Scenarios), "scenario"), count(len(set.Servers), "server file"), count(len(set.LLMs), "llm file"), recorded,
		count(doubts, "warning"))
	if len(set.Scenarios)+len(set.Servers)+len(set.LLMs)+len(r.files) == 0 {
		return fmt.Errorf("nothing to check: no file here begins with scenario, server, llm or suite, and none is a recording")
	}
	if strict && doubts > 0 {
		return &codeError{code: exitUsage}
	}
	return nil
}

// warn prints what is doubtful, and returns how much that is.
func warn(w io.Writer, doubts []scenarios.Problem) int {
	for _, d := range doubts {
		fmt.Fprintf(w, "%s: warning: %s\n", d.Pos, d.Msg)
	}
	return len(doubts)
}

// count spells a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
