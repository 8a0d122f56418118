// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/reports"
)

// files names where to write which report; empty names write none.
type files struct {
	html, junit, markdown, csv string
	// summary is the file that a step of GitHub shows; it is appended to.
	summary string
	// annotations go to standard error, which GitHub reads too.
	annotations bool
	// inRun says that they are in the folder of a run, which somebody else may
	// have made: whatever has their names is replaced, and not opened.
	inRun bool
}

// stdout is the name of a file that is none.
const stdout = "-"

var errTwoOnStdout = errors.New("standard output takes one document: only one report can be -, and none together with --json")

// onStdout counts the reports that go to standard output.
func (f files) onStdout() int {
	n := 0
	for _, name := range []string{f.html, f.junit, f.markdown, f.csv} {
		if name == stdout {
			n++
		}
	}
	return n
}

// fileFlags are the flags that say which reports to write where.
func fileFlags(cmd *cobra.Command, to *files, github *bool) {
	f := cmd.Flags()
	f.StringVar(&to.html, "html", "", "write the HTML page to this `file` too; - is standard output, instead of text")
	f.StringVar(&to.junit, "junit", "", "write JUnit XML to this `file` too; - is standard output, instead of text")
	f.StringVar(&to.markdown, "markdown", "", "write the Markdown summary to this `file` too, as a comment on a pull request; - is standard output, instead of text")
	f.StringVar(&to.csv, "csv", "", "write CSV, a row for each trial, to this `file` too; - is standard output, instead of text")
	f.BoolVar(github, "summary", false, "append the Markdown summary to the file that GITHUB_STEP_SUMMARY names")
	f.BoolVar(&to.annotations, "annotations", false, "print what went wrong as annotations of GitHub, at the lines of the scenario files, to standard error")
}

// stepSummary is where GitHub wants the summary of a step.
func stepSummary(p *process) (string, error) {
	name, _ := p.getenv("GITHUB_STEP_SUMMARY")
	if name == "" {
		return "", errors.New("--summary appends to the file that GITHUB_STEP_SUMMARY names, and it is not set: GitHub sets it in its jobs; elsewhere use --markdown FILE")
	}
	return name, nil
}

func reportCommand(p *process) *cobra.Command {
	var to files
	var summary bool
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Print a finished run again and write its reports",
		Long: `report reads the folder of a run and prints its results. It plays nothing. Without
flags it writes report.html, junit.xml and summary.md into the folder again.

It joins several runs into one report, such as one of mocks and one of recordings.
It refuses runs that both have a finished trial of one key, and runs in which a
scenario, its tools or a model entry differ under one name. A finished trial
replaces an error of another run. Files are then written only where flags name
them.

The exit code is that of the run: 0, 1, 2 or 3, as ` + "`rehearse --help`" + ` says.`,
		Example: "  rehearse report runs/20260102-150405-gemflux\n  rehearse report runs/20260102-150405-gemflux --html out.html\n  rehearse report runs/*-mocks runs/*-recorded --html both.html\n  rehearse report runs/20260102-150405-gemflux --csv trials.csv --summary --annotations",
		Args:    minArgs(1, "the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if to.onStdout() > 1 {
				return errTwoOnStdout
			}
			if summary {
				var err error
				if to.summary, err = stepSummary(p); err != nil {
					return err
				}
			}
			if err := to.check(); err != nil {
				return err
			}
			run, err := loadRuns(args)
			if err != nil {
				return err
			}
			if to == (files{}) && len(args) == 1 {
				to = defaultFiles(args[0])
			}
			code := exitCodeOf(run)
			if err := writeReports(p, run, to); err != nil {
				return unshown(code, strings.Join(args, " "), err)
			}
			return exitWith(code)
		},
	}
	fileFlags(cmd, &to, &summary)
	return cmd
}

// loadRuns reads folders of runs as one.
func loadRuns(dirs []string) (*reports.Run, error) {
	var runs []*reports.Run
	for _, dir := range dirs {
		run, err := reports.Load(dir)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if len(runs) == 1 {
		return runs[0], nil
	}
	return reports.Join(runs...)
}

func defaultFiles(dir string) files {
	return files{
		inRun:    true,
		html:     filepath.Join(dir, "report.html"),
		junit:    filepath.Join(dir, "junit.xml"),
		markdown: filepath.Join(dir, "summary.md"),
	}
}

// writeReports prints a run, writes its report files, and ends by naming the
// HTML page.
func writeReports(p *process, run *reports.Run, to files) error {
	if to.onStdout() > 0 {
		return writeFiles(p, run, to)
	}
	// The files are written even when nobody reads the text.
	if err := errors.Join(printText(p, run), writeFiles(p, run, to)); err != nil {
		return err
	}
	if to.html != "" {
		fmt.Fprintf(p.stdout, "report: %s\n", to.html)
	}
	return nil
}

func printText(p *process, run *reports.Run) error {
	return reports.Text(p.stdout, run, &reports.TextOptions{Color: p.colour(p.stdout), Escape: escape(p.stdout)})
}

// writeFiles writes the reports that have a name. One that cannot be written
// keeps no other from being.
func writeFiles(p *process, run *reports.Run, to files) error {
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{to.junit, func(w io.Writer) error { return reports.JUnit(w, run) }},
		{to.markdown, func(w io.Writer) error { return reports.Markdown(w, run) }},
		{to.html, func(w io.Writer) error { return reports.HTML(w, run, nil) }},
		{to.csv, func(w io.Writer) error { return reports.CSV(w, run) }},
	} {
		switch {
		case f.name == "":
		case f.name == stdout:
			errs = append(errs, f.write(p.stdout))
		case to.inRun:
			errs = append(errs, plainfile.Replace(f.name, 0o600, f.write))
		default:
			errs = append(errs, writeFile(f.name, f.write))
		}
	}
	if to.summary != "" {
		errs = append(errs, appendSummary(to.summary, run))
	}
	if to.annotations {
		errs = append(errs, reports.Annotations(p.stderr, run))
	}
	return errors.Join(errs...)
}

// appendSummary adds to what steps before have written.
func appendSummary(name string, run *reports.Run) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(reports.Markdown(f, run), f.Close())
}

// exitCodeOf is the exit code that a run stands for.
func exitCodeOf(loaded *reports.Run) int {
	result := run.Result{Manifest: loaded.Manifest, Records: make([]trials.Record, len(loaded.Trials))}
	for i := range loaded.Trials {
		t := &loaded.Trials[i] // of a large run no more than the exit code rests on
		result.Records[i] = trials.Record{Key: t.Key, Pos: t.Pos, Outcome: t.Outcome, Cause: t.Cause, Counts: t.Counts, Cassette: t.Cassette}
	}
	return result.ExitCode()
}

// exitWith is the error of a command that has said all there was to say.
func exitWith(code int) error {
	if code == int(exitPassed) {
		return nil
	}
	return &codeError{code: exitCode(code)}
}
