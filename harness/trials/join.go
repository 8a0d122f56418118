// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Part is a run that is joined with others.
type Part struct {
	// Dir is its folder, for messages.
	Dir      string
	Manifest Manifest
	// Records are those of [ReadFile]: one a key.
	Records []Record
}

func (p *Part) file() string { return filepath.Join(p.Dir, RecordsFile) }

// Joined is one run of several.
type Joined struct {
	Manifest Manifest
	Records  []Record
	// From tells for each record the part that it is of.
	From []int
}

// Join makes one run of several: of the shards of a run, of models that were
// run apart, of mocks and recordings. It is an error when a trial is finished in
// two of them, when the hashes of one scenario with one model differ, and when
// one label of a model stands for two entries. A finished trial replaces an
// error of another part, and a later error an earlier one; a warning of the
// manifest says how many.
//
// Times go from the first beginning to the last end. Of shards that are all
// there the whole is planned; where one is missing a warning names it.
func Join(parts ...Part) (*Joined, error) {
	j := &joining{at: map[Key]int{}, cells: map[Key]cell{}, models: map[string]int{}, sources: map[string]int{}}
	for i := range parts {
		j.parts = append(j.parts, &parts[i])
		j.manifest(i)
		j.records(i)
	}
	if len(j.problems) > 0 {
		const most = 5
		list := j.problems
		if n := len(list); n > most {
			list = append(list[:most:most], fmt.Sprintf("and %s more", prose.Count(n-most, "difference")))
		}
		return nil, errors.New("these runs cannot be joined:\n  " + strings.Join(list, "\n  ") +
			"\nto hold one against the other: rehearse compare A B")
	}
	j.plan()
	if j.replaced > 0 {
		j.warn("%s of one run: another run has the trial too, and what is there counts", prose.Count(j.replaced, "error"))
	}
	j.Manifest.Rules = JudgeRules(&j.Manifest, j.Records)
	return &j.Joined, nil
}

// cell is what the attempts of one key rest on.
type cell struct {
	Hashes
	part int
}

type joining struct {
	Joined
	parts    []*Part
	problems []string
	at       map[Key]int    // of a record
	cells    map[Key]cell   // by key without attempt
	models   map[string]int // the part that named a model first, by mode and label
	sources  map[string]int // the part that named a scenario first
	replaced int            // errors
	doubled  int            // of these, trials that two parts planned
}

func (j *joining) problem(a, b string, format string, args ...any) {
	text := fmt.Sprintf("%s and %s: ", a, b) + fmt.Sprintf(format, args...)
	if !slices.Contains(j.problems, text) {
		j.problems = append(j.problems, text)
	}
}

func (j *joining) warn(format string, args ...any) {
	j.Manifest.Warnings = append(j.Manifest.Warnings, fmt.Sprintf(format, args...))
}

// manifest adds that of a part, but for what is planned.
func (j *joining) manifest(i int) {
	m, o := &j.Manifest, &j.parts[i].Manifest
	if i == 0 {
		*m = *o
		m.Planned, m.Whole, m.Shard, m.Budget = 0, 0, Shard{}, Budget{}
		m.Models, m.Judges, m.Scenarios, m.Variants, m.Thresholds, m.Warnings, m.Rules = nil, nil, nil, nil, nil, nil, nil
	} else {
		m.Name = both(m.Name, o.Name, " + ")
		m.Mode = harness.Mode(both(string(m.Mode), string(o.Mode), " and "))
		m.Subject = both(m.Subject, o.Subject, " and ")
		m.Continued += o.Continued
		m.Interrupted = m.Interrupted || o.Interrupted
		if o.Started.Before(m.Started) {
			m.Started = o.Started
		}
		if o.Finished.After(m.Finished) {
			m.Finished = o.Finished
		}
		if first := j.parts[0]; o.Seed != first.Manifest.Seed {
			j.warn("the seed is %d in %s and %d in %s", first.Manifest.Seed, first.Dir, o.Seed, j.parts[i].Dir)
		}
	}
	for _, v := range o.Variants {
		if !slices.Contains(m.Variants, v) {
			m.Variants = append(m.Variants, v)
		}
	}
	for _, t := range o.Thresholds {
		if !slices.Contains(m.Thresholds, t) {
			m.Thresholds = append(m.Thresholds, t)
		}
	}
	for _, model := range o.Models {
		j.model(i, model)
	}
	for _, s := range o.Scenarios {
		j.source(i, s)
	}
	for _, judge := range o.Judges { // whose differences hashes of trials tell
		if !slices.ContainsFunc(m.Judges, func(x Model) bool { return encoded(x) == encoded(judge) }) {
			m.Judges = append(m.Judges, judge)
		}
	}
	for _, w := range o.Warnings {
		j.warn("%s: %s", o.Name, w)
	}
}

// both joins two texts, unless the second is in the first already.
func both(a, b, and string) string {
	if b == "" || slices.Contains(strings.Split(a, and), b) {
		return a
	}
	if a == "" {
		return b
	}
	return a + and + b
}

func (j *joining) model(i int, model Model) {
	m := &j.Manifest
	mode := string(j.parts[i].Manifest.Mode)
	at := slices.IndexFunc(m.Models, func(x Model) bool { return x.Label == model.Label })
	if at < 0 {
		m.Models = append(m.Models, model)
		j.models[mode+" "+model.Label] = i
		return
	}
	have := &m.Models[at]
	answered := slices.Concat(have.Answered, model.Answered)
	slices.Sort(answered)
	have.Answered = slices.Compact(answered)
	first, there := j.models[mode+" "+model.Label]
	if !there { // what is asked is for the mode to say: a mock has no endpoint
		j.models[mode+" "+model.Label] = i
		have.BaseURL = cmp.Or(have.BaseURL, model.BaseURL)
		have.Price = cmp.Or(have.Price, model.Price)
		return
	}
	for _, was := range j.parts[first].Manifest.Models {
		if was.Label != model.Label {
			continue
		}
		if d := was.differences(model); d != "" {
			j.problem(filepath.Join(j.parts[first].Dir, ManifestFile), filepath.Join(j.parts[i].Dir, ManifestFile),
				"model %q is two: %s; give each a label of its own (--model LABEL=NAME@URL)", model.Label, d)
		}
		if encoded(was.Price) != encoded(model.Price) {
			j.warn("model %q has another price in %s than in %s; each cost is by the price of its own run", model.Label, j.parts[first].Dir, j.parts[i].Dir)
		}
	}
}

// differences are those of what is asked, where and how; empty for none.
func (m Model) differences(o Model) string {
	var out []string
	for _, f := range []struct{ name, a, b string }{
		{"name", m.Name, o.Name},
		{"base_url", m.BaseURL, o.BaseURL},
		{"dialect", m.Dialect, o.Dialect},
		{"settings", encoded(m.Settings), encoded(o.Settings)},
	} {
		if f.a != f.b {
			out = append(out, fmt.Sprintf("%s %s and %s", f.name, cmp.Or(f.a, "none"), cmp.Or(f.b, "none")))
		}
	}
	return strings.Join(out, ", ")
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(bytes.TrimSpace(data))
}

func (j *joining) source(i int, s Source) {
	m := &j.Manifest
	name := encoded([]string{s.Suite, s.Scenario, s.Case})
	at := slices.IndexFunc(m.Scenarios, func(x Source) bool { return x.Suite == s.Suite && x.Scenario == s.Scenario && x.Case == s.Case })
	if at < 0 {
		m.Scenarios = append(m.Scenarios, s)
		j.sources[name] = i
		return
	}
	have := &m.Scenarios[at]
	have.Trials = max(have.Trials, s.Trials)
	if (have.Pass == nil) != (s.Pass == nil) || s.Pass != nil && (s.Pass.AtLeast != have.Pass.AtLeast || s.Pass.Rate != have.Pass.Rate) {
		j.warn("scenario %q has another pass rule in %s than in %s, whose rule counts", s.Name(), j.parts[i].Dir, j.parts[j.sources[name]].Dir)
	}
	have.Hashes.Variant, s.Hashes.Variant = "", "" // other variants may be played in each
	if d := have.Hashes.Differences(s.Hashes); len(d) > 0 {
		j.problem(filepath.Join(j.parts[j.sources[name]].Dir, ManifestFile), filepath.Join(j.parts[i].Dir, ManifestFile),
			"scenario %q (%s) is not the same: its %s changed", s.Name(), s.File, hashNames(d))
	}
}

// hashNames says what changed.
func hashNames(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, map[string]string{
			"scenario": "definition", "scorers": "expectations", "tools": "tools", "entry": "model entry", "judge": "judge", "variant": "variant", "subject": "subject",
		}[n])
	}
	return strings.Join(out, " and ")
}

func (j *joining) records(i int) {
	p := j.parts[i]
	for _, r := range p.Records {
		j.hashes(i, r)
		at, there := j.at[r.Key]
		if !there {
			j.at[r.Key] = len(j.Records)
			j.Records, j.From = append(j.Records, r), append(j.From, i)
			continue
		}
		was, other := j.Records[at].Outcome, j.From[at]
		switch {
		case was != harness.OutcomeError && r.Outcome != harness.OutcomeError:
			j.problem(j.parts[other].file(), p.file(), "both have a finished trial of %s: %s and %s", r.Key, was, r.Outcome)
			continue
		case was == harness.OutcomeError:
			j.Records[at], j.From[at] = r, i
		}
		j.replaced++
		if j.parts[other].Manifest.Shard != p.Manifest.Shard || p.Manifest.Shard == (Shard{}) {
			j.doubled++
		}
	}
}

// hashes compares what the trials of one key rest on, whatever their attempt.
func (j *joining) hashes(i int, r Record) {
	k := r.Key
	k.Attempt = 0
	was, there := j.cells[k]
	if !there {
		j.cells[k] = cell{r.Hashes, i}
		return
	}
	if d := was.Differences(r.Hashes); len(d) > 0 && was.part != i {
		j.problem(j.parts[was.part].file(), j.parts[i].file(), "%s: its %s changed", r.Key, hashNames(d))
	}
}

// plan sums up what the parts were to do. Shards of one run are one.
func (j *joining) plan() {
	type group struct {
		whole   int
		of      string
		missing []string
	}
	var groups []*group
	at := map[string]*group{}
	for _, p := range j.parts {
		m := &p.Manifest
		if m.Shard == (Shard{}) {
			j.Manifest.Planned += m.Planned
			continue
		}
		var labels []string
		for _, model := range m.Models {
			labels = append(labels, model.Label)
		}
		slices.Sort(labels)
		id := encoded([]any{m.Shard.Count, m.Whole, m.Name, m.Mode, m.Subject, m.Seed, labels})
		g := at[id]
		if g == nil {
			g = &group{whole: m.Whole, of: m.Name}
			for n := range m.Shard.Count {
				g.missing = append(g.missing, Shard{n + 1, m.Shard.Count}.String())
			}
			groups, at[id] = append(groups, g), g
		}
		g.missing = slices.DeleteFunc(g.missing, func(s string) bool { return s == m.Shard.String() })
	}
	for _, g := range groups {
		j.Manifest.Planned += g.whole
		if len(g.missing) > 0 {
			j.warn("of run %q the shard %s is missing", g.of, strings.Join(g.missing, ", "))
		}
	}
	j.Manifest.Planned -= j.doubled
}
