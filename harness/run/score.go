// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// ScoreOptions are the settings of [Score]. nil means all defaults.
type ScoreOptions struct {
	// Out is the folder in which the new run folder is made. Default "runs".
	Out string
	// Name of the new run. Default: that of the run with "-scored" behind it.
	Name string
	// Thresholds are pass rates in place of those of suites, and of those that
	// the run was given by its options. Default: these.
	Thresholds []trials.Threshold
}

// Scored is a run whose trials were judged again.
type Scored struct {
	Result
	// Before are the records as they were, in the order of Records.
	Before []trials.Record
}

// Flips are the trials, by their place in Records, that end otherwise than
// before, or of which a check does.
func (s *Scored) Flips() []int {
	var out []int
	for i := range s.Records {
		if s.Records[i].Outcome != s.Before[i].Outcome || len(Flipped(&s.Before[i], &s.Records[i])) > 0 {
			out = append(out, i)
		}
	}
	return out
}

// Flip is a check that found something else than before. Was or Now is nil for
// one that is new, or gone.
type Flip struct{ Was, Now *trials.Verdict }

// Flipped compares the verdicts of a trial before and after. Checks of one name
// and turn are paired in their order.
func Flipped(was, now *trials.Record) []Flip {
	type id struct {
		check   string
		conduct bool
		turn, n int
	}
	index := func(list []trials.Verdict) (ids []id, at map[id]*trials.Verdict) {
		at = map[id]*trials.Verdict{}
		for i := range list {
			v := &list[i]
			k := id{v.Check, v.Conduct, v.Turn, 0}
			for at[k] != nil {
				k.n++
			}
			ids, at[k] = append(ids, k), v
		}
		return ids, at
	}
	before, old := index(was.Verdicts)
	after, fresh := index(now.Verdicts)
	var out []Flip
	for _, k := range after {
		if v := old[k]; v == nil || v.State != fresh[k].State {
			out = append(out, Flip{v, fresh[k]})
		}
	}
	for _, k := range before {
		if fresh[k] == nil {
			out = append(out, Flip{Was: old[k]})
		}
	}
	return out
}

// Score judges the trials of a finished run again, by the expectations that the
// scenarios have now, and writes a new run folder. It plays nothing and asks
// nobody: it reads what the folder dir has of each trial. Conduct is as it was
// found, unless its settings changed.
//
// It is an error when a scenario of the run is not in list, or asks something
// else than it did. A trial of which something cannot be judged from what was
// kept has the outcome error, and its cause says why.
func Score(dir string, list []*scenarios.Scenario, opts *ScoreOptions) (*Scored, error) {
	var o ScoreOptions
	if opts != nil {
		o = *opts
	}
	manifest, err := trials.ReadManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("run folder %q: %w; want the folder that `rehearse run` prints at its end, such as runs/20260102-150405-demo", dir, err)
	}
	records, err := trials.ReadFile(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		return nil, err
	}
	found, err := asPlayed(dir, &manifest, records, list)
	if err != nil {
		return nil, err
	}
	s := &Scored{Result: Result{Manifest: scoredManifest(manifest, found, o.Thresholds)}, Before: records}
	s.Manifest.ScoredFrom = dir
	s.Manifest.Name = cmp.Or(o.Name, strings.TrimSuffix(manifest.Name, "-scored")+"-scored")
	var details []trials.Detail
	for _, was := range records {
		rec, detail := rescored(dir, was, found[caseOf(was.Key)].In(was.Variant))
		s.Records, details = append(s.Records, rec), append(details, detail)
	}
	s.judged()
	out, err := newFolder(cmp.Or(o.Out, "runs"), s.Manifest.Name)
	if err != nil {
		return nil, err
	}
	defer out.close()
	s.Dir = out.dir
	for i := range s.Records {
		if s.Records[i].Detail == "" {
			err = out.out.Write(s.Records[i])
		} else {
			err = out.write(&s.Records[i], details[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return s, trials.WriteManifest(out.dir, s.Manifest)
}

// caseOf is what of a key names a scenario.
func caseOf(k trials.Key) trials.Key {
	return trials.Key{Suite: k.Suite, Scenario: k.Scenario, Case: k.Case}
}

// asPlayed finds the scenarios of a run, and refuses those that ask something
// else than they did.
func asPlayed(dir string, m *trials.Manifest, records []trials.Record, list []*scenarios.Scenario) (map[trials.Key]*scenarios.Scenario, error) {
	found := map[trials.Key]*scenarios.Scenario{}
	for _, s := range list {
		found[trials.Key{Suite: s.Suite, Scenario: s.Bare(), Case: s.Case}] = s
	}
	parts := map[trials.Key]map[string]string{}
	for _, s := range m.Scenarios {
		parts[trials.Key{Suite: s.Suite, Scenario: s.Scenario, Case: s.Case}] = s.Parts
	}
	var problems []string
	refuse := func(rec trials.Record, format string, args ...any) {
		text := fmt.Sprintf("scenario %q (%s): ", rec.Name(), rec.File) + fmt.Sprintf(format, args...)
		if !slices.Contains(problems, text) {
			problems = append(problems, text)
		}
	}
	for _, rec := range records {
		s := found[caseOf(rec.Key)]
		switch {
		case s == nil:
			refuse(rec, "it is not among the scenarios of suite %q that were read; name its file or folder with --scenarios", rec.Suite)
		case rec.Hashes.Scenario != s.Hash:
			refuse(rec, "%s", changedParts(parts[caseOf(rec.Key)], s.Parts))
		case s.In(rec.Variant) == nil:
			refuse(rec, "its suite has no variant %q now", rec.Variant)
		case rec.Hashes.Variant != s.In(rec.Variant).VariantHash:
			refuse(rec, "the variant %q changed", rec.Variant)
		}
	}
	if len(problems) == 0 {
		return found, nil
	}
	return nil, fmt.Errorf("run %q cannot be judged by these scenarios, because they ask something else than was played:\n  %s\nundo these changes, or play the scenarios (rehearse run)", dir, strings.Join(problems, "\n  "))
}

// changedParts says which parts of a scenario are not what they were.
func changedParts(was, now map[string]string) string {
	var out []string
	names := maps.Clone(now)
	maps.Copy(names, was)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch {
		case was[name] == "":
			out = append(out, name+" is new")
		case now[name] == "":
			out = append(out, name+" is gone")
		case was[name] != now[name]:
			out = append(out, name+" changed")
		}
	}
	if len(was) == 0 || len(out) == 0 {
		return "its definition changed"
	}
	return strings.Join(out, ", ")
}

// scoredManifest is that of a run by what the scenarios say now of everything
// but what was played.
func scoredManifest(m trials.Manifest, found map[trials.Key]*scenarios.Scenario, given []trials.Threshold) trials.Manifest {
	if given == nil {
		for _, t := range m.Thresholds {
			if t.Pos.IsZero() { // not of a suite
				given = append(given, t)
			}
		}
	}
	m.Scenarios = slices.Clone(m.Scenarios)
	var list []*scenarios.Scenario
	for i := range m.Scenarios {
		source := &m.Scenarios[i]
		s := found[trials.Key{Suite: source.Suite, Scenario: source.Scenario, Case: source.Case}]
		if s == nil {
			continue // of which no trial was played
		}
		list = append(list, s)
		source.File, source.Description, source.Tags, source.Pass = s.Pos.File, s.Description, s.Tags, s.Pass
		source.Hashes.Scorers = s.ScorersHash
	}
	m.Thresholds = thresholds(given, list)
	m.Warnings = slices.DeleteFunc(slices.Clone(m.Warnings), func(w string) bool { return w == checkedNothing })
	return m
}

// rescored judges one trial again.
func rescored(dir string, was trials.Record, s *scenarios.Scenario) (trials.Record, trials.Detail) {
	rec := was
	rec.Tags, rec.Critical, rec.File, rec.Pos, rec.Hashes.Scorers = s.Tags, s.Critical, s.Pos.File, s.Pos, s.ScorersHash
	old := notJudged(&was)
	rec.Warnings = slices.DeleteFunc(slices.Clone(was.Warnings), func(w string) bool { return slices.Contains(old, w) })
	unable := func(format string, args ...any) {
		// What conduct found stays, for the next time.
		rec.Verdicts = slices.DeleteFunc(slices.Clone(was.Verdicts), func(v trials.Verdict) bool { return !v.Conduct })
		rec.Outcome, rec.Counts.Checks = harness.OutcomeError, 0
		rec.Cause = &trials.Cause{Kind: trials.CauseJudge, Blame: trials.BlameJudge, Pos: s.Pos, Message: "the trial cannot be judged again: " + fmt.Sprintf(format, args...)}
	}
	detail, err := trials.ReadDetail(dir, was)
	if err != nil {
		rec.Detail = ""
		unable("%v", err)
		return rec, detail
	}
	e := &evidence{
		scenario: s, mode: was.Mode, exchanges: detail.Exchanges, tools: detail.Tools, calls: was.Trajectory,
		transcript: detail.Transcript, states: detail.States,
	}
	if detail.Played != nil {
		e.played = *detail.Played
	}
	switch otherwise := e.playedOtherwise(); {
	case detail.Played == nil:
		unable("its run was made by an older rehearse, which did not keep what judging needs; play it again")
	case e.played.Redacted:
		unable("secrets were taken out of its texts, and an expectation may look at those; play it again with --show-secrets")
	case e.played.Cut:
		unable("a text of it is too long for the files of a run, and was cut there")
	case e.played.Turns != len(e.played.States):
		unable("its file %q has %s and %s", was.Detail, prose.Count(e.played.Turns, "turn"), prose.Count(len(e.played.States), "state"))
	case otherwise != "":
		unable("%s; play it again", otherwise)
	default:
		e.ask = keptVotes(was.Verdicts)
		if was.Mode == harness.ModeMock { // whose judges stand in the scenario
			e.ask = func(q *score.Question) score.Asked {
				asked, _ := askScripted(context.Background(), s, q)
				return asked
			}
		}
		e.score()
		e.keepConduct(was.Verdicts)
		played := *detail.Played
		played.Conduct, detail.Played = s.Conduct, &played // by which the verdicts now are
		e.settle(&rec, func(causes []trials.Cause) { explainAsBefore(causes, was.Cause) })
	}
	return rec, detail
}

// playedOtherwise says why the expectations of now would have had the trial
// played otherwise; empty when they would not. An error of the subject ends the
// conversation unless an expectation judges it.
func (e *evidence) playedOtherwise() string {
	then, now := e.played.StartError != "", startErrorExpected(e.scenario)
	ended := e.played.Ended
	switch opening := ended != nil && ended.Turn == 0 && !ended.Fatal; {
	case then && !now:
		return "the subject could not be opened, which start_error expected when it was played, and no expectation does now"
	case opening && now:
		return "the subject could not be opened, which start_error expects now, and no expectation did when it was played"
	}
	for i, turn := range e.scenario.Turns[:min(e.played.Turns, len(e.scenario.Turns))] {
		endedHere := ended != nil && ended.Turn == i+1
		var report harness.TurnReport
		if e.transcript != nil && i < len(e.transcript.Turns) {
			report = e.transcript.Turns[i]
		}
		if report.Error == "" && !endedHere || endedHere && ended.Fatal {
			continue
		}
		switch may := mayStop(e.scenario, turn, report.Stop, e.mode); {
		case may && endedHere:
			return fmt.Sprintf("turn %d ended with an error, which `stops` expects now, and did not when it was played: the conversation would have gone on", i+1)
		case !may && !endedHere:
			return fmt.Sprintf("turn %d ended with an error, which `stops` expected when it was played, and does not now: the conversation would have ended there", i+1)
		}
	}
	return ""
}

// keepConduct takes over what the conduct checks found, as far as their settings
// are what they were.
func (e *evidence) keepConduct(was []trials.Verdict) {
	now, err := conduct.Configure(e.scenario.Conduct)
	if err != nil {
		e.played.Faults.Setup = []trials.Cause{{Kind: trials.CauseScenario, Message: err.Error(), Pos: e.scenario.Pos}}
	}
	then, _ := conduct.Configure(e.played.Conduct) // it was checked when it was played
	for _, v := range was {
		if !v.Conduct {
			continue
		}
		other := v.Check == conduct.Results && then.Capped != now.Capped || v.Check == conduct.HistoryGrows && then.Compaction != now.Compaction
		switch {
		case now.Off[v.Check]:
			v = trials.Verdict{Check: v.Check, Conduct: true, State: trials.Skipped, Message: "switched off"}
		case then.Off[v.Check]:
			v = trials.Verdict{Check: v.Check, Conduct: true, State: trials.Undecided, Message: "it was switched off when the trial was played, and what it looks at was not kept"}
		case other && v.State != trials.Skipped:
			v = trials.Verdict{Check: v.Check, Conduct: true, State: trials.Undecided, Message: "its setting was another when the trial was played, and what it looks at was not kept"}
		}
		e.verdicts = append(e.verdicts, v)
	}
}

// explainAsBefore completes causes by what only the run that played the trial
// knew: why a tool was not offered.
func explainAsBefore(causes []trials.Cause, was *trials.Cause) {
	if was == nil || len(causes) == 0 {
		return
	}
	if c := &causes[0]; c.Kind == was.Kind && c.Message == was.Message {
		c.Hints = was.Hints
	}
}
