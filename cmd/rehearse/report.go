// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/reports"
)

// files names where to write which report; empty names write none.
type files struct{ html, junit, markdown string }

func reportCommand(p *process) *cobra.Command {
	var to files
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print a finished run again and write its reports",
		Long: `report reads the folder of a run and prints its results. It plays nothing. Without
flags it writes report.html, junit.xml and summary.md into the folder anew.`,
		Example: "  rehearse report runs/20260102-150405-gemflux\n  rehearse report runs/20260102-150405-gemflux --html out.html",
		Args:    cobra.MatchAll(minArgs(1, "the folder of a run"), cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := reports.Load(args[0])
			if err != nil {
				return err
			}
			if to == (files{}) {
				to = defaultFiles(args[0])
			}
			if err := writeReports(p, run, to); err != nil {
				return err
			}
			return outcome(run)
		},
	}
	f := cmd.Flags()
	f.StringVar(&to.html, "html", "", "write the HTML page to this file")
	f.StringVar(&to.junit, "junit", "", "write JUnit XML to this file")
	f.StringVar(&to.markdown, "markdown", "", "write the Markdown summary to this file")
	return cmd
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
	if err := reports.Text(p.stdout, run, &reports.TextOptions{Color: p.colour(p.stdout)}); err != nil {
		return err
	}
	if err := writeFiles(run, to); err != nil {
		return err
	}
	if to.html != "" {
		fmt.Fprintf(p.stdout, "report: %s\n", to.html)
	}
	return nil
}

// writeFiles writes the reports that have a name.
func writeFiles(run *reports.Run, to files) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{to.junit, func(w io.Writer) error { return reports.JUnit(w, run) }},
		{to.markdown, func(w io.Writer) error { return reports.Markdown(w, run) }},
		{to.html, func(w io.Writer) error { return reports.HTML(w, run, nil) }},
	} {
		if f.name == "" {
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
func outcome(run *reports.Run) error {
	unjudged := len(run.Trials) == 0
	for _, t := range run.Trials {
		switch t.Outcome {
		case harness.OutcomeFailed:
			return &codeError{code: exitFailed}
		case harness.OutcomeError:
			unjudged = true
		}
	}
	if unjudged {
		return &codeError{code: exitUnjudged}
	}
	return nil
}
