// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// mayContinue finds options about run folders that do not go together.
func mayContinue(o *Options) error {
	switch {
	case o.Resume != "" && o.Folder != "":
		return errors.New("both Resume and Folder name the run folder: set one of them")
	case o.RetryErrors && o.Resume == "" && o.Folder == "":
		return errors.New("only a run that is resumed has errors to retry: set Resume (--resume RUN)")
	case o.goTest != "" && (o.Resume != "" || o.Folder != "" || o.Shard != (trials.Shard{})):
		return errors.New("only run.Run has Shard, Resume and Folder; select the subtests of run.Test with go test -run")
	}
	return o.Shard.Check()
}

// place finds the folder of a run and says which trials are to be played: the
// one selection, by keys, for shards and for runs that are resumed. Records
// that are kept are in res then.
func (r *runner) place(res *Result, jobs []job) ([]job, *folder, error) {
	if shard := r.opts.Shard; shard != (trials.Shard{}) {
		res.Manifest.Shard, res.Manifest.Whole = shard, len(jobs)
		keys := make([]trials.Key, len(jobs))
		for i, j := range jobs {
			keys[i] = j.key
		}
		mine := map[trials.Key]bool{}
		for _, k := range shard.Of(keys) {
			mine[k] = true
		}
		jobs = only(jobs, func(k trials.Key) bool { return mine[k] })
		res.Manifest.Planned = len(jobs)
	}
	out, retried, err := r.open(res, jobs)
	if err != nil {
		return nil, nil, err
	}
	kept := map[trials.Key]bool{}
	for _, rec := range res.Records {
		kept[rec.Key] = true
	}
	r.ledger.add(res.Records...)
	jobs = only(jobs, func(k trials.Key) bool { return !kept[k] })
	if r.opts.Observer != nil {
		r.opts.Observer.Planned(Plan{
			Dir: res.Dir, Trials: len(jobs), Kept: len(kept), Retried: retried, Shard: res.Manifest.Shard, Whole: res.Manifest.Whole,
			Spent: r.ledger.spent(),
		})
	}
	return jobs, out, nil
}

// only are the jobs whose key is wanted, in their order.
func only(jobs []job, want func(trials.Key) bool) []job {
	var out []job
	for _, j := range jobs {
		if want(j.key) {
			out = append(out, j)
		}
	}
	return out
}

// open makes the folder of a run, or opens it again. It returns nil for a run
// that writes no files.
func (r *runner) open(res *Result, jobs []job) (out *folder, retried int, err error) {
	if out, err = r.folder(); err != nil || out == nil {
		return nil, 0, err
	}
	res.Dir = out.dir
	if r.opts.Resume != "" || r.opts.Folder != "" {
		retried, err = r.resume(res, jobs)
	}
	if err == nil {
		err = out.begin(res.Manifest)
	}
	if err != nil && out != r.opts.into {
		out.close()
	}
	return out, retried, err
}

// folder is the folder of a run, locked, as the options have it.
func (r *runner) folder() (*folder, error) {
	switch o := &r.opts; {
	case o.into != nil:
		return o.into, nil
	case o.Resume != "":
		if _, err := os.Stat(filepath.Join(o.Resume, trials.ManifestFile)); err != nil {
			return nil, fmt.Errorf("run folder %q cannot be resumed: %w; want the folder that `rehearse run` prints at its end, such as runs/20260102-150405-demo", o.Resume, err)
		}
		return openFolder(o.Resume)
	case o.Folder != "":
		if err := os.MkdirAll(o.Folder, 0o700); err != nil {
			return nil, err
		}
		return openFolder(o.Folder)
	case o.Out != "":
		return newFolder(o.Out, o.Name)
	}
	return nil, nil
}

// resume takes over what a run folder has finished.
func (r *runner) resume(res *Result, jobs []job) (retried int, err error) {
	was, err := trials.ReadManifest(res.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // killed before it had begun
	}
	if err != nil {
		return 0, err
	}
	if err := sameRun(res.Dir, &was, &res.Manifest); err != nil {
		return 0, err
	}
	records, err := trials.ReadFile(filepath.Join(res.Dir, trials.RecordsFile))
	if err != nil {
		return 0, err
	}
	planned := map[trials.Key]string{} // the hash of the subject
	for _, j := range jobs {
		planned[j.key] = j.subject.Hash
	}
	kept := slices.DeleteFunc(slices.Clone(records), func(rec trials.Record) bool { return r.retries(rec) })
	if err := sameSubjects(res.Dir, kept, planned); err != nil {
		return 0, err
	}
	for _, rec := range records {
		_, known := planned[rec.Key]
		switch {
		case !known:
			return 0, fmt.Errorf("run folder %q has a trial that this run does not have: %s", res.Dir, rec.Key)
		case r.retries(rec):
			r.ledger.add(rec) // it was paid for
			retried++
		default:
			res.Records = append(res.Records, rec)
		}
	}
	res.Manifest.Started = was.Started
	res.Manifest.Continued = was.Continued + 1
	return retried, nil
}

// retries reports whether a run that is resumed plays a trial again.
func (r *runner) retries(rec trials.Record) bool {
	return r.opts.RetryErrors && rec.Outcome == harness.OutcomeError
}

// sameSubjects compares the descriptions of the subjects that have played with
// those of the subjects that are to go on, by the trials, since two scenarios may
// describe two subjects of one name.
func sameSubjects(dir string, records []trials.Record, planned map[trials.Key]string) error {
	var diffs []string
	for _, rec := range records {
		now, known := planned[rec.Key]
		diff := fmt.Sprintf("subject %q: hash %s in the folder; now %s", rec.Subject, cmp.Or(rec.Hashes.Subject, "none"), cmp.Or(now, "none"))
		if known && rec.Hashes.Subject != now && !slices.Contains(diffs, diff) {
			diffs = append(diffs, diff)
		}
	}
	return otherRun(dir, diffs)
}

// otherRun is the error for a run that differs; nil without a difference.
func otherRun(dir string, diffs []string) error {
	if len(diffs) == 0 {
		return nil
	}
	return fmt.Errorf("run folder %q cannot be resumed, because it is of another run:\n  %s\nundo these changes, or start a new run", dir, strings.Join(diffs, "\n  "))
}

// sameRun compares what a run folder was begun for with what is to go on in
// it, and names every difference.
func sameRun(dir string, was, now *trials.Manifest) error {
	var diffs []string
	differ := func(what string, was, now any) {
		if was != now {
			diffs = append(diffs, fmt.Sprintf("%s: %v in the folder; now %v", what, was, now))
		}
	}
	differ("mode", was.Mode, now.Mode)
	differ("subject", was.Subject, now.Subject)
	differ("seed", was.Seed, now.Seed)
	differ("shard", shardText(was.Shard), shardText(now.Shard))
	diffs = append(diffs, differences(was.Models, now.Models,
		func(m trials.Model) string { return fmt.Sprintf("model %q", m.Label) },
		entryText)...)
	diffs = append(diffs, differences(was.Scenarios, now.Scenarios,
		func(s trials.Source) string { return fmt.Sprintf("scenario %q (%s)", s.Name(), s.File) },
		func(s trials.Source) string {
			text := fmt.Sprintf("hash %s, hash of its expectations %s, trials %d", s.Hashes.Scenario, s.Hashes.Scorers, s.Trials)
			if s.Hashes.Variant != "" {
				text += ", hash of its variants " + s.Hashes.Variant
			}
			return text
		})...)
	return otherRun(dir, diffs)
}

// entryText is what counts of a model entry: what is asked, where and how.
func entryText(m trials.Model) string {
	m.Label, m.Answered, m.Key, m.Price, m.Rate = "", nil, "", nil, trials.Rate{}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // names, texts and numbers
	}
	return string(text)
}

func shardText(s trials.Shard) string {
	if s == (trials.Shard{}) {
		return "none"
	}
	return s.String()
}

// differences are those of two lists of named things, by what counts of each.
func differences[T any](was, now []T, name, text func(T) string) []string {
	var out []string
	texts := map[string]string{}
	for _, v := range now {
		texts[name(v)] = text(v)
	}
	for _, v := range was {
		switch n, there := name(v), text(v); {
		case texts[n] == "":
			out = append(out, n+": in the folder only")
		case texts[n] != there:
			out = append(out, fmt.Sprintf("%s: %s in the folder; now %s", n, there, texts[n]))
		}
		delete(texts, name(v))
	}
	for _, v := range now {
		if _, left := texts[name(v)]; left {
			out = append(out, name(v)+": not in the folder")
		}
	}
	return out
}
