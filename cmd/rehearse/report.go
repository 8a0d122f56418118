// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/reports"
)

// files names where to write which report; empty names write none.
type files struct{ html, junit, markdown string }

// stdout is the name of a file that is none.
const stdout = "-"

var errTwoOnStdout = errors.New("standard output has room for one document: only one of the reports can be -, and none beside --json")

// onStdout counts the reports that go to standard output.
func (f files) onStdout() int {
	n := 0
	for _, name := range []string{f.html, f.junit, f.markdown} {
		if name == stdout {
			n++
		}
	}
	return n
}

func reportCommand(p *process) *cobra.Command {
	var to files
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Print a finished run again and write its reports",
		Long: `report reads the folder of a run and prints its results. It plays nothing. Without
flags it writes report.html, junit.xml and summary.md into the folder anew.

Several runs become one report, such as one of mocks and one of recordings. Of a
trial that is in several the last one counts. Files are written where flags name
them, and only there.

The exit code is that of the run: 0, 1, 2 or 3, as ` + "`rehearse --help`" + ` says.`,
		Example: "  rehearse report runs/20260102-150405-gemflux\n  rehearse report runs/20260102-150405-gemflux --html out.html\n  rehearse report runs/*-mocks runs/*-recorded --html both.html",
		Args:    minArgs(1, "the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if to.onStdout() > 1 {
				return errTwoOnStdout
			}
			run, err := loadRuns(args)
			if err != nil {
				return err
			}
			if to == (files{}) && len(args) == 1 {
				to = defaultFiles(args[0])
			}
			if err := writeReports(p, run, to); err != nil {
				return err
			}
			return outcome(run)
		},
	}
	f := cmd.Flags()
	f.StringVar(&to.html, "html", "", "write the HTML page to this file; - is standard output, in place of text")
	f.StringVar(&to.junit, "junit", "", "write JUnit XML to this file; - as above")
	f.StringVar(&to.markdown, "markdown", "", "write the Markdown summary to this file; - as above")
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
	return reports.Join(runs...), nil
}

func defaultFiles(dir string) files {
	return files{
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
	err := reports.Text(p.stdout, run, &reports.TextOptions{Color: p.colour(p.stdout)})
	if err := errors.Join(err, writeFiles(p, run, to)); err != nil {
		return err
	}
	if to.html != "" {
		fmt.Fprintf(p.stdout, "report: %s\n", to.html)
	}
	return nil
}

// writeFiles writes the reports that have a name.
func writeFiles(p *process, run *reports.Run, to files) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{to.junit, func(w io.Writer) error { return reports.JUnit(w, run) }},
		{to.markdown, func(w io.Writer) error { return reports.Markdown(w, run) }},
		{to.html, func(w io.Writer) error { return reports.HTML(w, run, nil) }},
	} {
		switch f.name {
		case "":
			continue
		case stdout:
			if err := f.write(p.stdout); err != nil {
				return err
			}
			continue
		}
		if err := writeFile(f.name, f.write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			err = fmt.Errorf("writing %q: %w", name, err)
		}
	}()
	return write(f)
}

// outcome turns a run into the exit code it stands for.
func outcome(loaded *reports.Run) error {
	result := run.Result{Manifest: loaded.Manifest}
	for _, t := range loaded.Trials {
		result.Records = append(result.Records, t.Record)
	}
	if code := result.ExitCode(); code != 0 {
		return &codeError{code: exitCode(code)}
	}
	return nil
}
