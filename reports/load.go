// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// Run is a run as it was loaded.
type Run struct {
	Manifest trials.Manifest
	// Trials has one entry a key, in any order; the writers sort.
	Trials []Trial
	// Warnings are doubts met while loading: a transcript that is gone, a
	// manifest that is missing. The writers show them.
	Warnings []string
}

// Trial is one trial of a [Run].
type Trial struct {
	trials.Record
	// Witness is what both witnesses said, whole; nil when there is no file
	// of it. Only the HTML page needs it.
	Witness *trials.Detail
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Load reads a run folder: run.json, trials.jsonl and the transcripts that its
// records name. trials.jsonl is enough; what else is missing or broken becomes
// a warning of the run.
func Load(dir string) (*Run, error) {
	run := &Run{}
	manifest, merr := trials.ReadManifest(dir)
	records, torn, err := trials.Salvage(filepath.Join(dir, trials.RecordsFile))
	switch {
	case errors.Is(merr, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist):
		if list := runsIn(dir); len(list) > 0 {
			return nil, fmt.Errorf("%q holds runs and is none: name one of them, such as %s", dir, strings.Join(list, ", "))
		}
		return nil, fmt.Errorf("%q is no folder of a run: want the one that `rehearse run` names at its end, such as runs/20260102-150405-demo", dir)
	case isFile(dir):
		return nil, fmt.Errorf("%q is a file: want the folder of a run, such as runs/20260102-150405-demo, which `rehearse run` names at its end", dir)
	case merr == nil && errors.Is(err, fs.ErrNotExist):
		// Stopped before the first trial ended.
	case err != nil:
		return nil, fmt.Errorf("loading run %q: %w", dir, err)
	}
	run.Manifest = manifest
	if merr != nil {
		run.Manifest = trials.Manifest{Name: filepath.Base(dir)}
		run.Warnings = append(run.Warnings, fmt.Sprintf("no manifest: %v", merr))
	}
	for _, r := range trials.Merge(records) {
		t := Trial{Record: r}
		if r.Detail != "" {
			d, err := trials.ReadDetail(dir, r)
			if err != nil {
				run.Warnings = append(run.Warnings, fmt.Sprintf("no transcript of %s: %v", r.Key, err))
			} else {
				t.Witness = &d
			}
		}
		run.Trials = append(run.Trials, t)
	}
	if torn {
		run.Warnings = append(run.Warnings, fmt.Sprintf("the last record of %s is torn and was left out: the run was killed while it wrote", trials.RecordsFile))
	}
	if n := run.Manifest.Planned; len(run.Trials) < n && !run.Manifest.Interrupted {
		run.Warnings = append(run.Warnings, fmt.Sprintf("%d of %s planned are here: the run goes on or was killed", len(run.Trials), count(n, "trial")))
	}
	return run, nil
}

// runsIn lists the newest run folders in a folder: their names begin with the
// time.
func runsIn(dir string) []string {
	var out []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is nothing to list; the caller says what it looked for
	}
	for _, e := range slices.Backward(entries) {
		name := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(name, trials.ManifestFile)); err == nil {
			out = append(out, name)
		}
		if len(out) == 3 {
			break
		}
	}
	return out
}
