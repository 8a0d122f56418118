// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// MockModel is the model that a subject is told to ask for in mock mode, when
// [Options] names none.
const MockModel = "rehearse-mock"

// Options are the settings of [Run] and [Test].
type Options struct {
	// Subject is the client under test. Required.
	Subject harness.Subject
	// SubjectName stands in records. Default "subject".
	SubjectName string
	// Foreign says that the subject is another process: it gets everything by
	// URL. Default: an endpoint and mock servers have a URL and a shortcut in
	// memory ([harness.Endpoint], [harness.Server]), and the subject takes
	// what suits it; servers that are commands have the shortcut alone.
	Foreign bool
	// Mode is mock, live, record (live, and recorded) or replay (of what was
	// recorded). Default mock.
	Mode harness.Mode
	// Models to ask for, by name. Default in mock mode [MockModel], in replay
	// those that are recorded; live and record need at least one.
	Models []string
	// BaseURL of the endpoint in the modes live and record, ending in /v1, and
	// its key. The key may be empty.
	BaseURL, APIKey string
	// Transport carries requests to the endpoint in the modes live and record.
	// Default: as [http.DefaultTransport] does, over connections of the run's
	// own.
	Transport http.RoundTripper
	// Cassettes is the folder of the recordings. Default: for each scenario
	// the folder cassettes beside its file; see
	// [scenarios.Scenario.CassettePath].
	Cassettes string
	// LookupEnv finds CI, which forbids to record. Default [os.LookupEnv].
	LookupEnv func(string) (string, bool)
	// Trials of each scenario with each model. Default: what the scenario
	// says in the modes live and record, all that are recorded in replay, else
	// 1.
	Trials int
	// Parallel is how many trials run at a time. Default: the number of CPUs
	// in the modes mock and replay, else 1; in [Test] 1.
	Parallel int
	// Seed goes into the seed of each trial. Zero is a seed like any other.
	Seed int64
	// Timeout of a trial that has no time limit of its own. Default 30
	// seconds in the modes mock and replay, else ten minutes.
	Timeout time.Duration
	// Grace is how long a subject may take to return once its context has
	// ended, and to close; then it is left behind. Default 5 seconds.
	Grace time.Duration
	// Out is the folder in which the run folder is made. Empty writes no
	// files.
	Out string
	// Name of the run, in the folder's name and in run.json. Default "run".
	Name string
	// Version of the program, for run.json. May be empty.
	Version string
	// Unmeasured leaves what is measured out of records and files (times,
	// durations, the order in which calls made at the same time arrived), so
	// that two runs compare equal, byte by byte. Trials run one at a time.
	Unmeasured bool
	// Observer is told of progress. Nil tells nobody.
	Observer Observer
	// Child is a program, with its arguments, that calls [Child] before anything
	// else: what a subject starts for a mock server with transport: process.
	// Default: there is none, and such a scenario is an error.
	Child []string
	// Abort, once closed, has the processes of real servers killed at once,
	// for a run whose context has ended and that must not take its time. Nil
	// never does.
	Abort <-chan struct{}

	liveInTest bool // lets our own tests of live mode run without the tag
}

// Observer is told how a run goes on. Calls come one at a time.
type Observer interface {
	// Planned is called once, first, with the number of trials.
	Planned(n int)
	// Ended is called for each trial when its record is written.
	Ended(r trials.Record)
}

// Result is what a run came to.
type Result struct {
	// Dir is the run folder; empty when no files are written.
	Dir      string
	Manifest trials.Manifest
	// Records of the trials that were finished, in the order of their end.
	Records []trials.Record
}

// ExitCode is the exit status of a program for this run: 0 when all trials
// passed, 1 when one failed or no trial of the run checked anything, 3 when
// none failed but some could not be judged or were not run.
func (r *Result) ExitCode() int {
	unjudged := len(r.Records) < r.Manifest.Planned
	for _, t := range r.Records {
		switch t.Outcome {
		case harness.OutcomeFailed:
			return 1
		case harness.OutcomeError:
			unjudged = true
		case harness.OutcomePassed, harness.OutcomeSkipped:
		}
	}
	switch {
	case r.checkedNothing():
		return 1
	case unjudged:
		return 3
	}
	return 0
}

// checkedNothing reports whether the run came to its end without any check.
// Where an endpoint is down there is nothing to check, and that is known; a
// check that did not run for other reasons is not. A recording is what a trial
// in mode record is for.
func (r *Result) checkedNothing() bool {
	if len(r.Records) < r.Manifest.Planned {
		return false
	}
	for _, t := range r.Records {
		if t.Counts.Checks > 0 || t.Mode == harness.ModeRecord && t.Cassette != "" || t.Outcome == harness.OutcomePassed || t.Outcome == harness.OutcomeFailed ||
			t.Outcome == harness.OutcomeError && t.Cause != nil && t.Cause.Kind != harness.CauseScenario {
			return false
		}
	}
	return true
}

// job is one trial to do.
type job struct {
	scenario *scenarios.Scenario
	key      trials.Key
	memory   *mockllm.Memory // shared by the trials of a scenario with a model
	cassette string          // of modes record and replay
}

// runner holds what the trials of a run share.
type runner struct {
	opts    Options
	gateway *gateway
	idle    func() // closes idle connections to the endpoint; may be nil
	keyless *keyless
}

// Run plays scenarios and judges them. When ctx ends, trials under way are
// stopped and left out, those finished are kept, and Run returns them without
// an error.
func Run(ctx context.Context, list []*scenarios.Scenario, opts *Options) (*Result, error) {
	r, err := newRunner(opts)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if r.opts.Mode == harness.ModeMock {
		if err := playable(r.opts.Subject, list); err != nil {
			return nil, err
		}
	}
	jobs, err := r.jobs(list)
	if err != nil {
		return nil, err
	}
	res := &Result{Manifest: r.manifest(list, jobs)}
	var out *trials.Writer
	if r.opts.Out != "" {
		if res.Dir, err = makeDir(r.opts.Out, r.opts.Name, res.Manifest.Started); err != nil {
			return nil, err
		}
		if err := trials.WriteManifest(res.Dir, res.Manifest); err != nil {
			return nil, err
		}
		if out, err = trials.Append(filepath.Join(res.Dir, trials.RecordsFile)); err != nil {
			return nil, err
		}
		defer out.Close()
	}
	if r.opts.Observer != nil {
		r.opts.Observer.Planned(len(jobs))
	}
	err = r.play(ctx, jobs, func(rec trials.Record, detail trials.Detail) error {
		if r.opts.Unmeasured {
			unmeasured(&rec, &detail)
		}
		if out != nil {
			var err error
			if rec.Detail, err = trials.WriteDetail(res.Dir, detail); err != nil {
				return err
			}
			if err := out.Write(rec); err != nil {
				return err
			}
		}
		res.Records = append(res.Records, rec)
		if r.opts.Observer != nil {
			r.opts.Observer.Ended(rec)
		}
		return nil
	})
	res.finish(ctx.Err() != nil)
	if r.opts.Unmeasured {
		res.Manifest.Started, res.Manifest.Finished = time.Time{}, time.Time{}
	}
	if err == nil && res.Dir != "" {
		err = trials.WriteManifest(res.Dir, res.Manifest)
	}
	return res, err
}

func newRunner(opts *Options) (*runner, error) {
	if opts == nil || opts.Subject == nil {
		return nil, errors.New("no subject to run: set Options.Subject")
	}
	r := &runner{opts: *opts}
	o := &r.opts
	o.SubjectName = cmp.Or(o.SubjectName, "subject")
	o.Name = cmp.Or(o.Name, "run")
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Models = slices.Clone(o.Models)
	if o.Unmeasured {
		o.Parallel = 1
	}
	switch o.Mode = cmp.Or(o.Mode, harness.ModeMock); o.Mode {
	case harness.ModeMock, harness.ModeReplay:
		o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
		o.Parallel = cmp.Or(o.Parallel, runtime.GOMAXPROCS(0))
		if len(o.Models) == 0 && o.Mode == harness.ModeMock {
			o.Models = []string{MockModel}
		}
	case harness.ModeLive, harness.ModeRecord:
		o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
		o.Parallel = cmp.Or(o.Parallel, 1)
		switch {
		case testing.Testing() && !liveInTests && !o.liveInTest:
			return nil, fmt.Errorf("mode %s in a Go test needs the build tag real_llm: go test -tags real_llm", o.Mode)
		case o.BaseURL == "":
			return nil, fmt.Errorf("mode %s needs the base URL of an endpoint", o.Mode)
		case len(o.Models) == 0 || slices.Contains(o.Models, ""):
			return nil, fmt.Errorf("mode %s needs the name of a model", o.Mode)
		}
	default:
		return nil, fmt.Errorf("mode %q is not known: want mock, live, record or replay", o.Mode)
	}
	if o.Mode == harness.ModeRecord {
		if err := mayRecord(o); err != nil {
			return nil, err
		}
	}
	if o.Mode == harness.ModeRecord || o.Mode == harness.ModeReplay {
		seen := map[string]bool{} // a model has one cassette, however often it is named
		o.Models = slices.DeleteFunc(o.Models, func(m string) bool {
			again := seen[m]
			seen[m] = true
			return again
		})
	}
	for i, name := range o.Models {
		if slices.Contains(o.Models[:i], name) {
			return nil, fmt.Errorf("model %q is named twice; to play each scenario with it more often, set the number of trials (--trials)", name)
		}
	}
	if o.Transport == nil {
		own := http.DefaultTransport
		if t, ok := own.(*http.Transport); ok {
			t = t.Clone()
			own, r.idle = t, t.CloseIdleConnections
		}
		o.Transport = own
	}
	var err error
	if r.keyless, err = newKeyless(o.APIKey); err != nil {
		return nil, err
	}
	r.gateway, err = newGateway()
	return r, err
}

// close leaves nothing of the run behind.
func (r *runner) close() {
	// What is still connected is cut off: no error says more than that.
	_ = r.gateway.close()
	if r.idle != nil {
		r.idle()
	}
}

// trialsOf is how often a scenario is played with each model.
func (r *runner) trialsOf(s *scenarios.Scenario) int {
	n := r.opts.Trials
	if n == 0 && r.opts.Mode.Real() {
		n = s.LiveTrials
	}
	return max(n, 1)
}

// jobs lists the trials in the order in which they are started.
func (r *runner) jobs(list []*scenarios.Scenario) ([]job, error) {
	var out []job
	for _, s := range list {
		if r.opts.Mode == harness.ModeReplay {
			keys, err := r.cassettesOf(s)
			if err != nil {
				return nil, err
			}
			for _, k := range keys {
				k.Scenario, k.File, k.Subject, k.Mode = s.Name, s.Pos.File, r.opts.SubjectName, r.opts.Mode
				out = append(out, job{scenario: s, key: k})
			}
			continue
		}
		for _, model := range r.opts.Models {
			memory := new(mockllm.Memory)
			for n := range r.trialsOf(s) {
				out = append(out, job{scenario: s, memory: memory, key: trials.Key{
					Scenario: s.Name, File: s.Pos.File, Subject: r.opts.SubjectName,
					Model: model, Mode: r.opts.Mode, Attempt: n + 1,
				}})
			}
		}
	}
	if r.opts.Mode == harness.ModeRecord || r.opts.Mode == harness.ModeReplay {
		return out, r.cassetteJobs(out)
	}
	return out, nil
}

// play runs the jobs, some at a time, and hands each finished one to done,
// one at a time. The first error of done stops it.
func (r *runner) play(ctx context.Context, jobs []job, done func(trials.Record, trials.Detail) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards calls of done, and first
		first error
	)
	slots := make(chan struct{}, max(r.opts.Parallel, 1))
	for _, j := range jobs {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			rec, detail, complete := r.trial(ctx, j)
			mu.Lock()
			defer mu.Unlock()
			if !complete || first != nil {
				return // cut short, it says nothing about the subject
			}
			if first = done(rec, detail); first != nil {
				stop()
			}
		})
	}
	wg.Wait()
	return first
}

// seed makes a trial's own seed, the same whatever else is run.
func (r *runner) seed(k trials.Key) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q %q %d", r.opts.Seed, k.Scenario, k.Model, k.Attempt)
	return int64(h.Sum64() >> 1)
}

func (r *runner) manifest(list []*scenarios.Scenario, jobs []job) trials.Manifest {
	o := &r.opts
	m := trials.Manifest{
		Name: o.Name, Rehearse: o.Version, Go: runtime.Version(), Mode: o.Mode, Subject: o.SubjectName,
		Seed: o.Seed, Started: time.Now().UTC(), Planned: len(jobs), Schema: trials.Schema,
	}
	most := map[*scenarios.Scenario]int{} // trials with a model
	models := slices.Clone(o.Models)
	for _, j := range jobs {
		most[j.scenario] = max(most[j.scenario], j.key.Attempt)
		if !slices.Contains(models, j.key.Model) {
			models = append(models, j.key.Model)
		}
	}
	for _, name := range models {
		model := trials.Model{Asked: name}
		if o.Mode.Real() {
			model.BaseURL = redacted(o.BaseURL)
		}
		m.Models = append(m.Models, model)
	}
	for _, s := range list {
		m.Scenarios = append(m.Scenarios, trials.Source{
			Name: s.Name, File: s.Pos.File, Description: s.Description, Tags: s.Tags, Hash: s.Hash, Trials: most[s],
		})
	}
	return m
}

// finish fills in what is known at the end only.
func (r *Result) finish(interrupted bool) {
	m := &r.Manifest
	m.Finished = time.Now().UTC()
	m.Interrupted = interrupted && len(r.Records) < m.Planned
	if r.checkedNothing() {
		m.Warnings = append(m.Warnings, "nothing was checked in the whole run, so it counts as failed (exit code 1)")
	}
	for i := range m.Models {
		seen := map[string]bool{}
		for _, rec := range r.Records {
			for _, name := range rec.Answered {
				if rec.Model == m.Models[i].Asked && !seen[name] {
					seen[name] = true
					m.Models[i].Answered = append(m.Models[i].Answered, name)
				}
			}
		}
		slices.Sort(m.Models[i].Answered)
	}
}

// makeDir makes a run folder whose name nobody has taken.
func makeDir(out, name string, at time.Time) (string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	base := filepath.Join(out, at.Format("20060102-150405")+"-"+trials.FileName(name, "run"))
	for n := 1; ; n++ {
		dir := base
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
		err := os.Mkdir(dir, 0o755)
		if !errors.Is(err, os.ErrExist) {
			return dir, err
		}
	}
}
