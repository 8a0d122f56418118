// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/reports"
)

func mergeCommand(p *process) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge RUN... --out RUN",
		Short: "Make one run folder of several, such as the shards of a run",
		Long: `merge writes the trials, the transcripts and the manifest of several runs into a new
run folder. It plays nothing, and the folders that it reads stay as they are.

It refuses runs that both have a finished trial of one key, and runs in which a
scenario, its tools or a model entry differ under one name. A finished trial
replaces an error of another run. A shard that is missing is a warning, and
rehearse report on the new folder counts its trials as not run.

The exit code is 0 when the folder was written, whatever the outcomes are.`,
		Example: "  rehearse merge runs/night-1-of-2 runs/night-2-of-2 --out runs/night\n  rehearse merge shards/*/* --out runs/all && rehearse report runs/all",
		Args:    minArgs(1, "the folder of a run"),
		PreRunE: func(*cobra.Command, []string) error {
			if out == "" {
				return errors.New("merge needs --out: the name of the run folder to make")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return mergeRuns(p, args, out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "the run folder to make; there must be nothing of that name, or an empty folder")
	return cmd
}

func mergeRuns(p *process, dirs []string, out string) error {
	list, err := os.ReadDir(out)
	if err == nil && len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--out %q already exists, and a run is not merged into it: name a new folder", out)
	}
	var parts []trials.Part
	var warnings []string
	for _, dir := range dirs {
		run, err := reports.Load(dir) // which says what is wrong with a folder
		if err != nil {
			return err
		}
		for _, w := range run.Warnings {
			warnings = append(warnings, run.Manifest.Name+": "+w)
		}
		records, _, err := trials.Salvage(filepath.Join(dir, trials.RecordsFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		parts = append(parts, trials.Part{Dir: dir, Manifest: run.Manifest, Records: records})
	}
	joined, err := trials.Join(parts...)
	if err != nil {
		return err
	}
	joined.Manifest.Warnings = append(joined.Manifest.Warnings, warnings...)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	// It gets its name when it is whole.
	made, err := os.MkdirTemp(filepath.Dir(out), ".merge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if err := writeJoined(made, joined, dirs); err != nil {
		return fmt.Errorf("writing run %q: %w", out, err)
	}
	if err := os.Remove(out); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return err
	}
	if err := os.Rename(made, out); err != nil {
		return err
	}
	for _, w := range joined.Manifest.Warnings {
		fmt.Fprintf(p.stderr, "warning: %s\n", w)
	}
	fmt.Fprintf(p.stdout, "%s: %s of %s\n", out, prose.Count(len(joined.Records), "trial"), prose.Count(len(dirs), "run"))
	return nil
}

// writeJoined writes the folder of a run that was joined of others.
func writeJoined(dir string, run *trials.Joined, dirs []string) error {
	records, err := trials.Append(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		return err
	}
	for i, rec := range run.Records {
		detail, missing := trials.ReadDetail(dirs[run.From[i]], rec)
		if rec.Detail == "" || missing != nil {
			if rec.Detail != "" && !errors.Is(missing, fs.ErrNotExist) { // which is a warning of the run already
				run.Manifest.Warnings = append(run.Manifest.Warnings, fmt.Sprintf("no transcript of %s: %v", rec.Key, missing))
			}
			rec.Detail = ""
		} else if rec.Detail, err = trials.WriteDetail(dir, detail); err != nil {
			break
		}
		if err = records.Write(rec); err != nil {
			break
		}
	}
	if err := errors.Join(err, records.Close()); err != nil {
		return err
	}
	return trials.WriteManifest(dir, run.Manifest)
}
