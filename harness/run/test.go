// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// Test plays the scenarios of a file or folder as subtests, one for each
// scenario. A failure names file:line of the expectation, or of the turn or
// scenario where no expectation is to blame; an error of the infrastructure
// fails the test too and says that it is one. What `rehearse check` would warn
// of is logged.
//
// With [Options.Mode] replay it plays what `rehearse run --mode record` has
// written beside the scenarios, without a network and without keys; a
// scenario that is not recorded fails, and says how to record it.
func Test(t *testing.T, path string, opts *Options) {
	t.Helper()
	test(realT{t}, path, opts)
}

// tester is the part of [testing.T] that [Test] needs, so that what a failing
// test prints can be tested.
type tester interface {
	Helper()
	Context() context.Context
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
	set, err := scenarios.Load([]string{path}, &scenarios.Options{Offline: opts != nil && opts.Mode == harness.ModeReplay})
	if err != nil {
		for _, d := range set.Check() {
			t.Logf("%s: warning: %s", d.Pos, d.Msg)
		}
		t.Fatalf("%v", err)
		return
	}
	if len(set.Scenarios) == 0 {
		t.Fatalf("%s: no scenario in it", path)
		return
	}
	for _, d := range (&scenarios.Set{Scenarios: set.Scenarios}).Check() {
		t.Logf("%s: warning: %s", d.Pos, d.Msg)
	}
	for _, s := range set.Scenarios {
		t.Run(s.Name, func(t tester) {
			t.Helper()
			if opts != nil && opts.Parallel > 1 {
				t.Parallel()
			}
			res, err := Run(t.Context(), []*scenarios.Scenario{s}, opts)
			if err != nil {
				t.Fatalf("%v", err)
				return
			}
			for _, rec := range res.Records {
				report(t, rec)
			}
			if len(res.Records) < res.Manifest.Planned {
				t.Errorf("%s: %d of %d trials were stopped before their end", s.Pos, res.Manifest.Planned-len(res.Records), res.Manifest.Planned)
			}
		})
	}
}

func report(t tester, rec trials.Record) {
	t.Helper()
	switch rec.Outcome {
	case harness.OutcomePassed:
		for _, v := range rec.Verdicts {
			if v.State == harness.Warned {
				t.Logf("warning: %s: %s", v.Check, v.Message)
			}
		}
	case harness.OutcomeSkipped:
		t.Skipf("%s: %s", rec.Cause.Pos, rec.Cause.Message)
	default:
		t.Errorf("%s", explain(rec))
	}
}

// explain says why a trial did not pass: the cause, with the calls where they
// are what was judged, then what else is wrong.
func explain(rec trials.Record) string {
	var b strings.Builder
	c := rec.Cause
	fmt.Fprintf(&b, "%s: ", c.Pos)
	if rec.Attempt > 1 {
		fmt.Fprintf(&b, "attempt %d: ", rec.Attempt)
	}
	if rec.Outcome == harness.OutcomeError {
		b.WriteString("could not be judged: ")
	}
	if c.Kind != harness.CauseExpectation {
		fmt.Fprintf(&b, "%s: ", c.Kind)
	}
	aligned := slices.IndexFunc(rec.Verdicts, func(v harness.Verdict) bool {
		return v.State == harness.Failed && v.Alignment != nil && v.Pos == c.Pos && v.Check+": "+v.Message == c.Message
	})
	if aligned >= 0 { // the rows say what the message says
		v := rec.Verdicts[aligned]
		b.WriteString(v.Check + ":")
		writeAlignment(&b, v.Alignment, c.Pos)
	} else {
		b.WriteString(indented(c.Message))
	}
	for _, f := range c.Folded {
		fmt.Fprintf(&b, "\n\tand: %s", indented(f))
	}
	return b.String()
}

func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n\t") }

// writeAlignment writes a row a line. at is the place that is known already.
func writeAlignment(b *strings.Builder, a *harness.Alignment, at harness.Position) {
	place := func(p harness.Position) string {
		if p.IsZero() || p == at {
			return ""
		}
		return p.String() + ": "
	}
	for _, row := range a.Rows {
		fmt.Fprintf(b, "\n\t%-12s ", row.Status)
		switch row.Status {
		case harness.AlignMissing:
			b.WriteString(place(row.Pos) + row.Expected)
		case harness.AlignForbidden:
			fmt.Fprintf(b, "%s (%s)", row.Actual, row.Expected)
		default:
			b.WriteString(row.Actual)
		}
		for _, m := range row.Mismatches {
			fmt.Fprintf(b, "\n\t%-12s %s%s", "", place(m.Pos), m)
		}
	}
}
