// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// replayBase stands for the endpoint's address in a replay. Nobody goes there.
const replayBase = "http://recorded"

// mayRecord refuses to record where nobody looks at what is recorded.
func mayRecord(o *Options) error {
	lookup := o.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	if recfile.InCI(lookup) {
		return errors.New("CI is set, and recordings are not made in CI; record on your own machine and commit the files")
	}
	return nil
}

// howToRecord is the command that records a trial.
func (r *runner) howToRecord(s *scenarios.Scenario, k trials.Key) string {
	path := s.CassettePath(r.opts.Cassettes, k.Model, k.Attempt)
	if r.opts.goTest != "" {
		return "`" + recordByTest(r.opts.goTest, k.Model, cmp.Or(r.opts.BaseURL, recordedBase(path))) + "`"
	}
	if was := recordedSubject(path); was != "" && was != k.Subject {
		return fmt.Sprintf("the client %q, whose recording it is: this client is %q, and `rehearse run --mode record` would record that instead", was, k.Subject)
	}
	command := "rehearse run " + prose.ShellWord(s.Pos.File) + " --mode record --model " + prose.ShellWord(cmp.Or(r.modelFlag(s, k.Model), "MODEL"))
	if base := recordedBase(path); base != "" {
		command += " --base-url " + prose.ShellWord(base)
	}
	if provider := r.provider(k.Model, path); provider != "" {
		command += " --provider " + provider
	}
	if s.Variant != "" {
		command += " --variant " + prose.ShellWord(s.Variant)
	}
	if k.Attempt > 1 {
		command += fmt.Sprintf(" --trials %d", k.Attempt)
	}
	if r.opts.Cassettes != "" {
		command += " --cassettes " + prose.ShellWord(r.opts.Cassettes)
	}
	return "`" + command + "`"
}

// provider is how the command line names the dialect of a model, or of its
// recording; empty where that is its own.
func (r *runner) provider(label, path string) string {
	was, _ := modelOf(path) // there may be none
	spoken := cmp.Or(r.opts.Dialect, was.dialect)
	for _, e := range r.entries {
		if e.Label == label {
			spoken = e.Dialect
		}
	}
	if d := dialects.Named(spoken); d != dialects.Named("") {
		return d.Provider
	}
	return "" // which is the default of the flag
}

// modelFlag is how the command line names a model entry.
func (r *runner) modelFlag(s *scenarios.Scenario, label string) string {
	for _, m := range r.project(s).Models {
		if m.Label == label {
			return label
		}
	}
	for _, e := range r.entries {
		if e.Label != label || e.Name == label {
			continue
		}
		if e.BaseURL != "" && e.BaseURL != r.opts.BaseURL {
			return label + "=" + e.Name + "@" + prose.Address(e.BaseURL)
		}
		return label + "=" + e.Name
	}
	return label
}

// recordedBase is the base URL of the endpoint that a cassette was recorded
// from; empty when it is not known.
func recordedBase(path string) string {
	f, err := vcr.Read(path)
	if err != nil || len(f.Interactions) == 0 {
		return ""
	}
	first := f.Interactions[0]
	u, err := url.Parse(first.Request.URL)
	if err != nil || first.Meta.Base == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + first.Meta.Base
}

// recordedSubject is who a cassette is of; empty when it does not say.
func recordedSubject(path string) string {
	f, err := vcr.Read(path)
	if err != nil || len(f.Interactions) == 0 {
		return ""
	}
	return f.Interactions[0].Meta.Subject
}

// cassettesOf lists the trials of a scenario that are recorded: the models
// that were asked for, or else all that are there, and of each the trials that
// were asked for, or else all that are there.
func (r *runner) cassettesOf(s *scenarios.Scenario) ([]job, error) {
	if err := cassettes.RecoverAll(filepath.Dir(s.CassettePath(r.opts.Cassettes, "", 1))); err != nil {
		return nil, err
	}
	there := map[string]map[int]bool{} // trials by the label of the model
	entries := slices.Clone(r.entries)
	for _, path := range s.Cassettes(r.opts.Cassettes) {
		was, err := modelOf(path)
		if err != nil {
			return nil, err
		}
		label := was.label
		trial := s.CassetteTrial(r.opts.Cassettes, path, label)
		if trial == 0 {
			continue // another scenario's
		}
		if there[label] == nil {
			there[label] = map[int]bool{}
			if len(r.entries) == 0 {
				e, err := r.entryOf(s, label, was)
				if err != nil {
					return nil, err
				}
				entries = append(entries, e)
			}
		}
		there[label][trial] = true
	}
	if len(entries) == 0 {
		entries = []*entry{{}}
	}
	var out []job
	for _, subject := range r.subjectsOf(s) {
		out = append(out, r.replays(s, subject, entries, there)...)
	}
	return out, nil
}

// replays are the trials of a scenario by a subject that are recorded: of models,
// where there are recordings of those.
func (r *runner) replays(s *scenarios.Scenario, subject *scenarios.Subject, entries []*entry, there map[string]map[int]bool) (out []job) {
	for _, e := range entries {
		n := r.opts.Trials
		if n == 0 {
			n = 1
			for trial := range there[e.Label] {
				n = max(n, trial)
			}
		}
		for trial := range n {
			out = append(out, job{scenario: s, subject: subject, entry: e, key: r.keyOf(s, subject, e, trial+1)})
		}
	}
	return out
}

// recordedModel is the model that a cassette was recorded with: the label of its
// entry, the name by which it was asked for, and the dialect. They are empty
// where the file does not say.
type recordedModel struct{ label, name, dialect string }

// modelOf reads it.
func modelOf(path string) (m recordedModel, err error) {
	f, err := vcr.Read(path)
	if err != nil {
		return m, err
	}
	for _, i := range f.Interactions {
		m.label = cmp.Or(m.label, i.Meta.Model)
		e := dialects.EndpointAt(i.Request.URL)
		m.dialect = cmp.Or(m.dialect, e.Name())
		var body struct{ Model string }
		if m.name == "" && json.Unmarshal(i.Request.Body, &body) == nil {
			m.name = cmp.Or(body.Model, e.Query.Model)
		}
	}
	m.label = cmp.Or(m.label, m.name) // another program notes no label
	return m, nil
}

// cassetteJobs completes the trials of modes record and replay: each has a
// cassette of its own.
func (r *runner) cassetteJobs(jobs []job) error {
	owners := map[string]string{}
	found := false
	for i := range jobs {
		j := &jobs[i]
		j.cassette = j.scenario.CassettePath(r.opts.Cassettes, j.key.Model, j.key.Attempt)
		owner := fmt.Sprintf("%q with model %q, trial %d", j.key.Name(), j.key.Model, j.key.Attempt)
		if other := owners[j.cassette]; other != "" && other != owner { // several subjects replay one
			return fmt.Errorf("the cassettes of %s and of %s would both be %q: give them names that differ in letters or digits", other, owner, j.cassette)
		}
		owners[j.cassette] = owner
		_, err := os.Stat(j.cassette)
		found = found || err == nil
		if r.opts.Mode == harness.ModeRecord && err == nil {
			was, err := modelOf(j.cassette)
			if err == nil && was.label != "" && was.label != j.key.Model {
				return fmt.Errorf("cassette %q belongs to model %q; a recording of %q would replace it: remove it, or choose another folder with --cassettes", j.cassette, was.label, j.key.Model)
			}
		}
	}
	if r.opts.Mode == harness.ModeReplay && !found && len(jobs) > 0 {
		return fmt.Errorf("there is no cassette: %s", r.notThere(jobs[0]))
	}
	return nil
}

// notThere says that there is no cassette for a trial, and how to make it.
func (r *runner) notThere(j job) string {
	return fmt.Sprintf("%q is not recorded (%s); record it with %s", j.key.Name(), j.cassette, r.howToRecord(j.scenario, j.key))
}

// secretRules say what is taken out of recordings of a trial, and of requests
// before they are looked for.
func (t *trial) secretRules() *redact.Rules {
	rules := &redact.Rules{Places: append(redact.Here(), t.ownPlaces()...), Keep: slices.Concat(t.project(t.scenario).Redact.Keep, t.opts.Keep)}
	for _, secret := range slices.Concat(serverSecrets(t.scenario, t.workdir), t.allKeys(), t.handed) {
		if len(secret) >= redact.MinLiteral {
			rules.Literals = append(rules.Literals, secret)
		}
	}
	return rules
}

// ownPlaces are the folders of this trial alone. In a replay they stand where
// those of the recorded trial were.
func (t *trial) ownPlaces() []redact.Place {
	if t.workdir == "" {
		return nil
	}
	return []redact.Place{{Name: "work", Path: t.workdir}}
}

// restored are the folders that are put back into recorded answers: not those
// that JSON would have to escape.
func (t *trial) restored() []redact.Place {
	return slices.DeleteFunc(t.ownPlaces(), func(p redact.Place) bool { return strings.ContainsAny(p.Path, `"\`) })
}

// openCassette opens the recorder of a trial.
func (t *trial) openCassette() (*cassettes.Recorder, error) {
	c := t.scenario.Cassette
	opts := &cassettes.Options{
		Mode: cassettes.Replay, Upstream: t.opts.Transport, Order: cassettes.Order(c.Order), Match: &key.Rules{Also: c.Ignore},
		Secrets: t.secretRules(), Speed: c.Speed, KeepErrors: c.KeepErrors, AllowUnused: c.AllowUnused, MaxAge: c.MaxAge, Stale: c.Stale, Asides: c.Asides,
		Whole: true, Force: t.opts.Force, Subject: t.key.Subject, Model: t.key.Model, Label: t.key.Name(), LookupEnv: t.opts.LookupEnv, Logf: t.logf, Start: t.start, Restore: t.restored(),
	}
	if t.opts.Mode == harness.ModeRecord {
		opts.Mode, opts.Upstream = cassettes.Record, readable{t.opts.Transport}
		t.before, _ = vcr.Read(t.cassette) // what cannot be read is no recording to compare with
	} else if _, err := os.Stat(t.cassette); errors.Is(err, os.ErrNotExist) {
		return nil, errors.New(t.notThere(t.job))
	}
	return cassettes.Open(t.cassette, opts)
}

// basePath is the path of an address.
func basePath(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Path
}

// unused are the recorded exchanges that were not asked for.
func unused(rec *cassettes.Recorder) []conduct.Unreached {
	var out []conduct.Unreached
	for _, left := range rec.Unused() {
		out = append(out, conduct.Unreached{Name: left.Error(), Pos: filepos.Of(left)})
	}
	return out
}

// finishCassette says in a record what was replayed, or writes what was
// recorded.
func (t *trial) finishCassette(rec *trials.Record, e *evidence) {
	if t.recorder == nil {
		return
	}
	if t.opts.Mode == harness.ModeReplay {
		rec.Cassette = t.cassette
		t.mu.Lock()
		defer t.mu.Unlock()
		rec.Warnings = slices.Concat(rec.Warnings, t.recorder.Notes(), t.doubts)
		return
	}
	if why := t.unfit(rec); why != "" {
		stays := ""
		if t.before != nil {
			stays = ", and the existing recording stays"
		}
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("nothing was recorded in %q%s: %s", t.cassette, stays, why))
		return // cleanUp discards it
	}
	list := t.recorder.Recorded()
	rec.Recorded = len(list)
	if t.before != nil {
		rec.Drift = drift(t.before.Interactions, list)
	}
	written, err := t.write(list)
	if err != nil {
		cause := &trials.Cause{Kind: trials.CauseEndpoint, Message: err.Error(), Pos: t.scenario.Pos}
		if c := rec.Cause; c != nil {
			cause.Folded = append([]trials.Consequence{{Text: fmt.Sprintf("%s: %s: %s", c.Pos, c.Kind, inShort(c.Message)), Check: c.Check, Pos: c.Pos}}, c.Folded...)
		}
		rec.Outcome, rec.Cause = harness.OutcomeError, cause
		e.played.Faults.Setup = append(e.played.Faults.Setup, *cause)
		return
	}
	rec.Cassette, rec.Written = t.cassette, written
	for _, tp := range t.tapes {
		if tp.rec == nil {
			continue
		}
		if _, err := os.Stat(tp.rec.Path()); err == nil {
			rec.Tapes = append(rec.Tapes, tp.rec.Path())
		}
	}
}

// write writes what is new, the cassette and the tapes as one: tapes that say
// the same as before stay, and so does the cassette. Where one is refused, so are the
// others.
func (t *trial) write(list []*vcr.Interaction) (bool, error) {
	tapes, err := t.stageTapes()
	if err != nil {
		return false, errors.Join(err, t.recorder.Refuse(errApart), refuse(tapes))
	}
	same := t.before != nil && t.fresh() && cassettes.Same(t.before.Interactions, list)
	if same && len(tapes) == 0 {
		return false, nil // cleanUp discards them
	}
	var files []cassettes.Rename
	for _, tp := range tapes {
		files = append(files, cassettes.Rename{From: tp.part, To: tp.rec.Path()})
	}
	if err := t.recorder.CloseWith(files, same); err != nil {
		return false, errors.Join(err, refuse(tapes))
	}
	return true, nil
}

var errApart = errors.New("another recording of the trial is not written")

func refuse(tapes []*taping) error {
	var errs []error
	for _, tp := range tapes {
		errs = append(errs, tp.rec.Refuse(errApart))
	}
	return errors.Join(errs...)
}

// unfit says why a conversation is not worth keeping; empty when it is.
func (t *trial) unfit(rec *trials.Record) string {
	switch {
	case rec.Outcome == harness.OutcomeError:
		return "the trial could not be judged"
	case t.passed() != nil:
		return "the trial exceeded a limit"
	case t.broke != nil:
		return "the conversation broke off"
	case len(t.recorder.Recorded()) == 0:
		return "the endpoint was not asked"
	}
	return ""
}

// fresh reports whether the recording before may stay as it is.
func (t *trial) fresh() bool {
	most := t.scenario.Cassette.MaxAge
	return most == 0 || !slices.ContainsFunc(t.before.Interactions, func(i *vcr.Interaction) bool {
		return t.start.Sub(i.Meta.Recorded) > most
	})
}

// drift are the differences in shape between two recordings.
func drift(before, now []*vcr.Interaction) []string {
	var out []string
	for n := range min(len(before), len(now)) {
		for _, d := range shape.Diff(shape.Of(before[n]), shape.Of(now[n])) {
			out = append(out, fmt.Sprintf("%s: interaction %d (%s %s): %s: %s", d.Tier, n+1, now[n].Request.Method, basePath(now[n].Request.URL), d.Path, d.Text))
		}
	}
	if len(before) != len(now) {
		out = append(out, fmt.Sprintf("%s: interactions: were %d, are %d", shape.Minor, len(before), len(now)))
	}
	return out
}
