// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/reports"
)

// folder is a run folder that is being written, by one run or by several at a
// time.
type folder struct {
	dir string

	mu       sync.Mutex // guards the fields below
	out      *trials.Writer
	manifest trials.Manifest // of the runs so far, together
	records  []trials.Record // of what was played: as much as rules need
	begun    bool
}

// openFolder takes a run folder that is there for this process alone.
func openFolder(dir string) (*folder, error) {
	out, err := trials.Append(filepath.Join(dir, trials.RecordsFile))
	if errors.Is(err, trials.ErrBusy) {
		return nil, fmt.Errorf("run folder %q: another process writes to it now; wait for its end, or choose another folder", dir)
	}
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, out: out}, nil
}

// newFolder makes a run folder whose name nobody has taken.
func newFolder(out, name string) (*folder, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	base := filepath.Join(out, time.Now().UTC().Format("20060102-150405")+"-"+trials.FileName(name, "run"))
	dir := base
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			return openFolder(dir)
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// begin takes note of what a run is to do.
func (f *folder) begin(m trials.Manifest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(m)
	return trials.WriteManifest(f.dir, f.manifest)
}

func (f *folder) add(m trials.Manifest) {
	if !f.begun {
		f.manifest, f.begun = m, true
		f.manifest.Models, f.manifest.Scenarios = slices.Clone(m.Models), slices.Clone(m.Scenarios)
		return
	}
	f.manifest.Planned += m.Planned
	f.manifest.Scenarios = append(f.manifest.Scenarios, m.Scenarios...)
	for _, t := range m.Thresholds {
		if !slices.Contains(f.manifest.Thresholds, t) {
			f.manifest.Thresholds = append(f.manifest.Thresholds, t)
		}
	}
	for _, v := range m.Variants {
		if !slices.Contains(f.manifest.Variants, v) {
			f.manifest.Variants = append(f.manifest.Variants, v)
		}
	}
	for _, model := range m.Models {
		f.model(model)
	}
}

// model adds a model, or the names by which it answered to it.
func (f *folder) model(m trials.Model) {
	i := slices.IndexFunc(f.manifest.Models, func(have trials.Model) bool { return have.Label == m.Label })
	if i < 0 {
		f.manifest.Models = append(f.manifest.Models, m)
		return
	}
	answered := slices.Concat(f.manifest.Models[i].Answered, m.Answered)
	slices.Sort(answered)
	f.manifest.Models[i].Answered = slices.Compact(answered)
}

func (f *folder) write(rec *trials.Record, detail trials.Detail) error {
	var err error
	if rec.Detail, err = trials.WriteDetail(f.dir, detail); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.manifest.Ruled() {
		f.records = append(f.records, trials.Record{Key: rec.Key, Pos: rec.Pos, Outcome: rec.Outcome})
	}
	return f.out.Write(*rec)
}

// end takes note of how a run has ended.
func (f *folder) end(m trials.Manifest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, model := range m.Models {
		f.model(model)
	}
	f.manifest.Started, f.manifest.Finished = earlier(f.manifest.Started, m.Started), m.Finished
	f.manifest.Interrupted = f.manifest.Interrupted || m.Interrupted
	f.manifest.Warnings = append(f.manifest.Warnings, m.Warnings...)
	f.manifest.Rules = trials.JudgeRules(&f.manifest, f.records)
	return trials.WriteManifest(f.dir, f.manifest)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (f *folder) close() error { return f.out.Close() }

// report writes the reports of all trials so far into the folder, and returns
// the name of the page.
func (f *folder) report() (string, error) {
	run, err := reports.Load(f.dir)
	if err != nil {
		return "", err
	}
	page := filepath.Join(f.dir, "report.html")
	for _, r := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{page, func(w io.Writer) error { return reports.HTML(w, run, nil) }},
		{filepath.Join(f.dir, "junit.xml"), func(w io.Writer) error { return reports.JUnit(w, run) }},
		{filepath.Join(f.dir, "summary.md"), func(w io.Writer) error { return reports.Markdown(w, run) }},
	} {
		if err := plainfile.Replace(r.name, 0o600, r.write); err != nil {
			return "", err
		}
	}
	return page, nil
}
