// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/capture"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/yamledit"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// mayUpdate refuses to rewrite expectations where nobody looks at them.
func mayUpdate(p *process) error {
	if recfile.InCI(p.getenv) {
		return errors.New("CI is set, and --update rewrites no expectation in CI; run it on your own machine and review the difference")
	}
	return nil
}

// proposal is what trials would have an expectation say.
type proposal struct {
	check string
	part  *yaml.Node // of the file, which is replaced
	with  any
	text  string // of with, to compare
	note  string // on how that says it
	why   string // why there is none; empty where there is one
	// kept says that it held in another trial.
	kept bool
}

// updater rewrites expectations.
type updater struct {
	p     *process
	out   io.Writer // for the difference
	files map[string]*yamledit.File
	was   map[string][]byte
	// found are the expectations that failed, by their places.
	found map[harness.Position]*proposal
}

// updateExpectations has the expectations that failed in a run expect what
// happened, prints the difference, and judges the run again.
func updateExpectations(p *process, out io.Writer, result *run.Result, paths []string) (*run.Result, error) {
	u := &updater{p: p, out: out, files: map[string]*yamledit.File{}, was: map[string][]byte{}, found: map[harness.Position]*proposal{}}
	for i := range result.Records {
		if err := u.record(result.Dir, &result.Records[i]); err != nil {
			return nil, err
		}
	}
	changed, err := u.write()
	if err != nil || changed == 0 {
		return result, err
	}
	set, err := scenarios.Load(paths, &scenarios.Options{LookupEnv: p.getenv, Offline: true})
	if err != nil {
		return nil, fmt.Errorf("the expectations that were rewritten do not load; please report this:\n%w", err)
	}
	scored, err := run.Score(result.Dir, set.Scenarios, &run.ScoreOptions{Out: filepath.Dir(result.Dir), Name: result.Manifest.Name + "-updated"})
	if err != nil {
		return nil, fmt.Errorf("judging the run again: %w", err)
	}
	return &scored.Result, nil
}

// record looks for expectations that failed in a trial.
func (u *updater) record(dir string, rec *trials.Record) error {
	switch {
	case rec.Outcome == harness.OutcomePassed:
	case rec.Outcome != harness.OutcomeFailed:
		return nil // nothing was judged
	case rec.Cause != nil && !slices.Contains([]trials.CauseKind{trials.CauseExpectation, trials.CauseConduct, trials.CauseJudge}, rec.Cause.Kind):
		u.p.logf("rehearse: %s: the conversation broke off (%s), so that nothing of it is expected", rec.Name(), rec.Cause.Kind)
		return nil
	}
	var detail *trials.Detail
	for i := range rec.Verdicts {
		v := &rec.Verdicts[i]
		if v.Conduct || v.Advisory || v.Pos.File == "" || v.State != trials.Failed && v.State != trials.Passed {
			continue
		}
		if v.State == trials.Failed && detail == nil {
			d, err := trials.ReadDetail(dir, *rec)
			if err != nil {
				return err
			}
			detail = &d
		}
		if err := u.verdict(v, rec, detail); err != nil {
			return err
		}
	}
	return nil
}

// verdict notes what an expectation would say by one trial.
func (u *updater) verdict(v *trials.Verdict, rec *trials.Record, detail *trials.Detail) error {
	item, err := u.item(v.Pos)
	if err != nil {
		return err
	}
	was := yamledit.Get(item, v.Check)
	if was == nil {
		if v.State == trials.Failed {
			u.p.logf("rehearse: %s: %s is not rewritten: it is not written in a list under expect", v.Pos, v.Check)
		}
		return nil
	}
	at := harness.Position{File: v.Pos.File, Line: item.Line, Col: item.Column}
	before := u.found[at]
	if v.State == trials.Passed {
		if before == nil {
			u.found[at] = &proposal{check: v.Check, kept: true}
		} else if !before.kept {
			before.why = "it holds in one trial and fails in another"
		}
		return nil
	}
	now := &proposal{check: v.Check}
	switch {
	case filepath.Base(at.File) == "suite.yaml":
		now.why = "it is of all scenarios of the suite"
	case before != nil && before.kept:
		now.why = "it holds in one trial and fails in another"
	default:
		if now.part, now.with, now.note, err = capture.Happened(v, was, rec, detail); err != nil {
			now.why = err.Error()
			break
		}
		text, err := yaml.Marshal(now.with)
		if err != nil {
			return err
		}
		if now.text = string(text); before != nil && (before.why != "" || before.text != now.text) {
			now.why = "it would say something else by each trial"
		}
		if rec.Mode != harness.ModeReplay && redact.Marked(text) { // in a replay the subject gets marks
			now.why = "what happened has a secret in it, and the run folder a mark in its place: say what you expect of it, or play with --show-secrets"
		}
	}
	u.found[at] = now
	return nil
}

// item is the expectation that a place is in.
func (u *updater) item(at harness.Position) (*yaml.Node, error) {
	f := u.files[at.File]
	if f == nil {
		data, err := plainfile.Read(at.File, plainfile.MaxSettings)
		if err != nil {
			return nil, err
		}
		if f, err = yamledit.Parse(at.File, data); err != nil {
			return nil, err
		}
		u.files[at.File], u.was[at.File] = f, data
	}
	return f.ItemAt("expect", at.Line, at.Col), nil
}

// unfailing says why an expectation could not fail any more once it is
// rewritten; empty where it could.
func (u *updater) unfailing(at harness.Position, found *proposal) string {
	was := u.was[at.File]
	f, err := yamledit.Parse(at.File, was)
	if err != nil {
		return "" // as below: what does not load is told of the whole file
	}
	part := twin(found.part, u.files[at.File].ItemAt("expect", at.Line, at.Col), f.ItemAt("expect", at.Line, at.Col))
	if part == nil || f.Set(part, found.with) != nil {
		return ""
	}
	now, err := f.Bytes()
	if err != nil {
		return ""
	}
	doubts := map[string]int{}
	for _, doubt := range u.doubts(at.File, was) {
		doubts[doubt.Msg]++
	}
	for _, doubt := range u.doubts(at.File, now) {
		if doubts[doubt.Msg]--; doubts[doubt.Msg] < 0 {
			return "it would then hold whatever happens (" + doubt.Msg + ")"
		}
	}
	return ""
}

// doubts are what check says of expectations that cannot fail.
func (u *updater) doubts(name string, data []byte) []scenarios.Problem {
	set, err := scenarios.Parse(name, data, &scenarios.Options{LookupEnv: u.p.getenv, Offline: true})
	if err != nil {
		return nil
	}
	return set.Unfailing()
}

// twin is the node of a second tree that stands where n does in the first.
func twin(n, first, second *yaml.Node) *yaml.Node {
	switch {
	case first == nil || second == nil:
		return nil
	case n == first:
		return second
	}
	for i := range min(len(first.Content), len(second.Content)) {
		if found := twin(n, first.Content[i], second.Content[i]); found != nil {
			return found
		}
	}
	return nil
}

// write writes the files, and prints what is different.
func (u *updater) write() (changed int, err error) {
	places := slices.SortedFunc(maps.Keys(u.found), func(a, b harness.Position) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	touched := map[string]int{} // expectations of each file
	for _, at := range places {
		found := u.found[at]
		if found.why == "" && found.part != nil {
			found.why = u.unfailing(at, found)
		}
		if found.why == "" && found.part != nil {
			if err := u.files[at.File].Set(found.part, found.with); err != nil {
				found.why = err.Error()
			} else {
				touched[at.File]++
			}
			if found.note != "" && found.why == "" {
				u.p.logf("rehearse: %s: %s: %s", at, found.check, found.note)
			}
		}
		if found.why != "" {
			u.p.logf("rehearse: %s: %s is not rewritten: %s", at, found.check, found.why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(touched)) {
		now, err := u.files[name].Bytes()
		if err != nil {
			return 0, err
		}
		if _, err := scenarios.Parse(name, now, &scenarios.Options{LookupEnv: u.p.getenv, Offline: true}); err != nil {
			u.p.logf("rehearse: %s: nothing is rewritten, since the file would not load then; please report this:\n%v", name, err)
			continue
		}
		changed += touched[name]
		if lost := yamledit.Lost(u.was[name], now); len(lost) > 0 {
			u.p.logf("rehearse: %s: comments of what was rewritten are left out: %s", name, strings.Join(lost, " "))
		}
		path, err := filepath.EvalSymlinks(name) // a link stays one
		if err != nil {
			return 0, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		if err := plainfile.ReplaceBytes(path, info.Mode().Perm(), now); err != nil {
			return 0, err
		}
		if _, err := u.out.Write(diff.Diff(name, u.was[name], name, now)); err != nil {
			return 0, err
		}
	}
	if changed > 0 {
		fmt.Fprintf(u.out, "%s rewritten\n", prose.CountOf(changed, "expectation is", "expectations are"))
	}
	return changed, nil
}
