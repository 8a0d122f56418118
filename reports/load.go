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

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Run is a run as it was loaded.
type Run struct {
	// Dir is the folder that it was loaded from; empty for one that was joined.
	Dir      string
	Manifest trials.Manifest
	// Trials has one entry a key, in any order; the writers sort.
	Trials []Trial
	// Warnings are doubts met while loading: a transcript that is gone, a
	// manifest that is missing. The writers show them.
	Warnings []string

	sides [sideB + 1]string // what the two runs of a diff are called
}

// Trial is one trial of a [Run].
//
// A run that [Load] has read may be large, so it leaves in the files what only a
// page of the trial shows: the answers, the verdicts that are passed or skipped,
// and of trials that passed or were skipped the trajectory.
type Trial struct {
	trials.Record
	// Witness is what both witnesses said, whole. It is nil in a run that [Load]
	// has read: [HTML] reads the file of each trial when it comes to it.
	Witness *trials.Detail

	dir  string      // of the run; empty for a trial that was never in a file
	span trials.Span // of the record in its file
	side side        // of a diff
}

// whole is the trial with all that its files have. The trial itself is whole
// when it comes from no file. What cannot be read is an error, beside as much
// as there is.
func (t *Trial) whole() (*Trial, error) {
	if t.dir == "" {
		return t, nil
	}
	r, err := trials.ReadSpan(t.dir, t.span, t.Key)
	if err != nil {
		return t, err
	}
	out := &Trial{Record: r, side: t.side}
	if r.Detail == "" {
		return out, nil
	}
	d, err := trials.ReadDetail(t.dir, r)
	if err != nil {
		return out, fmt.Errorf("no transcript of %s: %w", r.Key, err)
	}
	out.Witness = &d
	return out, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Load reads a run folder: run.json and trials.jsonl. That a transcript is gone
// which a record names, and whatever else is missing or broken, becomes a
// warning of the run; trials.jsonl is enough. The memory that it takes grows
// with the number of trials, and not with what is in their transcripts.
func Load(dir string) (*Run, error) {
	run := &Run{Dir: dir}
	manifest, merr := trials.ReadManifest(dir)
	if info, err := os.Stat(filepath.Join(dir, trials.RecordsFile)); err == nil {
		// A list that grows is in memory twice. No record is this short.
		run.Trials = make([]Trial, 0, min(max(manifest.Planned, 0), int(info.Size()/100)))
	}
	l := loader{dir: dir, run: run, at: map[trials.Key]int{}, texts: map[string]string{}}
	torn, err := trials.Scan(filepath.Join(dir, trials.RecordsFile), l.add)
	switch {
	case errors.Is(merr, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist):
		if list := runsIn(dir); len(list) > 0 {
			return nil, fmt.Errorf("%q is a folder of runs, not a run: name one of them, such as %s", dir, strings.Join(list, ", "))
		}
		return nil, fmt.Errorf("%q is not the folder of a run: want the folder that `rehearse run` prints at its end, such as runs/20260102-150405-demo", dir)
	case isFile(dir):
		return nil, fmt.Errorf("%q is a file: want the folder of a run, which `rehearse run` prints at its end, such as runs/20260102-150405-demo", dir)
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
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Detail == "" {
			continue
		}
		if err := trials.CheckDetail(dir, t.Record); err != nil {
			run.Warnings = append(run.Warnings, fmt.Sprintf("no transcript of %s: %v", t.Key, err))
		}
	}
	if torn {
		run.Warnings = append(run.Warnings, fmt.Sprintf("the last record of %s is incomplete and was left out: the run was killed while writing it", trials.RecordsFile))
	}
	if n := run.Manifest.Planned; len(run.Trials) < n && !run.Manifest.Interrupted {
		run.Warnings = append(run.Warnings, fmt.Sprintf("%d of %s planned are recorded: the run is still going or was killed", len(run.Trials), prose.Count(n, "trial")))
	}
	return run, nil
}

// loader takes the records of a run one after another.
type loader struct {
	dir   string
	run   *Run
	at    map[trials.Key]int
	texts map[string]string // one copy of each text that many records have
}

// add keeps a record. It replaces an error that has its key.
func (l *loader) add(r trials.Record, s trials.Span) error {
	t := Trial{Record: l.light(r), dir: l.dir, span: s}
	if i, ok := l.at[r.Key]; ok {
		l.run.Trials[i] = t
		return nil
	}
	l.at[t.Key] = len(l.run.Trials)
	l.run.Trials = append(l.run.Trials, t)
	return nil
}

// light is a record without what [Trial] says is left in the files, and with
// texts that it shares with others.
func (l *loader) light(r trials.Record) trials.Record {
	for _, s := range []*string{
		&r.Suite, &r.Scenario, &r.Case, &r.File, &r.Subject, &r.Model, &r.Variant, &r.Pos.File,
		&r.Hashes.Scenario, &r.Hashes.Scorers, &r.Hashes.Tools, &r.Hashes.Entry,
	} {
		*s = l.share(*s)
	}
	for i := range r.Tags {
		r.Tags[i] = l.share(r.Tags[i])
	}
	for i := range r.Answered {
		r.Answered[i] = l.share(r.Answered[i])
	}
	if r.Outcome == harness.OutcomePassed || r.Outcome == harness.OutcomeSkipped {
		r.Trajectory = nil
	}
	r.Answers = nil
	r.Verdicts = slices.DeleteFunc(r.Verdicts, func(v trials.Verdict) bool {
		return (v.State == trials.Passed || v.State == trials.Skipped) && v.Judgement == nil
	})
	// A list that was decoded has room for more.
	r.Verdicts, r.Trajectory, r.TTFT, r.Latency = snug(r.Verdicts), snug(r.Trajectory), snug(r.TTFT), snug(r.Latency)
	r.Tags, r.Answered = snug(r.Tags), snug(r.Answered)
	return r
}

// snug is a copy of a list with room for no more.
func snug[T any](list []T) []T {
	switch {
	case len(list) == 0:
		return nil
	case cap(list) == len(list):
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

func (l *loader) share(s string) string {
	if have, ok := l.texts[s]; ok {
		return have
	}
	l.texts[s] = s
	return s
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
