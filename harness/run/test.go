// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// Test plays the scenarios of a file or folder as subtests, one for each
// scenario. A failure names file:line of the expectation, or of the turn or
// scenario where no expectation is to blame; an error of the infrastructure
// fails the test too and says that it is one. A scenario that the subject cannot
// play is skipped; a test of which nothing was checked fails. What `rehearse check`
// would warn of is logged.
//
// With [Options.Mode] replay it plays what is recorded beside the scenarios,
// without a network and without keys; a scenario that is not recorded fails,
// and says how to record it. Such a test records its own subject where
// REHEARSE_RECORD names a model:
//
//	REHEARSE_RECORD=gpt-5 OPENAI_BASE_URL=https://api.openai.com/v1 go test -tags real_llm -run '^TestAgent$' .
//
// The key is that of [Options.APIKey] or that of [Options.KeysFrom]. A recording of
// another subject, or one that has more exchanges, is replaced with
// REHEARSE_FORCE=1 alone.
//
// In the modes live and record each trial is a subtest of its scenario, as
// scenario/model/attempt, or scenario/model/variant/attempt where its suite has
// variants, and a failure names both. Where a scenario has a
// rule (pass), or thresholds cover it, an attempt that failed is logged: the
// scenario's subtest of a model fails when the rule is missed, the test when a
// threshold is. A rule that cannot be judged fails too, and says so.
//
// With [Options.Out] all subtests write one run folder with its reports, whose
// page is named in the log at the end. In mode live its default is "runs", in
// the folder of the test.
func Test(t *testing.T, path string, opts *Options) {
	t.Helper()
	test(realT{t}, path, opts)
}

// tester is the part of [testing.T] that [Test] needs, so that what a failing
// test prints can be tested.
type tester interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(f func())
	Run(name string, f func(tester))
	Parallel()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Logf(format string, args ...any)
}

type realT struct{ *testing.T }

func (t realT) Run(name string, f func(tester)) {
	t.T.Helper()
	t.T.Run(name, func(t *testing.T) {
		t.Helper() // so that a failure names the line of the caller of Test
		f(realT{t})
	})
}

func test(t tester, path string, opts *Options) {
	t.Helper()
	mode, err := forTest(opts, t.Name())
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	o := Options{}
	if mode != nil {
		o = *mode
	}
	set, err := scenarios.Load([]string{path}, &scenarios.Options{Offline: o.Mode == harness.ModeReplay})
	set.AnyClient = true
	var warned doubts
	if err != nil {
		warned.log(t, set)
		t.Fatalf("%v", err)
		return
	}
	if len(set.Scenarios) == 0 {
		t.Fatalf("%s: it contains no scenario", path)
		return
	}
	list, err := scenarios.Tagged(set.Scenarios, o.Tags)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
		return
	}
	o.Tags = nil
	if o.Out != "" && o.into == nil {
		if o.into, err = newFolder(o.Out, cmp.Or(o.Name, "run")); err != nil {
			t.Fatalf("%v", err)
			return
		}
		t.Cleanup(func() { // when subtests that run in parallel have ended, too
			t.Helper()
			o.into.named(t)
		})
	}
	o.throttles = newThrottles()
	sum := &summary{}
	t.Cleanup(func() {
		t.Helper()
		sum.whole(t)
	})
	for _, s := range list {
		t.Run(s.Name, func(t tester) {
			t.Helper()
			o := o
			o.goTest = t.Name()
			if o.Parallel > 1 {
				t.Parallel()
			}
			warned.log(t, &scenarios.Set{Scenarios: []*scenarios.Scenario{s}, AnyClient: true})
			res, err := Run(t.Context(), []*scenarios.Scenario{s}, &o)
			if err != nil {
				t.Fatalf("%v", err)
				return
			}
			slices.SortStableFunc(res.Records, func(a, b trials.Record) int {
				return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Attempt, b.Attempt))
			})
			sum.add(res)
			reportAll(t, res)
			if len(res.Records) < res.Manifest.Planned {
				t.Errorf("%s: %d of %d trials were stopped before they ended", s.Pos, res.Manifest.Planned-len(res.Records), res.Manifest.Planned)
			}
		})
	}
}

// reportAll reports the trials of one scenario: in a real mode a subtest each.
func reportAll(t tester, res *Result) {
	t.Helper()
	rules := trials.JudgeRules(&res.Manifest, res.Records)
	if !res.Manifest.Mode.Real() {
		for _, rec := range res.Records {
			report(t, rec, label(rec, res), res.Manifest.Ruled())
		}
		ruled(t, rules)
		return
	}
	inGroups(t, res.Records, func(r trials.Record) string { return cmp.Or(r.Model, "no model") }, func(t tester, of []trials.Record) {
		t.Helper()
		inGroups(t, of, func(r trials.Record) string { return r.Variant }, func(t tester, of []trials.Record) {
			t.Helper()
			for _, rec := range of {
				t.Run(fmt.Sprint(rec.Attempt), func(t tester) {
					t.Helper()
					report(t, rec, label(rec, res), res.Manifest.Ruled())
				})
			}
			ruled(t, slices.DeleteFunc(slices.Clone(rules), func(r trials.RuleResult) bool { return r.Column != of[0].Column() }))
		})
	})
}

// inGroups runs a subtest for the records of each name, which stand together.
// Those without a name are played in the test itself.
func inGroups(t tester, list []trials.Record, name func(trials.Record) string, f func(tester, []trials.Record)) {
	t.Helper()
	for len(list) > 0 {
		of := name(list[0])
		n := slices.IndexFunc(list, func(r trials.Record) bool { return name(r) != of })
		if n < 0 {
			n = len(list)
		}
		group := list[:n]
		list = list[n:]
		if of == "" {
			f(t, group)
			continue
		}
		t.Run(of, func(t tester) {
			t.Helper()
			f(t, group)
		})
	}
}

// ruled reports the rules of a scenario.
func ruled(t tester, rules []trials.RuleResult) {
	t.Helper()
	for _, r := range rules {
		if r.Scenario != "" {
			reportRule(t, r)
		}
	}
}

func reportRule(t tester, r trials.RuleResult) {
	t.Helper()
	where := ""
	if !r.Pos.IsZero() {
		where = r.Pos.String() + ": "
	}
	who := columnName(r.Column)
	switch r.State {
	case trials.RuleMet:
		t.Logf("%s%s: met: %s", where, who, r)
	case trials.RuleMissed:
		t.Errorf("%s%s: missed: %s", where, who, r)
	case trials.RuleUnjudged:
		t.Errorf("%s%s: could not be judged: %s", where, who, r)
	}
}

// summary is what thresholds are judged from: the trials of all subtests.
type summary struct {
	mu       sync.Mutex // guards the fields below
	manifest trials.Manifest
	records  []trials.Record
}

func (s *summary) add(res *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.manifest.Models = res.Manifest.Models
	s.manifest.Scenarios = append(s.manifest.Scenarios, res.Manifest.Scenarios...)
	for _, t := range res.Manifest.Thresholds {
		if !slices.Contains(s.manifest.Thresholds, t) {
			s.manifest.Thresholds = append(s.manifest.Thresholds, t)
		}
	}
	s.records = append(s.records, res.Records...)
}

// whole reports what is about all scenarios that were played: the thresholds, and
// that nothing was checked.
func (s *summary) whole(t tester) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := trials.JudgeRules(&s.manifest, s.records)
	for _, r := range rules {
		if r.Scenario == "" {
			reportRule(t, r)
		}
	}
	s.manifest.Planned = len(s.records)
	if res := (&Result{Records: s.records, Manifest: s.manifest}); rules == nil && len(s.records) > 0 && res.checkedNothing() {
		t.Errorf("nothing was checked: no scenario could be judged, so the test counts as failed")
	}
}

// doubts are what was warned of, once however many scenarios it is about.
type doubts struct {
	mu   sync.Mutex
	said map[scenarios.Problem]bool
}

func (d *doubts) log(t tester, set *scenarios.Set) {
	t.Helper()
	for _, p := range set.Check() {
		d.mu.Lock()
		said := d.said[p]
		if d.said == nil {
			d.said = map[scenarios.Problem]bool{}
		}
		d.said[p] = true
		d.mu.Unlock()
		if !said {
			t.Logf("%s: warning: %s", p.Pos, p.Msg)
		}
	}
}

// named writes the reports of a folder and logs where they are.
func (f *folder) named(t tester) {
	t.Helper()
	if err := f.close(); err != nil {
		t.Errorf("the records of %s: %v", f.dir, err)
	}
	if !f.begun { // no subtest was asked for
		_ = os.Remove(filepath.Join(f.dir, trials.RecordsFile))
		_ = os.Remove(f.dir) // what is empty stays when it cannot be removed
		return
	}
	page, err := f.report()
	if err != nil {
		t.Errorf("the report of %s: %v", f.dir, err)
		return
	}
	t.Logf("report: %s", page)
}

// label says which trial of its scenario a record is of, where there are
// several.
func label(rec trials.Record, res *Result) string {
	out := ""
	if len(res.Manifest.Models) > 1 || rec.Mode.Real() {
		out = columnName(rec.Column()) + ": "
	} else if rec.Variant != "" {
		out = rec.Variant + ": "
	}
	if most := res.Manifest.Scenarios[0].Trials; most > 1 {
		out += fmt.Sprintf("attempt %d of %d: ", rec.Attempt, most)
	}
	return out
}

// columnName names a column as reports do.
func columnName(c trials.Column) string {
	if c.Variant == "" {
		return c.Model
	}
	return c.Model + " · " + c.Variant
}

// report reports one trial. Where rules decide, it fails nothing.
func report(t tester, rec trials.Record, label string, ruled bool) {
	t.Helper()
	switch rec.Outcome {
	case harness.OutcomePassed:
		for _, v := range rec.Verdicts {
			if v.State == trials.Warned || v.State == trials.Undecided {
				t.Logf("%swarning: %s: %s", label, v.Check, v.Message)
			}
		}
		for _, w := range rec.Warnings {
			t.Logf("%swarning: %s", label, w)
		}
	case harness.OutcomeSkipped:
		t.Skipf("%s: %s%s", cmp.Or(rec.Cause.Pos, rec.Pos), label, rec.Cause.Text())
	default:
		if ruled {
			t.Logf("%s", explain(rec, label))
			return
		}
		t.Errorf("%s", explain(rec, label))
	}
}

// explain says why a trial did not pass: the cause, with the calls where they
// are what was judged, then what else is wrong.
func explain(rec trials.Record, label string) string {
	var b strings.Builder
	c := rec.Cause
	fmt.Fprintf(&b, "%s: %s", cmp.Or(c.Pos, rec.Pos), label)
	if rec.Outcome == harness.OutcomeError {
		b.WriteString("could not be judged: ")
	}
	if c.Kind != trials.CauseExpectation {
		fmt.Fprintf(&b, "%s: ", c.Kind)
	}
	aligned := slices.IndexFunc(rec.Verdicts, func(v trials.Verdict) bool {
		return v.State == trials.Failed && v.Alignment != nil && v.Pos == c.Pos && v.Check == c.Check
	})
	if aligned >= 0 { // the rows say what the message says
		v := rec.Verdicts[aligned]
		b.WriteString(v.Check + ":")
		writeAlignment(&b, v.Alignment, c.Pos)
	} else {
		b.WriteString(indented(c.Text()))
	}
	for _, f := range c.Folded {
		fmt.Fprintf(&b, "\n\tand: %s", indented(f.Text))
	}
	if len(rec.Struck) > 0 {
		fmt.Fprintf(&b, "\n\tfaults that struck: %s", strings.Join(rec.Struck, "; "))
	}
	return b.String()
}

func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n\t") }

// writeAlignment writes a row a line. at is the place that is known already.
func writeAlignment(b *strings.Builder, a *trials.Alignment, at harness.Position) {
	place := func(p harness.Position) string {
		if p.IsZero() || p == at {
			return ""
		}
		return p.String() + ": "
	}
	for _, row := range a.Rows {
		fmt.Fprintf(b, "\n\t%-12s ", row.Status)
		switch row.Status {
		case trials.AlignMissing:
			b.WriteString(place(row.Pos) + row.Expected)
		case trials.AlignForbidden:
			fmt.Fprintf(b, "%s (%s)", row.Actual, row.Expected)
		default:
			b.WriteString(row.Actual)
		}
		for _, m := range row.Mismatches {
			fmt.Fprintf(b, "\n\t%-12s %s%s", "", place(m.Pos), m)
		}
	}
}
