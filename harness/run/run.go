// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// MockModel is the model that a subject is told to ask for in mock mode, when
// [Options] names none.
const MockModel = "rehearse-mock"

// Options are the settings of [Run] and [Test].
type Options struct {
	// Subject is the client under test. Required, unless Subjects has others.
	Subject harness.Subject
	// SubjectName stands in records. Default "subject".
	SubjectName string
	// Subjects are clients under test with names of their own, each a column of the
	// report; one without a Subject is the Subject above. Default: that one alone.
	Subjects []scenarios.Subject
	// FromScenarios has a scenario that names a subject, or whose suite or
	// rehearse.yaml does, played by that one. It has no effect with Subjects.
	// Default: Subject plays all.
	FromScenarios bool
	// Foreign says that the subject is another process: it gets everything by
	// URL. Default: an endpoint and mock servers have a URL and a shortcut in
	// memory ([harness.Endpoint], [harness.Server]), and the subject takes
	// what suits it; servers that are commands have the shortcut alone.
	Foreign bool
	// Mode is mock, live, record (live, and recorded) or replay (of what was
	// recorded). Default mock.
	Mode harness.Mode
	// Entries are models to ask for: entries with labels of their own, so that two endpoints
	// or two settings of one model are told apart; [Models] makes entries of
	// names. Default in mock mode [MockModel], in replay those that are recorded;
	// live and record need at least one.
	Entries []trials.Model
	// Models are names of further ones, each an entry of its own.
	Models []string
	// Judge is the model entry that LLM judges ask, in place of those that
	// expectations, suites and rehearse.yaml name. Default: those; in the modes
	// live and record every judge needs one.
	Judge *trials.Model
	// Dialect is the API that the subject is to speak with models whose entries
	// name none: chat, responses, messages or gemini. Default the subject's own;
	// in replay, without Models, that of the recording.
	Dialect string
	// Variants selects of the variants of a suite. Default: all that the suite has;
	// the scenarios of a suite without variants are played as they stand.
	Variants []string
	// As is the agent that the subject is, for the grants of scenarios: it is the
	// subject setting as, over that of scenarios. Default: what these say.
	As string
	// BaseURL of the endpoint in the modes live and record, for entries that name
	// none, and APIKey its key, for entries that name none; it may be empty. The
	// URL ends in /v1, or in another version that the endpoint has; for
	// Anthropic's and Google's paths the version may be left out. The key goes
	// where the dialect of a request has it.
	BaseURL, APIKey string
	// AnthropicKey is the key for requests in Anthropic's dialect, and GoogleKey
	// for those in Google's. When one of them is set, each dialect has the key of
	// its own vendor alone, APIKey being OpenAI's. Default: APIKey is for all.
	AnthropicKey, GoogleKey string
	// Transport carries requests to the endpoint in the modes live and record.
	// Default: as [http.DefaultTransport] does, over connections of the run's
	// own.
	Transport http.RoundTripper
	// Cassettes is the folder of the recordings. Default: for each scenario
	// the folder cassettes beside its file; see
	// [scenarios.Scenario.CassettePath].
	Cassettes string
	// Keep are places in recordings that are written as they came, beside those
	// of rehearse.yaml, see Keep of [cassettes.Secrets]. Default none.
	Keep []string
	// Force lets a recording replace one of another subject, or one that has
	// more exchanges; see [cassettes.Options].
	Force bool
	// Advertise is the name or the IP address by which subjects reach the
	// endpoint and the servers of the run, such as host.docker.internal from a
	// container. With an address of this machine the run listens there and on
	// nothing else; with a name it listens on loopback. Default 127.0.0.1.
	Advertise string
	// ShowSecrets leaves what has the known shape of a key in records and run
	// folders, as rehearse.yaml can say too (redact.runs). Default: it is taken
	// out. The API key is taken out in any case.
	ShowSecrets bool
	// KeepWire keeps in the transcript of each trial what went over the wire,
	// besides what it means: requests and answers of the endpoint, and the
	// messages of MCP servers, of each at most the first MiB (of mock servers 64
	// KiB). Keys are taken out as elsewhere. Default: they are not kept.
	KeepWire bool
	// LookupEnv finds CI, which forbids to record. Default [os.LookupEnv].
	LookupEnv func(string) (string, bool)
	// Tags select scenarios by their tags: those that have one of them, and none
	// of those written behind ! or -. A tag that no scenario has is an error.
	// Default: all.
	Tags []string
	// Trials of each scenario with each model. Default: what the scenario
	// says in the modes live and record, all that are recorded in replay, else
	// 1.
	Trials int
	// Parallel is how many trials run at a time. Default: the number of CPUs
	// in the modes mock and replay, else 1; in [Test] 1. An endpoint that has too
	// many requests is asked by fewer trials at a time, until it answers again.
	Parallel int
	// Budget of the run in the modes live and record: once it is used up, no
	// further trial begins, and those under way end. What a run that is resumed
	// has used before counts. Default: no bounds. A bound in dollars needs a price
	// in each model entry.
	Budget trials.Budget
	// Rate bounds the requests to each endpoint in the modes live and record,
	// beside the rates of the entries; the lowest counts. Default: no bound.
	Rate trials.Rate
	// Seed goes into the seed of each trial, and decides the order of the trials
	// of several models or variants. Zero is a seed like any other.
	Seed int64
	// Timeout of a trial that has no time limit of its own. Default 30
	// seconds in the modes mock and replay, else ten minutes.
	Timeout time.Duration
	// Grace is how long a subject may take to return once its context has
	// ended, and to close; then it is left behind. Default 5 seconds.
	Grace time.Duration
	// Out is the folder in which the run folder is made: one for each call of
	// [Run], and one for all subtests of a [Test], which writes the reports too.
	// Empty writes no files, but runs of a [Test] in mode live.
	Out string
	// Name of the run, in the folder's name and in run.json. Default "run".
	Name string
	// Shard has only a part of the trials played, so that several runs, each with
	// a shard of its own, play all of them. Default: all.
	Shard trials.Shard
	// Resume is a run folder to go on in, in place of a new one in Out: what it
	// has finished is kept, what is missing is played. It has to be of the same
	// run: the same subject, mode, seed and shard, and scenarios and models that
	// have not changed.
	Resume string
	// RetryErrors plays those trials again, in a run that is resumed, whose
	// outcome is error. The new records replace them.
	RetryErrors bool
	// Folder is the run folder itself, in place of a new one in Out: the run
	// begins there, or goes on, as with Resume, where it has begun already.
	Folder string
	// Version of the program, for run.json. May be empty.
	Version string
	// Unmeasured leaves what is measured out of records and files (times,
	// durations, the order in which calls made at the same time arrived), so
	// that two runs compare equal, byte by byte. Trials run one at a time.
	Unmeasured bool
	// Thresholds are pass rates that the run must reach, in place of those of
	// suites for the same tag, or overall. Default: those of suites.
	Thresholds []trials.Threshold
	// Observer is told of progress. Nil tells nobody.
	Observer Observer
	// Child is a program, with its arguments, that calls [Child] before anything
	// else: what a subject starts for a mock server with transport: process.
	// Default: there is none, and such a scenario is an error.
	Child []string
	// ServerGrace is how long the process of a real server may take to end once
	// its input was closed, and again once it was told to. Default 2 seconds.
	ServerGrace time.Duration
	// Abort, once closed, has the processes of real servers killed at once,
	// for a run whose context has ended and that must not take its time. Nil
	// never does.
	Abort <-chan struct{}

	liveInTest bool // lets our own tests of live mode run without the tag
	// discoverTimeout is how long a real server that is listed may take to answer
	// of which era it is; 0 is the pool's own.
	discoverTimeout time.Duration
	goTest          string     // the name of the test that plays this; empty outside of one
	into            *folder    // of several runs; nil when this run has one of its own
	throttles       *throttles // of several runs; nil when this run has its own
	// readReply reads replies for the journal in place of the one reader.
	readReply replyReader
}

// Observer is told how a run goes on. Calls come one at a time.
type Observer interface {
	// Planned is called once, first.
	Planned(p Plan)
	// Ended is called for each trial when its record is written.
	Ended(r trials.Record)
}

// Plan is what a run is going to do.
type Plan struct {
	// Dir is the run folder; empty when no files are written.
	Dir string
	// Trials are to be played now.
	Trials int
	// Kept were finished before, in a run that is resumed. Retried are those of
	// Trials that replace an error.
	Kept, Retried int
	// Shard is the part of the trials that this run plays, and Whole the number
	// of trials of all shards together. Both are zero without a shard.
	Shard trials.Shard
	Whole int
	// Spent is what the Kept have used.
	Spent trials.Spend
}

// job is one trial to do.
type job struct {
	scenario *scenarios.Scenario
	key      trials.Key
	subject  *scenarios.Subject
	entry    *entry
	memory   *mockllm.Memory // shared by the trials of a scenario with a model
	cassette string          // of modes record and replay
}

// runner holds what the trials of a run share.
type runner struct {
	opts      Options
	entries   []*entry // of opts.Entries
	ledger    *ledger
	judges    []*entry // that LLM judges ask
	gateway   *gateway
	idle      func()   // closes idle connections to the endpoint; may be nil
	handed    []string // secrets of ours that subjects are handed
	keyless   keyless  // nil where there is no key
	shapeless *shapeless
	// projects are the settings by the folder of a scenario's file.
	projects map[string]*project.Project
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
	if list, err = scenarios.Tagged(list, r.opts.Tags); err != nil {
		return nil, err
	}
	if r.opts.Mode == harness.ModeMock {
		if err := r.playable(list); err != nil {
			return nil, err
		}
	}
	if err := r.findProjects(list); err != nil {
		return nil, err
	}
	if err := r.findJudges(list); err != nil {
		return nil, err
	}
	if err := r.findSecrets(list); err != nil {
		return nil, err
	}
	jobs, err := r.jobs(list)
	if err != nil {
		return nil, err
	}
	if err := twice(jobs); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if err := speaks(j.subject.Subject, j.entry.Model); err != nil {
			return nil, err
		}
	}
	if r.opts.Mode.Real() {
		jobs = interleaved(jobs, r.opts.Seed)
	}
	res := &Result{Manifest: r.manifest(list, jobs)}
	jobs, out, err := r.place(res, jobs)
	if err != nil {
		return nil, err
	}
	if out != nil && out != r.opts.into {
		defer out.close()
	}
	err = r.play(ctx, jobs, func(rec trials.Record, detail trials.Detail) error {
		if r.opts.Unmeasured {
			unmeasured(&rec, &detail)
		}
		if out != nil {
			if err := out.write(&rec, detail); err != nil {
				return err
			}
		}
		res.Records = append(res.Records, rec)
		r.ledger.add(rec)
		if r.opts.Observer != nil {
			r.opts.Observer.Ended(rec)
		}
		return nil
	})
	res.finish(ctx.Err() != nil, r.ledger)
	if r.opts.Unmeasured {
		res.Manifest.Started, res.Manifest.Finished = time.Time{}, time.Time{}
	}
	if err == nil && out != nil {
		err = out.end(res.Manifest)
	}
	return res, err
}

func newRunner(opts *Options) (*runner, error) {
	if opts == nil {
		return nil, errNoSubject
	}
	r := &runner{opts: *opts}
	o := &r.opts
	if err := mayContinue(o); err != nil {
		return nil, err
	}
	o.SubjectName = cmp.Or(o.SubjectName, "subject")
	if err := o.findSubjects(); err != nil {
		return nil, err
	}
	o.Name = cmp.Or(o.Name, "run")
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Entries, o.Models = slices.Concat(Models(o.Models...), o.Entries), nil
	if o.Unmeasured {
		o.Parallel = 1
	}
	switch o.Mode = cmp.Or(o.Mode, harness.ModeMock); o.Mode {
	case harness.ModeMock, harness.ModeReplay:
		o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
		o.Parallel = cmp.Or(o.Parallel, runtime.GOMAXPROCS(0))
		if len(o.Entries) == 0 && o.Mode == harness.ModeMock {
			o.Entries = Models(MockModel)
		}
	case harness.ModeLive, harness.ModeRecord:
		o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
		o.Parallel = cmp.Or(o.Parallel, 1)
		if testing.Testing() && !liveInTests && !o.liveInTest {
			return nil, fmt.Errorf("mode %s in a Go test needs the build tag real_llm: go test -tags real_llm", o.Mode)
		}
	default:
		return nil, fmt.Errorf("unknown mode %q: want mock, live, record or replay", o.Mode)
	}
	if o.Mode == harness.ModeRecord {
		if err := mayRecord(o); err != nil {
			return nil, err
		}
	}
	if o.throttles == nil {
		o.throttles = newThrottles()
	}
	if err := r.findEntries(); err != nil {
		return nil, err
	}
	var err error
	if r.ledger, err = r.newLedger(); err != nil {
		return nil, err
	}
	if o.Transport == nil {
		own := http.DefaultTransport
		if t, ok := own.(*http.Transport); ok {
			t = t.Clone()
			own, r.idle = t, t.CloseIdleConnections
		}
		o.Transport = own
	}
	if err := r.findSecrets(nil); err != nil {
		return nil, err
	}
	if r.shapeless, err = newShapeless(); err != nil {
		return nil, err
	}
	r.gateway, err = newGateway(r.opts.Advertise)
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
	list, err := r.inVariants(list)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if r.opts.Mode == harness.ModeReplay {
			of, err := r.cassettesOf(s)
			if err != nil {
				return nil, err
			}
			out = append(out, of...)
			continue
		}
		for _, subject := range r.subjectsOf(s) {
			for _, e := range r.entries {
				memory := new(mockllm.Memory)
				for n := range r.trialsOf(s) {
					out = append(out, job{scenario: s, subject: subject, memory: memory, entry: e, key: r.keyOf(s, subject, e, n+1)})
				}
			}
		}
	}
	if recorded(r.opts.Mode) {
		return out, r.cassetteJobs(out)
	}
	return out, nil
}

// twice refuses scenarios that are given twice: nothing would tell their trials
// apart.
func twice(jobs []job) error {
	seen := map[trials.Key]*scenarios.Scenario{}
	for _, j := range jobs {
		if s := seen[j.key]; s != nil {
			return fmt.Errorf("scenario %q of suite %q is given twice (%s and %s); to play it more than once, set the number of trials", s.Name, s.Suite, s.Pos, j.scenario.Pos)
		}
		seen[j.key] = j.scenario
	}
	return nil
}

// keyOf identifies a trial of a scenario.
func (r *runner) keyOf(s *scenarios.Scenario, subject *scenarios.Subject, e *entry, attempt int) trials.Key {
	return trials.Key{
		Suite: s.Suite, Scenario: s.Bare(), Case: s.Case, Subject: subject.Name,
		Model: e.Label, Variant: s.Variant, Mode: r.opts.Mode, Attempt: attempt,
	}
}

// seed makes a trial's own seed, the same whatever else is run.
func (r *runner) seed(k trials.Key) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q %q %d", r.opts.Seed, k.Name(), k.Model, k.Attempt)
	return int64(h.Sum64() >> 1)
}

func (r *runner) manifest(list []*scenarios.Scenario, jobs []job) trials.Manifest {
	o := &r.opts
	m := trials.Manifest{
		Name: o.Name, Rehearse: o.Version, Go: runtime.Version(), Mode: o.Mode, Subject: subjectNames(jobs, o.SubjectName),
		Seed: o.Seed, Started: time.Now().UTC(), Planned: len(jobs), Schema: trials.Schema, Budget: o.Budget,
	}
	type source struct{ file, name string }
	most, variants := map[source]int{}, map[source]map[string]string{} // trials with a model; hashes of the variants that are played
	entries := slices.Clone(r.entries)
	for _, j := range jobs {
		s := source{j.scenario.Pos.File, j.scenario.Name}
		most[s] = max(most[s], j.key.Attempt)
		if v := j.scenario.Variant; v != "" {
			if variants[s] == nil {
				variants[s] = map[string]string{}
			}
			variants[s][v] = j.scenario.VariantHash
		}
		if !slices.ContainsFunc(entries, func(e *entry) bool { return e.Label == j.entry.Label }) {
			entries = append(entries, j.entry)
		}
	}
	for _, e := range entries {
		model := e.Model
		model.BaseURL = prose.Address(model.BaseURL)
		m.Models = append(m.Models, model)
	}
	for _, e := range r.judges {
		judge := e.Model
		judge.BaseURL = prose.Address(judge.BaseURL)
		m.Judges = append(m.Judges, judge)
	}
	for _, s := range list {
		of := source{s.Pos.File, s.Name}
		var played []string // in the order of the suite, not in that of the trials
		for _, v := range s.Variants() {
			hash, ok := variants[of][v]
			if !ok {
				continue
			}
			played = append(played, v+" "+hash)
			if !slices.Contains(m.Variants, v) {
				m.Variants = append(m.Variants, v)
			}
		}
		hash := ""
		if len(played) > 0 {
			hash = hashOf(played)
		}
		m.Scenarios = append(m.Scenarios, trials.Source{
			Suite: s.Suite, Scenario: s.Bare(), Case: s.Case, File: s.Pos.File, Description: s.Description, Tags: s.Tags,
			Hashes: trials.Hashes{Scenario: s.Hash, Scorers: s.ScorersHash, Variant: hash}, Parts: s.Parts, Trials: most[of], Pass: s.Pass,
		})
	}
	m.Thresholds = thresholds(o.Thresholds, list)
	return m
}

// thresholds are those of the options, and those of the suites of scenarios that
// they do not replace.
func thresholds(given []trials.Threshold, list []*scenarios.Scenario) []trials.Threshold {
	out := slices.Clone(given)
	for _, s := range list {
		for _, t := range s.Thresholds {
			replaced := func(g trials.Threshold) bool { return g.Tag == t.Tag }
			if !slices.ContainsFunc(given, replaced) && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}
