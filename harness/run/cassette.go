// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/key"
	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/cassettes/shape"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/conduct"
	"github.com/rehearse-dev/rehearse/harness/trials"
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
	if ci, ok := lookup("CI"); ok && ci != "" && ci != "false" && ci != "0" {
		return errors.New("CI is set, and mode record makes recordings; record on your own machine and commit the files")
	}
	return nil
}

// howToRecord is the command that records a trial.
func (r *runner) howToRecord(s *scenarios.Scenario, k trials.Key) string {
	command := "rehearse run " + shellWord(s.Pos.File) + " --mode record --model " + shellWord(cmp.Or(k.Model, "MODEL"))
	if base := recordedBase(s.CassettePath(r.opts.Cassettes, k.Model, k.Attempt)); base != "" {
		command += " --base-url " + shellWord(base)
	}
	if k.Attempt > 1 {
		command += fmt.Sprintf(" --trials %d", k.Attempt)
	}
	if r.opts.Cassettes != "" {
		command += " --cassettes " + shellWord(r.opts.Cassettes)
	}
	return "`" + command + "`"
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

// shellWord quotes a text for a shell, if need be.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@+,=", r) || r > 0x7f
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// cassettesOf lists the trials of a scenario that are recorded: the models
// that were asked for, or else all that are there, and of each the trials that
// were asked for, or else all that are there.
func (r *runner) cassettesOf(s *scenarios.Scenario) ([]trials.Key, error) {
	there := map[string]map[int]bool{} // trials by model
	models := slices.Clone(r.opts.Models)
	for _, path := range s.Cassettes(r.opts.Cassettes) {
		model, err := modelOf(path)
		if err != nil {
			return nil, err
		}
		trial := s.CassetteTrial(r.opts.Cassettes, path, model)
		if trial == 0 {
			continue // another scenario's
		}
		if there[model] == nil {
			there[model] = map[int]bool{}
			if len(r.opts.Models) == 0 {
				models = append(models, model)
			}
		}
		there[model][trial] = true
	}
	if len(models) == 0 {
		models = []string{""}
	}
	var out []trials.Key
	for _, model := range models {
		n := r.opts.Trials
		if n == 0 {
			n = 1
			for trial := range there[model] {
				n = max(n, trial)
			}
		}
		for trial := range n {
			out = append(out, trials.Key{Model: model, Attempt: trial + 1})
		}
	}
	return out, nil
}

// modelOf is the model that a cassette was recorded with.
func modelOf(path string) (string, error) {
	f, err := vcr.Read(path)
	if err != nil {
		return "", err
	}
	for _, i := range f.Interactions {
		if i.Meta.Model != "" {
			return i.Meta.Model, nil
		}
	}
	for _, i := range f.Interactions { // recorded by another program
		var body struct{ Model string }
		if json.Unmarshal(i.Request.Body, &body) == nil && body.Model != "" {
			return body.Model, nil
		}
	}
	return "", nil
}

// cassetteJobs completes the trials of modes record and replay: each has a
// cassette of its own.
func (r *runner) cassetteJobs(jobs []job) error {
	owners := map[string]string{}
	found := false
	for i := range jobs {
		j := &jobs[i]
		j.cassette = j.scenario.CassettePath(r.opts.Cassettes, j.key.Model, j.key.Attempt)
		owner := fmt.Sprintf("%q with model %q, trial %d", j.key.Scenario, j.key.Model, j.key.Attempt)
		if other := owners[j.cassette]; other != "" {
			return fmt.Errorf("the cassettes of %s and of %s would both be %q: give them names that differ in letters or digits", other, owner, j.cassette)
		}
		owners[j.cassette] = owner
		_, err := os.Stat(j.cassette)
		found = found || err == nil
		if r.opts.Mode == harness.ModeRecord && err == nil {
			model, err := modelOf(j.cassette)
			if err == nil && model != "" && model != j.key.Model {
				return fmt.Errorf("cassette %q is of model %q: a recording of %q would replace it; remove it, or choose another folder with --cassettes", j.cassette, model, j.key.Model)
			}
		}
	}
	if r.opts.Mode == harness.ModeReplay && !found && len(jobs) > 0 {
		return fmt.Errorf("no cassette is there: %s", r.notThere(jobs[0]))
	}
	return nil
}

// notThere says that there is no cassette for a trial, and how to make it.
func (r *runner) notThere(j job) string {
	return fmt.Sprintf("%q is not recorded (%s); record it with %s", j.key.Scenario, j.cassette, r.howToRecord(j.scenario, j.key))
}

// secretRules say what is taken out of recordings of a trial, and of requests
// before they are looked for.
func (t *trial) secretRules() *redact.Rules {
	rules := &redact.Rules{Places: append(redact.Here(), t.ownPlaces()...)}
	for _, secret := range append(t.serverSecrets(), t.opts.APIKey) {
		if len(secret) >= shortestSecret {
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
		Whole: true, Model: t.key.Model, Label: t.key.Scenario, LookupEnv: t.opts.LookupEnv, Logf: t.logf, Start: t.start, Restore: t.restored(),
	}
	if t.opts.Mode == harness.ModeRecord {
		opts.Mode = cassettes.Record
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
func unused(rec *cassettes.Recorder, path string) []conduct.Unreached {
	var out []conduct.Unreached
	for _, name := range rec.Unused() {
		u := conduct.Unreached{Name: name, Pos: harness.Position{File: path}}
		var n int
		_, _ = fmt.Sscanf(name, "interaction %d (line %d)", &n, &u.Pos.Line) // without a line the file has to do
		out = append(out, u)
	}
	return out
}

// finishCassette says in a record what was replayed, or writes what was
// recorded.
func (t *trial) finishCassette(rec *trials.Record) {
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
			stays = ", and the recording that is there stays"
		}
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("nothing is recorded in %q%s: %s", t.cassette, stays, why))
		return // cleanUp discards it
	}
	list := t.recorder.Recorded()
	rec.Recorded = len(list)
	if t.before != nil {
		rec.Drift = drift(t.before.Interactions, list)
	}
	err := t.stopTapes()
	if err == nil {
		rec.Written, err = t.write(list)
	}
	if err != nil {
		cause := &harness.Cause{Kind: harness.CauseEndpoint, Message: err.Error(), Pos: t.scenario.Pos}
		if c := rec.Cause; c != nil {
			cause.Folded = append([]string{fmt.Sprintf("%s: %s: %s", c.Pos, c.Kind, inShort(c.Message))}, c.Folded...)
		}
		rec.Outcome, rec.Cause = harness.OutcomeError, cause
		return
	}
	rec.Cassette = t.cassette
}

// write writes what is new: tapes that say the same as before stay, and so does
// the cassette.
func (t *trial) write(list []*vcr.Interaction) (bool, error) {
	changed := t.before == nil || !t.fresh() || !cassettes.Same(t.before.Interactions, list)
	if !changed && t.sameTapes() {
		return false, nil // cleanUp discards them
	}
	if changed {
		if err := t.recorder.Close(); err != nil {
			return false, err
		}
	}
	return true, t.keepTapes()
}

// unfit says why a conversation is not worth keeping; empty when it is.
func (t *trial) unfit(rec *trials.Record) string {
	switch {
	case rec.Outcome == harness.OutcomeError:
		return "the trial could not be judged"
	case len(t.passed()) > 0:
		return "the trial passed a limit"
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
