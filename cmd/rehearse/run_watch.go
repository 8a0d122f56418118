// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// lookEvery is how often a watched run looks for changes.
const lookEvery = 300 * time.Millisecond

// runWatched plays scenarios, and again whenever a file changes that the run
// depends on, until ctx ends.
func runWatched(ctx context.Context, p *process, paths []string, opts *run.Options, flags *runFlags) error {
	if opts.Resume != "" || flags.shard != "" {
		return errors.New("--watch plays anew at each change: it goes with neither --resume nor --shard")
	}
	if err := wrongUse(p, paths, opts, flags); err != nil {
		return err // no change of a file mends it
	}
	ticks, stop := p.ticker(lookEvery)
	defer stop()
	w := newWatcher(paths)
	for {
		// What changes while it is played counts. A file that was read once stays: it
		// may be away, or what names it may have a mistake, for a moment alone.
		w.read = slices.Concat(w.read, p.filesOf(paths, flags))
		slices.Sort(w.read)
		w.read = slices.Compact(w.read)
		w.served = w.look()
		w.last = w.served
		again := *opts
		err := runScenarios(ctx, p, paths, &again, flags)
		p.tell(err)
		what := "played"
		if code := new(codeError); err != nil && !errors.As(err, &code) {
			what = "not played"
		}
		for p.logf("rehearse: %s; waiting for a change, Ctrl-C ends", what); !w.changed(); {
			select {
			case <-ctx.Done():
				return nil
			case <-ticks:
			}
		}
	}
}

// wrongUse is what is wrong with paths and flags, whatever the files say.
func wrongUse(p *process, paths []string, opts *run.Options, flags *runFlags) error {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	for _, f := range flags.patterns() {
		if _, err := f.compile(); err != nil {
			return err
		}
	}
	if err := flags.files.check(); err != nil {
		return err
	}
	trial := *opts
	quiet := *p
	quiet.stderr = io.Discard // the run says it
	return modelSide(&quiet, paths, &trial, flags)
}

// filesOf are the files that a run depends on, as far as that can be read: those
// of scenarios and of the project, and those that commands of subjects name.
func (p *process) filesOf(paths []string, flags *runFlags) []string {
	set, _ := scenarios.Load(paths, &scenarios.Options{LookupEnv: p.getenv, Offline: flags.mode == string(harness.ModeReplay)}) // the run says what is wrong
	files := slices.Clone(set.Files)
	for _, path := range paths {
		files = append(files, filepath.Join(folderOf(path), project.File)) // it may come
		found, err := project.Find(folderOf(path))
		if mistakes := project.Errors(nil); errors.As(err, &mistakes) {
			files = append(files, mistakes[0].Pos.File)
		} else if err == nil && found.Path != "" {
			files = append(files, found.Path)
		}
	}
	for _, s := range set.Scenarios {
		if s.Subject != nil {
			files = append(files, s.Subject.Files...)
		}
	}
	for _, text := range flags.subjects {
		if subject, err := scenarios.SubjectOf(text, folderOf(paths[0])); err == nil {
			files = append(files, subject.Files...)
		}
	}
	return files
}
