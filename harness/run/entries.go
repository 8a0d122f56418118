// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// Models are model entries of the endpoint of [Options], called by the names of
// their models.
func Models(names ...string) []trials.Model {
	out := make([]trials.Model, len(names))
	for i, name := range names {
		out[i] = trials.Model{Label: name, Name: name}
	}
	return out
}

// entry is a model entry with what only a run knows of it.
type entry struct {
	trials.Model
	keys keys
	hash string
	// throttle of the endpoint; nil where none is asked.
	throttle *throttle
}

// findEntries completes the model entries and finds their keys.
func (r *runner) findEntries() error {
	o := &r.opts
	given := map[string]trials.Model{}
	for _, m := range o.Entries {
		m.Label = cmp.Or(m.Label, m.Name)
		if m.Name == "" {
			return fmt.Errorf("mode %s needs the name of a model", o.Mode)
		}
		if was, twice := given[m.Label]; twice {
			if recorded(o.Mode) && reflect.DeepEqual(was, m) {
				continue // it has one cassette, however often it is named
			}
			return fmt.Errorf("model %q is given twice; to play each scenario more than once, set the number of trials (--trials); to play it in two ways, label them (--model LABEL=NAME@URL)", m.Label)
		}
		given[m.Label] = m
		m.Dialect = cmp.Or(m.Dialect, o.Dialect)
		e, err := o.entry(m)
		if err != nil {
			return err
		}
		r.entries = append(r.entries, e)
	}
	if o.Mode.Real() && len(r.entries) == 0 {
		return fmt.Errorf("mode %s needs the name of a model", o.Mode)
	}
	return nil
}

func recorded(m harness.Mode) bool { return m == harness.ModeRecord || m == harness.ModeReplay }

// entry completes one.
func (o *Options) entry(m trials.Model) (*entry, error) {
	if !o.Mode.Real() {
		return &entry{Model: m, hash: entryHash(m, "")}, nil
	}
	m.BaseURL = cmp.Or(m.BaseURL, o.BaseURL)
	if m.BaseURL == "" {
		return nil, fmt.Errorf("mode %s needs the base URL of an endpoint for model %q", o.Mode, m.Label)
	}
	e := &entry{Model: m, keys: o.keys(), hash: entryHash(m, prose.Address(m.BaseURL))}
	e.throttle = o.throttles.of(m.BaseURL, o.Parallel, max(o.Rate.Gap(), m.Rate.Gap()))
	if m.Key != "" {
		lookup := o.LookupEnv
		if lookup == nil {
			lookup = os.LookupEnv
		}
		key, _ := lookup(m.Key)
		if key == "" {
			return nil, fmt.Errorf("model %q takes its key from the environment variable %s, which is not set", m.Label, m.Key)
		}
		e.keys = keys{openai: key}
	}
	return e, nil
}

// speaks refuses an entry whose dialect the subject does not speak.
func speaks(subject harness.Subject, m trials.Model) error {
	info, ok := subject.(harness.SubjectInfo)
	if !ok || m.Dialect == "" || info.Asks(m.Dialect) == "" {
		return nil
	}
	if own := dialects.EndpointOf(info.Asks(m.Dialect)).Name(); own != m.Dialect {
		return fmt.Errorf("model %q has the dialect %s, and this subject speaks only %s: leave the dialect out, or use a subject that speaks it", m.Label, m.Dialect, own)
	}
	return nil
}

// entryHash is of what an entry does to a trial.
func entryHash(m trials.Model, base string) string {
	return hashOf(struct {
		Name, BaseURL, Dialect string
		Settings               trials.Settings
	}{m.Name, base, m.Dialect, m.Settings})
}

// entryOf is the entry of a label: one of the run's, one of the scenario's
// project, or else the model that a cassette was recorded with, in the dialect in
// which it was asked.
func (r *runner) entryOf(s *scenarios.Scenario, label string, was recordedModel) (*entry, error) {
	for _, e := range r.entries {
		if e.Label == label {
			return e, nil
		}
	}
	for _, m := range r.project(s).Models {
		if m.Label == label {
			m.Dialect = cmp.Or(m.Dialect, r.opts.Dialect)
			return r.opts.entry(m)
		}
	}
	m := trials.Model{Label: label, Name: cmp.Or(was.name, label)}
	if info, ok := r.subjectsOf(s)[0].Subject.(harness.SubjectInfo); ok && dialects.EndpointOf(info.Asks("")).Name() != was.dialect && dialects.EndpointOf(info.Asks(was.dialect)).Name() == was.dialect {
		m.Dialect = was.dialect
	}
	m.Dialect = cmp.Or(r.opts.Dialect, m.Dialect)
	return r.opts.entry(m)
}

// settings are those of the scenario with those of the entry over them.
func (t *trial) settings() harness.Settings {
	s, e := withSubject(t.scenario.Settings, t.subject.Settings), t.entry.Settings
	s.Temperature = cmp.Or(e.Temperature, s.Temperature)
	s.TopP = cmp.Or(e.TopP, s.TopP)
	s.MaxTokens = cmp.Or(e.MaxTokens, s.MaxTokens)
	s.Reasoning = e.Reasoning
	s.Seed = e.Seed
	if as := t.opts.As; as != "" {
		s.Extra = maps.Clone(s.Extra)
		if s.Extra == nil {
			s.Extra = map[string]any{}
		}
		s.Extra["as"] = as
	}
	if s.Seed == nil && !e.NoSeed && t.opts.Mode.Real() {
		const bits = 1<<31 - 1 // what every endpoint with seeds takes
		seed := t.seed & bits
		s.Seed = &seed
	}
	return s
}

// allKeys are the keys of all entries.
func (r *runner) allKeys() []string {
	out := r.opts.keys().all()
	for _, e := range slices.Concat(r.entries, r.judges) {
		out = append(out, e.keys.all()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var errNoSubject = errors.New("no subject to run: set Options.Subject")
